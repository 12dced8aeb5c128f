package cache

import (
	"fmt"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/nginx"
)

// eachUse reports, once for each directive, the uses for which f finds
// something.
func eachUse(p *lint.Pass, r *rule.Rule, f func(u *use) (finding, bool)) {
	done := make(map[*nginx.Directive]bool)
	for _, u := range uses(p) {
		got, ok := f(&u)
		if !ok {
			continue
		}
		at := got.at
		if at == nil {
			at = u.cache
		}
		if !done[at] {
			done[at] = true
			p.Report(u.problem(r, at, got))
		}
	}
}

// A finding is what a rule says about one use of a cache.
type finding struct {
	message string
	advice  string
	at      *nginx.Directive // where to show it; nil: at the cache directive
	fix     *lint.Edit
	note    bool // a note, whatever the rule's usual severity
}

func (u *use) problem(r *rule.Rule, at *nginx.Directive, got finding) lint.Problem {
	subject := u.family + "_cache " + u.cache.Arg(0) + u.where()
	problem := lint.NewProblem(r, at.File, at.Span, subject, got.message)
	problem.Advice, problem.Fix = got.advice, got.fix
	if got.note {
		problem.Severity = rule.Note
	}
	if inc := u.at.unresolved(); inc != "" {
		problem.Message += fmt.Sprintf(" (unless %q sets it)", inc)
		problem.Severity = rule.Note
	}
	return problem
}

// where says the location, for humans and for the fingerprint.
func (u *use) where() string {
	if l := u.at.location(); l != nil {
		return " in location " + strings.Join(l.args, " ")
	}
	return ""
}

// maxIndent bounds what is looked at before and behind a directive on its
// line, in bytes.
const maxIndent = 200

// after makes an edit that adds a directive on a line of its own below d.
func after(d *nginx.Directive, text, why string) *lint.Edit {
	f := d.File
	line, _ := f.Position(d.Span.Start)
	end, _ := f.Position(max(d.Span.End-1, d.Span.Start))
	start := f.LineSpan(line).Start
	if d.Span.Start-start > maxIndent || f.LineSpan(end).End-d.Span.End > maxIndent {
		return nil
	}
	indent := f.Text(lint.Span{Start: start, End: d.Span.Start})
	if strings.TrimSpace(indent) != "" {
		return nil // several directives on one line: where to put it is a matter of taste
	}
	if rest := f.Text(lint.Span{Start: d.Span.End, End: f.LineSpan(end).End}); strings.TrimSpace(rest) != "" &&
		!strings.HasPrefix(strings.TrimSpace(rest), "#") {
		return nil
	}
	eol := "\n"
	if f.CRLF() {
		eol = "\r\n"
	}
	at := f.LineSpan(end).End
	return &lint.Edit{File: f.Path, Span: lint.Span{Start: at, End: at}, New: eol + indent + text, Text: text, Why: why}
}
