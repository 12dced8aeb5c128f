package fix

import (
	"strings"
	"testing"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func edit(start, end int, text string) lint.Edit {
	return lint.Edit{File: "f", Span: lint.Span{Start: start, End: end}, New: text, Safe: true}
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name    string
		edits   []lint.Edit
		want    string
		refused int
	}{
		{"none", nil, "0123456789", 0},
		{"two, in any order", []lint.Edit{edit(8, 9, "y"), edit(1, 3, "x")}, "0x34567y9", 0},
		{"the same twice", []lint.Edit{edit(1, 3, "x"), edit(1, 3, "x")}, "0x3456789", 0},
		{"overlap", []lint.Edit{edit(1, 4, "x"), edit(3, 5, "y")}, "0x456789", 1},
		{"one place, two texts", []lint.Edit{edit(1, 3, "x"), edit(1, 3, "y")}, "0x3456789", 1},
		{"insertions at one place", []lint.Edit{edit(10, 10, "b"), edit(10, 10, "a")}, "0123456789ab", 0},
		{"insertion beside", []lint.Edit{edit(3, 5, "x"), edit(5, 5, "y")}, "012xy56789", 0},
		{"outside", []lint.Edit{edit(9, 11, "x"), edit(-1, 0, "y"), edit(5, 4, "z")}, "0123456789", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Apply("f", []byte("0123456789"), c.edits)
			if string(got.After) != c.want || len(got.Refused) != c.refused || string(got.Before) != "0123456789" {
				t.Errorf("%q with %d refused, want %q with %d", got.After, len(got.Refused), c.want, c.refused)
			}
		})
	}
}

func TestEditsTakesWhatIsAllowed(t *testing.T) {
	safe, risky := edit(0, 1, "a"), edit(2, 3, "b")
	risky.Safe = false
	safe.With = []lint.Edit{edit(4, 5, "c"), risky}
	problems := []lint.Problem{
		{Rule: &rule.Rule{ID: "HS110"}, Fix: &safe},
		{Rule: &rule.Rule{ID: "HS101"}, Fix: &risky, Suppressed: &lint.Suppression{}},
		{Rule: &rule.Rule{ID: "HS101"}},
	}
	if got := Edits(problems, false)["f"]; len(got) != 2 {
		t.Errorf("%d safe edits, want 2", len(got))
	}
	if got := Edits(problems, true)["f"]; len(got) != 3 {
		t.Errorf("%d edits, want 3", len(got))
	}
}

func TestProve(t *testing.T) {
	const before = "0 3 * * 1-5 root /opt/a\n@daily root /opt/b\n"
	for after, want := range map[string]string{
		before: "", "7 3 * * 1-5 root /opt/a\n41 0 * * * root /opt/b\n": "",
		"7 4 * * 1-5 root /opt/a\n@daily root /opt/b\n":   "other hours",
		"7 3 * * 1-4 root /opt/a\n@daily root /opt/b\n":   "other days",
		"7,9 3 * * 1-5 root /opt/a\n@daily root /opt/b\n": "2 starts a day instead of 1",
		"77 3 * * 1-5 root /opt/a\n@daily root /opt/b\n":  "no longer understood",
		"@daily root /opt/b\n":                            "2 schedules before the fix, 1 after",
		"0 3 * * 1-5 root /opt/a\n@reboot root /opt/b\n":  "another interval",
		"0~5 3 * * 1-5 root /opt/a\n@daily root /opt/b\n": "another dialect",
	} {
		c := Change{Path: "etc/crontab", Before: []byte(before), After: []byte(after)}
		err := Prove(&c, job.Formats(), &lint.Options{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", after, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", after, err, want)
		}
	}
}

func TestDiff(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, "line "+string(rune('a'+i)))
	}
	text := strings.Join(lines, "\n") // no newline at the end
	at := func(s string) int { return strings.Index(text, s) }
	c := Apply("dir/f", []byte(text), []lint.Edit{
		edit(at("line b"), at("line b")+4, "LINE"), edit(at("\nline d"), at("\nline d"), "\nnew"),
		edit(at("line r"), at("line s"), ""), edit(len(text), len(text), "\n"),
	})
	want := `--- a/dir/f
+++ b/dir/f
@@ -1,6 +1,7 @@
 line a
-line b
+LINE b
 line c
+new
 line d
 line e
 line f
@@ -15,6 +16,5 @@
 line o
 line p
 line q
-line r
 line s
-line t
\ No newline at end of file
+line t
`
	if got := c.Diff(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	odd := Apply("/d/a\n\"\x1b\\ü", []byte("a\x1b\n"), []lint.Edit{edit(0, 1, "b")})
	if got, want := odd.Diff(), "--- \"a/d/a\\012\\042\\033\\134ü\"\n+++ \"b/d/a\\012\\042\\033\\134ü\"\n@@ -1,1 +1,1 @@\n-a\x1b\n+b\x1b\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	same := Apply("f", []byte(text), nil)
	if same.Diff() != "" {
		t.Error("a diff of nothing")
	}
}

func FuzzApply(f *testing.F) {
	f.Add("a\nb\r\nc", 0, 1, "x", 3, 3, "\n")
	f.Add("", 0, 0, "x", 0, 0, "")
	f.Fuzz(func(t *testing.T, text string, a, b int, x string, c, d int, y string) {
		change := Apply("f", []byte(text), []lint.Edit{edit(a, b, x), edit(c, d, y)})
		if n := len(change.Applied) + len(change.Refused); n > 2 || n < 1 {
			t.Fatalf("%d edits accounted for", n)
		}
		change.Diff() // must not fail
		at := 0
		after := string(change.After)
		for _, e := range change.Applied {
			keep := text[at:e.Span.Start] + e.New
			if !strings.HasPrefix(after, keep) {
				t.Fatalf("%q lacks %q", after, keep)
			}
			after, at = after[len(keep):], e.Span.End
		}
		if after != text[at:] {
			t.Fatalf("ends with %q, want %q", after, text[at:])
		}
	})
}

func FuzzThen(f *testing.F) {
	f.Add("0 * * * * a\n0 3 * * * b\n", 0, 1, "37", 12, 13, "5", 0, 2, "9", 13, 14, "7")
	f.Add("abcdef", 1, 3, "", 4, 4, "xyz", 0, 2, "q", 5, 5, "")
	f.Fuzz(func(t *testing.T, text string, a, b int, x string, c, d int, y string, e, g int, u string, h, i int, v string) {
		one := Apply("f", []byte(text), []lint.Edit{edit(a, b, x), edit(c, d, y)})
		two := Apply("f", one.After, []lint.Edit{edit(e, g, u), edit(h, i, v)})
		whole := one.Then(&two)
		if got := Apply("f", []byte(text), whole.Applied); string(got.After) != string(two.After) || len(got.Refused) > 0 {
			t.Fatalf("%q then %q is %q, the whole gives %q with %v", one.After, two.After, two.After, got.After, whole.Applied)
		}
	})
}
