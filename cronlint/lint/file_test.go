package lint

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestLines(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\n\nb", []string{"a", "", "b"}},
		{"a\r\nb\r\n", []string{"a", "b"}},
		{"\xef\xbb\xbfa\nb", []string{"a", "b"}},
		{"\n", []string{""}},
	}
	for _, tt := range tests {
		f := NewFile("a", []byte(tt.text))
		var got []string
		for n := 1; n <= f.Lines(); n++ {
			got = append(got, f.Line(n))
		}
		if strings.Join(got, "|") != strings.Join(tt.want, "|") || len(got) != len(tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	if f := NewFile("a", []byte("a\n")); f.LineSpan(0) != (Span{}) || f.LineSpan(9) != (Span{}) {
		t.Error("a line outside the file is not empty")
	}
}

func TestPositionCountsCodePoints(t *testing.T) {
	f := NewFile("a", []byte("\xef\xbb\xbfüx\nb\xffc"))
	for _, tt := range []struct{ off, line, col int }{{3, 1, 1}, {5, 1, 2}, {6, 1, 3}, {7, 2, 1}, {9, 2, 3}, {99, 2, 4}, {-1, 1, 1}} {
		if line, col := f.Position(tt.off); line != tt.line || col != tt.col {
			t.Errorf("offset %d: %d:%d, want %d:%d", tt.off, line, col, tt.line, tt.col)
		}
	}
}

// TestOffsetInvertsPosition holds for every start of a character on a line.
func TestOffsetInvertsPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ü", "\n", "\r\n", "€", " ", "𝄞"}), 0, 40).Draw(t, "text"), "")
		f := NewFile("a", []byte(text))
		for off := range text {
			line, col := f.Position(off)
			if s := f.LineSpan(line); off < s.End && f.Offset(line, col) != off {
				t.Fatalf("%q: offset %d is %d:%d, which is offset %d", text, off, line, col, f.Offset(line, col))
			}
		}
	})
}

func TestNodeSpan(t *testing.T) {
	tests := []struct{ text, want string }{
		{"a: b c  # d\n", "b c"},
		{"a: \"b \\\" c\" # d\n", "b \\\" c"},
		{"a: 'b '' c'\n", "b '' c"},
		{"a: &x b\n", "b"},
		{"a: !!str b\n", "b"},
		{"a: !t &x 'b'\r\n", "b"},
		{"ü: {ö: \"0 0 * * *\"}\n", "0 0 * * *"},
		{"\xef\xbb\xbfa: b\n", "b"},
		{"# one\u2028a: b\n", "b"}, // U+2028 ends a line in YAML
		{"a: 'b\n  c'\n", "b"},     // goes on: the first line
	}
	for _, tt := range tests {
		f := NewFile("a.yaml", []byte(tt.text))
		docs, err := f.YAML()
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := f.Text(f.NodeSpan(lastScalar(docs[0]))); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func lastScalar(n *yaml.Node) *yaml.Node {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n
}

func FuzzYAML(f *testing.F) {
	f.Add("a: [b, 'c', \"d\"]\n--- \n&x e: *x\n")
	f.Add("\xef\xbb\xbf? a\r\n: |\r\n  b\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := NewFile("a.yaml", []byte(text))
		docs, _ := file.YAML()
		var visit func(n *yaml.Node)
		visit = func(n *yaml.Node) {
			if s := file.NodeSpan(n); s.Start < 0 || s.End > len(text) || s.Start > s.End {
				t.Fatalf("span %v of %d bytes", s, len(text))
			}
			for _, c := range n.Content {
				visit(c)
			}
		}
		for _, d := range docs {
			visit(d)
		}
		file.Directives()
	})
}

// BenchmarkNodeSpanLongLine shows that places on one long line cost no more
// than on many short ones.
func BenchmarkNodeSpanLongLine(b *testing.B) {
	text := "[" + strings.Repeat("ü, ", 100_000) + "ü]\n"
	f := NewFile("a.yaml", []byte(text))
	docs, err := f.YAML()
	if err != nil {
		b.Fatal(err)
	}
	items := docs[0].Content[0].Content
	b.ResetTimer()
	for i := range b.N {
		f.NodeSpan(items[len(items)-1-i%100])
	}
}
