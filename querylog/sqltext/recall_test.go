package sqltext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// afresh returns the sum of a statement by a Lexer that remembers nothing.
func afresh(sql string, fold bool) Sum {
	l := Lexer{FoldDigits: fold}
	return l.Sum([]byte(sql))
}

// TestRecall gives one Lexer statements built alike with all kinds of values,
// and wants what a Lexer without memory says of each.
func TestRecall(t *testing.T) {
	values := []string{
		"1", "20", "3.5", "4.", "-5", "- 6", "0x1F", "1e5", "1.5e-10", "1.2.3", "5--1", "NULL", "true", "?", ".5", "2fa", "12abc", "1 2",
		"'a'", "'it''s'", `'C:\\'`, `"x"`, "'a' 'b'", "_utf8'x'", "N'y'", "x'0A'", "'", "''", "'-- x'", "now()", "a", "a.5", "(1, 2)", "(1,'x')", "(-1, NULL)", "",
		"1), (2", "1),(2", "'x'), ('y')", "1, 2", "1, 'x', NULL", "/* c */ 1", "1 -- c\n", "1 /*! , 2 */", "offset", "3 offset 4", "`b`", "@x:=1", "is null",
	}
	forms := []string{
		"select a from t where b = %s and c = %s", "select a from t where b in (%s) limit %s", "insert into t (a, b) values (%s), (%s)",
		"update t set a = a-%s where b=%s", "select %s, %s from t123", "select a from t limit %s, %s", "insert into t values (%s, now()), (%s, now())",
		"call p(%s,%s)", "select a from t where (b,c) in ((%s),(%s))", "select /*+ x */ a.%s from t order by %s asc", "select 'x'%s and y%s",
	}
	r := rand.New(rand.NewPCG(21, 22))
	l := Lexer{}
	for range 60_000 {
		sql := fmt.Sprintf(forms[r.IntN(len(forms))], values[r.IntN(len(values))], values[r.IntN(len(values))])
		l.FoldDigits = r.IntN(50) == 0
		if got, want := l.Sum([]byte(sql)), afresh(sql, l.FoldDigits); got != want {
			t.Fatalf("%q: %v, without memory %v", sql, got, want)
		}
	}
	if l.patterns.hits < 5000 {
		t.Errorf("only %d statements were recalled", l.patterns.hits)
	}
}

// TestListEnd wants of a list read at once the shape that its values have one by one.
func TestListEnd(t *testing.T) {
	parts := []string{"1", "-2", "3.5", "1e5", "'x'", "'it''s'", `"y"`, "NULL", "true", "?", " ", ",", ", ", "nullx", "- 1", "0x1", "a", "(", "'", "1.", ".5", "e5"}
	r := rand.New(rand.NewPCG(31, 32))
	lists := 0
	for range 100_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		list := b.String()
		end := listEnd([]byte(list+")"), 0)
		if end != len(list) || skipNumbers([]byte(list), 0) == len(list) { // digits, commas and dots are a list in any order
			continue
		}
		lists++
		l := Lexer{}
		// A comment keeps the list from being read at once.
		if got := string(l.AppendShape(nil, []byte("select a in (/* */"+list+")"))); got != "select a in (?+)" {
			t.Fatalf("%q: %s", list, got)
		}
	}
	if lists < 1000 {
		t.Errorf("only %d lists", lists)
	}
}

// TestPatternsAreBounded gives ever new statements and wants the memory to stay.
func TestPatternsAreBounded(t *testing.T) {
	l := Lexer{}
	for i := range 50_000 {
		sql := fmt.Sprintf("select a%d from t where b = %d", i, i)
		if got, want := l.Sum([]byte(sql)), afresh(sql, false); got != want {
			t.Fatal(sql)
		}
	}
	n := 0
	for _, set := range l.patterns.sets {
		for _, p := range set {
			if p != nil {
				n++
			}
		}
	}
	if n > patternSets*patternWays {
		t.Errorf("%d patterns", n)
	}
}

// FuzzRecall runs a statement after another one that may be built like it.
func FuzzRecall(f *testing.F) {
	f.Add([]byte("select a from t where b = 1 and c = 'x'"), []byte("select a from t where b = 25 and c = 'y''z'"))
	f.Add([]byte("insert into t values (1,'x'),(2,'y')"), []byte("insert into t values (NULL,'x')"))
	f.Add([]byte("select a from t where b in (1, -2)"), []byte("select a from t where b in (1)"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		l := Lexer{}
		for _, sql := range [][]byte{one, two, one} {
			if got, want := l.Sum(sql), afresh(string(sql), false); got != want {
				t.Fatalf("%q after %q: %v, without memory %v", sql, one, got, want)
			}
		}
	})
}
