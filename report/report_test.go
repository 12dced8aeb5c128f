package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"session:*":             "session:*",
		"naïve:键":               "naïve:键",
		"a\nb\tc\rd":            `a\nb\tc\rd`,
		"\x1b[31mred":           `\x1b[31mred`,
		"bad\xff\xfeutf":        `bad\xff\xfeutf`,
		"rtl\u202etxt":          `rtl\u202etxt`,
		"zero\u200bwidth\ufeff": `zero\u200bwidth\ufeff`,
		"c1\u0085nel\u2028":     `c1\u0085nel\u2028`,
		"del\x7f\x00":           `del\x7f\x00`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b]0;title\x07b")
	f.Add("\u2066\xc3\x28")
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		for _, r := range out {
			if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("Clean(%q) = %q keeps %U", s, out, r)
			}
		}
		if Clean(out) != out {
			t.Fatalf("Clean is not idempotent on %q", s)
		}
	})
}

func TestDur(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 s"},
		{1500 * time.Nanosecond, "1.5 µs"},
		{45 * time.Millisecond, "45 ms"},
		{time.Second, "1 s"},
		{1200 * time.Millisecond, "1.2 s"},
		{59*time.Second + 990*time.Millisecond, "60 s"},
		{5 * time.Minute, "5m"},
		{3*time.Minute + 12*time.Second, "3m 12s"},
		{time.Hour + 1200*time.Millisecond, "60m 1.2s"},
		{3 * time.Hour, "3h"},
		{50 * time.Hour, "2d 2h"},
		{-time.Second, "−1 s"},
	} {
		if got := Dur(c.d); got != c.want {
			t.Errorf("Dur(%v) = %q, want %q", c.d, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(1, "keys"), "1 key"},
		{Count(40212, "keys"), "40,212 keys"},
		{Count(1, "queries"), "1 query"},
		{Count(1, "teeth"), "1 tooth"},
		{Percent(0.999), ">99 %"},
		{Percent(0.001), "<1 %"},
		{Percent(1), "100 %"},
		{Percent(0), "0 %"},
		{Float(306.4), "306"},
		{Float(0.7), "0.7"},
		{Float(0.01), "0.01"},
		{Float(math.Inf(1)), "—"},
		{Probability(-31.2), "p ≤ 1e-31"},
		{Probability(-900), "p < 1e-300"},
		{Int(uint64(math.MaxUint64)), "18446744073709551615"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// A tooth of one second must keep its height at every width: this is what a
// plot library that interpolates loses.
func TestGraphKeepsTooth(t *testing.T) {
	values := make([]float64, 3600)
	for i := range values {
		values[i] = 1
	}
	values[1801] = 900
	g := Graph{Title: "expiring per second", From: time.Unix(0, 0), StepNS: int64(time.Second), Values: values, Ahead: true}
	for _, width := range []int{40, 72, 100} {
		out := g.render(width, Clock{})
		if !strings.Contains(out, " 900 ") {
			t.Errorf("width %d: the tooth is gone:\n%s", width, out)
		}
		for line := range strings.SplitSeq(out, "\n") {
			if n := len([]rune(line)); n > width+8 {
				t.Errorf("width %d: line of %d columns: %q", width, n, line)
			}
		}
	}
}

func TestReduce(t *testing.T) {
	got := Reduce([]float64{1, 5, 2, 0, 7, 3}, 3)
	if diff := cmp.Diff([]float64{5, 2, 7}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdownIsInert(t *testing.T) {
	d := New("0.0.0", "ttl")
	hostile := "<script>alert(1)</script> | [x](http://evil) `code` ![i](javascript:1) @all"
	d.Coverage = []Coverage{{Source: hostile, Text: hostile, Complete: true}}
	d.Tables = []Table{{Columns: []string{"a"}, Rows: [][]string{{hostile}}}}
	d.Findings = []Finding{{Rule: "HS401", Severity: "warning", Subject: hostile, Message: hostile, Fix: &Fix{Text: hostile, Code: "```\n" + hostile}}}
	d.Finish()
	var b bytes.Buffer
	if err := Markdown(&b, d, Clock{}); err != nil {
		t.Fatal(err)
	}
	code := false
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "````") {
			code = !code
			continue
		}
		if code {
			continue
		}
		for _, bad := range []string{"<script", " [x]", "http://", " | ", "@all", "![i"} {
			if strings.Contains(line, bad) {
				t.Errorf("%q survives in %q", bad, line)
			}
		}
	}
}

func TestTableFitsTerminal(t *testing.T) {
	table := Table{Columns: []string{"keys", "count"}, Rows: [][]string{
		{strings.Repeat("long", 40), "40,212"}, {"short", "1"},
	}}
	var b bytes.Buffer
	if err := table.render(&b, 60); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("line of %d columns: %q", n, line)
		}
	}
	b.Reset()
	if err := table.render(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), strings.Repeat("long", 40)) {
		t.Error("a pipe must get the whole text")
	}
}

// A table as wide as those of ttl fits into a terminal of 80 columns.
func TestWideTableFitsTerminal(t *testing.T) {
	table := Table{
		Columns: []string{"keys", "count", "no TTL", "teeth", "spacing", "width", "in teeth", "busiest second", "× mean"},
		Rows:    [][]string{{"page:/category/*/p/*", "200,090", "15,999", "24", "59m 59.7s", "59m 59.7s", "100 %", "1,108 keys", "1,656"}},
	}
	for _, width := range []int{0, 80, 120} {
		var b strings.Builder
		if err := table.render(&b, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
			if width == 0 && !strings.Contains(line, "  ") {
				t.Errorf("no gap between columns: %s", line)
			}
		}
	}
}
