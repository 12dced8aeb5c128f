package code

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/cronlint/lint"
)

func TestCalls(t *testing.T) {
	tests := []struct {
		name, file, text, head string
		want                   []Arg
	}{
		{
			"python keywords, comment, string with bracket", "a.py",
			"# task(a=1)\n@app.task(bind=True,  # why, so\n  queue='a)b', countdown=2 ** n)\ndef f(): pass\n",
			`task\(`,
			[]Arg{{Key: "bind", Value: "True"}, {Key: "queue", Value: "'a)b'"}, {Key: "countdown", Value: "2 ** n"}},
		},
		{"comparison is no keyword", "a.py", "f(a == b, c)", `f\(`, []Arg{{Value: "a == b"}, {Value: "c"}}},
		{
			"javascript object", "a.ts", "retry(fn, { retries: 3, onRetry: (e) => log(e, 1), 'min-t': `x${1}` })", `fn, \{`,
			[]Arg{{Key: "retries", Value: "3"}, {Key: "onRetry", Value: "(e) => log(e, 1)"}, {Key: "min-t", Value: "`x${1}`"}},
		},
		{"php array", "a.php", "f(['tries' => 3, \"b\" => A::C])", `\[`, []Arg{{Key: "tries", Value: "3"}, {Key: "b", Value: "A::C"}}},
		{"php scope is no key", "a.php", "f(Foo::bar())", `f\(`, []Arg{{Value: "Foo::bar()"}}},
		{"ruby", "a.rb", "fetch('k', expires_in: 1.hour)", `fetch\(`, []Arg{{Value: "'k'"}, {Key: "expires_in", Value: "1.hour"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := Read(lint.NewFile(tt.file, []byte(tt.text)))
			calls := src.Calls(regexp.MustCompile(tt.head))
			if len(calls) != 1 {
				t.Fatalf("%d calls, want 1", len(calls))
			}
			got := calls[0].Args
			for i := range got {
				if text := src.File.Text(got[i].Span); len(text) < len(got[i].Value) || text[len(text)-len(got[i].Value):] != got[i].Value {
					t.Errorf("span of %q is %q", got[i].Value, text)
				}
				got[i].Span = lint.Span{}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzCalls(f *testing.F) {
	f.Add("a.py", "f(a='x', b=[1,2)")
	f.Add("a.js", "f({a: `x`, /* */ b")
	f.Add("a.php", "f(['a' => 1])")
	head := regexp.MustCompile(`\w+\(|\{`)
	f.Fuzz(func(t *testing.T, name, text string) {
		src := Read(lint.NewFile(name, []byte(text)))
		if len(src.Text) != len(text) || len(Remarks(src.File, "herdscan:")) != len(text) {
			t.Fatal("blanking changed the length")
		}
		for _, c := range src.Calls(head) {
			for _, a := range c.Args {
				if a.Span.Start < 0 || a.Span.End > len(text) || a.Span.Start > a.Span.End {
					t.Fatalf("span %v of %d bytes", a.Span, len(text))
				}
				src.Object(a)
			}
		}
	})
}

func TestRemarks(t *testing.T) {
	const text = "// herdscan: ignore[HS101] real\n" +
		"x := \"# herdscan: pin\" // herdscan: pin\n" +
		"y := `\n# herdscan: ignore[HS1] raw\n`\n" +
		"//\t# herdscan: ignore[HS2] shown\n" +
		"// see # herdscan: pin\n" +
		"/*\n * herdscan: snooze[2027-01-01]\n */\n" +
		"q := '\"' // herdscan: hosts=3\n"
	got := string(Remarks(lint.NewFile("a.go", []byte(text)), "herdscan:"))
	want := "// herdscan: ignore[HS101] real\n" +
		"x := \"               \" // herdscan: pin\n" +
		"y := `\n                           \n`\n" +
		"//\t#           ignore[HS2] shown\n" +
		"// see #           pin\n" +
		"/*\n * herdscan: snooze[2027-01-01]\n */\n" +
		"q := ' ' // herdscan: hosts=3\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if py := string(Remarks(lint.NewFile("a.py", []byte("s = '''\n# herdscan: pin\n'''\nf()  # herdscan: pin\n")), "herdscan:")); py != "s = '  \n               \n  '\nf()  # herdscan: pin\n" {
		t.Errorf("python: %q", py)
	}
}
