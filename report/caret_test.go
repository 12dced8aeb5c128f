package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestExcerptUnderlines(t *testing.T) {
	for _, c := range []struct {
		name, line  string
		col, endCol int
		want        string
	}{
		{"plain", "0 * * * * a", 1, 10, "   |\n 7 | 0 * * * * a\n   | ^~~~~~~~~"},
		{"one column", "a % b", 3, 4, "   |\n 7 | a % b\n   |   ^"},
		{"no end", "a % b", 3, 0, "   |\n 7 | a % b\n   |   ^"},
		{"tabs before and inside", "\t0\t* x", 2, 5, "   |\n 7 |         0       * x\n   |         ^~~~~~~~~"},
		{"wide runes before", "# 毎日: 0 0 * * *", 7, 16, "   |\n 7 | # 毎日: 0 0 * * *\n   |         ^~~~~~~~~"},
		{"wide runes inside", "毎日 x", 1, 3, "   |\n 7 | 毎日 x\n   | ^~~~"},
		{"combining mark", "e\u0301 0 *", 4, 7, "   |\n 7 | e\u0301 0 *\n   |   ^~~"},
		{"escape before", "\x1b[31m 0 0", 7, 10, "   |\n 7 | \\x1b[31m 0 0\n   |          ^~~"},
		{"invalid byte before", "\xff 0 0", 3, 6, "   |\n 7 | \\xff 0 0\n   |      ^~~"},
		{"behind the end", "ab", 3, 3, "   |\n 7 | ab\n   |   ^"},
		{"empty line", "", 1, 1, "   |\n 7 | \n   | ^"},
	} {
		got := newExcerpt(7, c.line, c.col, c.endCol).marked()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestExcerptOfLongLine(t *testing.T) {
	line := strings.Repeat("x", 5000) + "0 0 * * *" + strings.Repeat("y", 5000)
	e := newExcerpt(1, line, 5001, 5010)
	if n := utf8.RuneCountInString(e.Text); n > maxExcerpt+2 {
		t.Errorf("%d code points", n)
	}
	if got := string([]rune(e.Text)[e.From:e.To]); got != "0 0 * * *" {
		t.Errorf("marked %q", got)
	}
	if !strings.HasPrefix(e.Text, "…") || !strings.HasSuffix(e.Text, "…") {
		t.Error("the cut is not marked")
	}
}

// The mark lies under the text it marks, whatever that is.
func FuzzExcerpt(f *testing.F) {
	f.Add("0\t* 毎日 \x1b[0m\xff", 2, 5)
	f.Add("", 1, 0)
	f.Fuzz(func(t *testing.T, line string, col, endCol int) {
		if strings.ContainsAny(line, "\n") {
			return
		}
		e := newExcerpt(3, line, col, endCol)
		if n := utf8.RuneCountInString(e.Text); e.From < 0 || e.From > n || e.To <= e.From {
			t.Fatalf("%+v of %d code points", e, n)
		}
		text, from, to := e.columns()
		if strings.Contains(text, "\t") || from < 0 || to <= from {
			t.Fatalf("columns %d-%d of %q", from, to, text)
		}
		if ascii := isPlain(line) && len(line) <= maxExcerpt; ascii && from != min(max(col-1, 0), len(line)) {
			t.Fatalf("columns %d-%d of %q for column %d", from, to, text, col)
		}
	})
}

func TestHeatmap(t *testing.T) {
	var h Heatmap
	h.Title = "host"
	h.Before[4][0], h.Before[4][59], h.Before[23][30] = 12, 0.2, 9
	want := "host\n" +
		"hour   :00       :10       :20       :30       :40       :50\n" +
		"00-03  " + strings.Repeat(".", 60) + "\n" +
		"04     +" + strings.Repeat(".", 58) + "1\n" +
		"05-22  " + strings.Repeat(".", 60) + "\n" +
		"23     " + strings.Repeat(".", 30) + "9" + strings.Repeat(".", 29) + "\n" +
		"+ is 10 or more"
	if diff := cmp.Diff(want, h.text()); diff != "" {
		t.Error(diff)
	}
}

func TestPlaceNames(t *testing.T) {
	at := func(file string, line int) Location { return Location{File: file, Line: line} }
	for _, c := range []struct {
		places []Location
		want   string
	}{
		{nil, ""},
		{[]Location{at("a", 1)}, "a:1"},
		{[]Location{at("a", 1), at("a", 2), at("b", 3)}, "a:1, :2, b:3"},
		{[]Location{at("a", 1), at("b", 2), at("a", 3), at("a", 4), at("c", 9)}, "a:1, b:2, a:3 and 2 more"},
	} {
		if got := placeNames(c.places, len(c.places)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
