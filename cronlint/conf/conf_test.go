package conf

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/cronlint/lint"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"100", 100 * time.Millisecond, true},
		{"1.5s", 1500 * time.Millisecond, true},
		{"100 ms", 100 * time.Millisecond, true},
		{"1h30m", 90 * time.Minute, true},
		{"0.100s", 100 * time.Millisecond, true},
		{".5s", 500 * time.Millisecond, true},
		{"PT1M30.5S", 90*time.Second + 500*time.Millisecond, true},
		{"P1DT2H", 26 * time.Hour, true},
		{"00:00:02", 2 * time.Second, true},
		{"1.02:00:00.5", 26*time.Hour + 500*time.Millisecond, true},
		{"5 minutes", 5 * time.Minute, true},
		{"0", 0, true},
		{"", 0, false},
		{"-1s", 0, false},
		{"soon", 0, false},
		{"${X}", 0, false},
		{"1s 2", 0, false},
		{"1e99", 0, false},
		{"99999999999999999999h", 0, false},
		{"P", 0, false},
	}
	for _, tt := range tests {
		if got, ok := ParseDuration(tt.text, time.Millisecond); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v %v, want %v %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

// outline prints a tree with the text that each scalar's span covers.
func outline(f *lint.File, n *Node) string {
	if n == nil {
		return "-"
	}
	if n.Kind == Scalar {
		if got := f.Text(n.Span); got != n.Value {
			return fmt.Sprintf("%s(%s)", n.Value, got)
		}
		return n.Value
	}
	var parts []string
	for _, c := range n.Children {
		text := outline(f, c)
		if n.Kind == Map {
			text = c.Key + ": " + text
		}
		parts = append(parts, text)
	}
	return map[Kind]string{Map: "{", List: "["}[n.Kind] + strings.Join(parts, ", ") + map[Kind]string{Map: "}", List: "]"}[n.Kind]
}

func TestTrees(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"yaml", "a.yml", "a: {b: 'c', d: [1, true]}\ne:\n", "{a: {b: c, d: [1, true]}, e: }"},
		{"yaml merge", "a.yml", "x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\n", "{x: {a: 1, b: 2}, y: {a: 1, b: 2, b: 3}}"},
		{"yaml alias of itself", "a.yml", "a: &a [b, *a]\n", "{a: [b, [b]]}"},
		{"json", "a.json", "{\"a\": {\"b\": \"c\", // d\n \"e\": [1, null,],}, \"f\": \"\\u0041\"}", "{a: {b: c, e: [1, null]}, f: A(\\u0041)}"},
		{"properties", "a.properties", "a.b=c\na.d : e f \n! no\n#no\ng h\ni = j\\\n   k\nl\n", "{a: {b: c, d: e f}, g: h, i: jk(j\\), l: }"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := lint.NewFile(tt.file, []byte(tt.text))
			if d := cmp.Diff(tt.want, outline(f, read(t, f))); d != "" {
				t.Error(d)
			}
		})
	}
}

func read(t *testing.T, f *lint.File) *Node {
	t.Helper()
	switch {
	case strings.HasSuffix(f.Path, ".json"):
		n, err := JSON(f)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case strings.HasSuffix(f.Path, ".properties"):
		return Properties(f)
	}
	docs, err := YAML(f)
	if err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

func TestNestedAndRelaxed(t *testing.T) {
	f := lint.NewFile("a.yml", []byte("a.b: 1\na:\n  c.d: 2\n  b-e: 3\na.c.f: 4\n"))
	docs, err := YAML(f)
	if err != nil {
		t.Fatal(err)
	}
	n := docs[0].Nested()
	if d := cmp.Diff("{a: {b: 1, c: {d: 2, f: 4}, b-e: 3}}", outline(f, n)); d != "" {
		t.Error(d)
	}
	if v, ok := n.Relaxed("A", "bE").Int(); v != 3 || !ok {
		t.Errorf("relaxed: %v %v", v, ok)
	}
	if n.Get("a", "bE") != nil || n.Get("a", "b", "c") != nil || (*Node)(nil).Relaxed("a").Text() != "" {
		t.Error("found what is not there")
	}
}

// TestBounds holds small files that want much.
func TestBounds(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	docs, err := YAML(lint.NewFile("a.yml", []byte(bomb)))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	docs[0].Walk(func([]string, *Node) bool { count++; return true })
	if count > maxNodes {
		t.Errorf("%d nodes", count)
	}
	if _, err := JSON(lint.NewFile("a.json", []byte(strings.Repeat("[", 100_000)))); err == nil {
		t.Error("JSON of any depth is followed")
	}
	Properties(lint.NewFile("a.properties", []byte(strings.Repeat("a.", 100_000)+"=1\n")))
}

func FuzzTrees(f *testing.F) {
	f.Add("a: &a {b: *a, <<: *a}\n")
	f.Add("{\"a\": [1, /**/ \"b\\\\\"],}")
	f.Add("a.b[0]=c\\\n d\r\n=\n:")
	f.Fuzz(func(t *testing.T, text string) {
		file := lint.NewFile("a", []byte(text))
		check := func(n *Node) {
			n.Nested().Walk(func(_ []string, n *Node) bool {
				for _, s := range []lint.Span{n.Span, n.KeySpan, Where(n)} {
					if s.Start < 0 || s.End > len(text) || s.Start > s.End {
						t.Fatalf("span %v of %d bytes", s, len(text))
					}
				}
				return true
			})
		}
		docs, _ := YAML(file)
		for _, d := range docs {
			check(d)
		}
		n, _ := JSON(file)
		check(n)
		check(Properties(file))
	})
}
