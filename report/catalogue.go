package report

import (
	"io"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/ttlhist"
)

// Catalogue lists every rule, by number.
func Catalogue() []rule.Rule {
	all := slices.Concat(cronlint.Rules(), ttlhist.Rules(), querylog.Rules(), attribute.Rules())
	slices.SortFunc(all, func(a, b rule.Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Explain writes the documentation of one rule.
func Explain(w io.Writer, r rule.Rule, style Style) error {
	t := newTextWriter(w, style)
	t.line(t.bold.Sprint(r.ID+" "+r.Name) + " (" + r.Severity.String() + ")")
	t.line(r.Title)
	for _, part := range []struct{ head, text string }{
		{"Why it hurts", r.Why}, {"How it is decided", r.Decided},
	} {
		if part.text != "" {
			t.blank()
			t.line(t.bold.Sprint(part.head))
			t.para("  ", part.text)
		}
	}
	for _, part := range []struct{ head, text string }{{"Before", r.Before}, {"After", r.After}} {
		if part.text != "" {
			t.blank()
			t.line(t.bold.Sprint(part.head))
			for line := range strings.SplitSeq(strings.Trim(part.text, "\n"), "\n") {
				t.line("  " + line)
			}
		}
	}
	if len(r.See) > 0 {
		t.blank()
		t.line("See also: " + strings.Join(r.See, ", "))
	}
	return t.flush()
}

// RuleList writes a line a rule.
func RuleList(w io.Writer, rules []rule.Rule, style Style) error {
	t := newTextWriter(w, style)
	for _, r := range rules {
		t.hanging(r.ID+"  "+pad(r.Severity.String(), 8), strings.Repeat(" ", 15), r.Title)
	}
	t.blank()
	t.line("More: herdscan explain RULE")
	return t.flush()
}

func pad(s string, width int) string {
	if len(s) < width {
		s += strings.Repeat(" ", width-len(s))
	}
	return s
}
