package cronlint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/cronlint/code"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// judge runs the checks over what was collected and settles the problems:
// switched-off rules dropped, comments and baseline applied, sorted, fingerprinted.
func judge(res *Result, o *lint.Options, folders bool) {
	directives := make(map[string]*lint.DirectiveIndex)
	for _, f := range res.Sources {
		directives[f.Path] = lint.IndexDirectives(remarks(f))
	}
	annotate(res.Entries, o, directives)

	enabled := make(map[string]bool)
	found := res.Problems // the parsers'
	pass := &lint.Pass{
		Options: o, Entries: res.Entries, Settings: res.Settings,
		Report: func(p lint.Problem) { found = append(found, p) },
	}
	for _, c := range Checks() {
		if !o.Enabled(&c) {
			continue
		}
		enabled[c.Rule.ID] = true
		if c.Run != nil {
			c.Run(pass)
		}
	}
	found = slices.DeleteFunc(found, func(p lint.Problem) bool { return !enabled[p.Rule.ID] })
	suppress(found, o, directives)
	if enabled[ruleHS900.ID] {
		for _, f := range res.Sources {
			found = append(found, unused(f, directives[f.Path].All, o, enabled, folders)...)
		}
	}
	slices.SortStableFunc(found, func(a, b lint.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			strings.Compare(a.Rule.ID, b.Rule.ID), strings.Compare(a.Message, b.Message))
	})
	lint.SetFingerprints(found)
	if o.Baseline != nil {
		res.Gone = o.Baseline.Mark(found)
	}
	res.Problems = found
}

// remarks is the file in which its comments to herdscan are looked for: in source
// code, a string that looks like one is none.
func remarks(f *lint.File) *lint.File {
	if code.Of(f.Name) == code.None {
		return f
	}
	return lint.NewFile(f.Path, code.Remarks(f, "herdscan:"))
}

// annotate gives entries what comments and the options' groups say of them.
func annotate(entries []*lint.Entry, o *lint.Options, directives map[string]*lint.DirectiveIndex) {
	for _, e := range entries {
		directives[e.File.Path].Annotate(e)
		for _, glob := range sortedKeys(o.Groups) {
			if matchAny([]string{glob}, e.File.Path) {
				e.Group = o.Groups[glob]
			}
		}
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// suppress marks what comments accept. Every comment that would accept a
// problem counts as used.
func suppress(ps []lint.Problem, o *lint.Options, directives map[string]*lint.DirectiveIndex) {
	now := o.Time()
	for i := range ps {
		p := &ps[i]
		for _, d := range directives[p.File].At(p.Line) {
			if !d.Accepts(p, now) {
				continue
			}
			d.Used = true
			if p.Suppressed == nil {
				kind := "ignore"
				if !d.Snooze.IsZero() {
					kind = "snooze"
				}
				p.Suppressed = &lint.Suppression{Kind: kind, Reason: d.Reason, Line: d.Line}
			}
		}
	}
}

// unused reports the comments of one file that had no effect.
func unused(f *lint.File, ds []*lint.Directive, o *lint.Options, enabled map[string]bool, folders bool) []lint.Problem {
	var ps []lint.Problem
	for _, d := range ds {
		why := ""
		switch {
		case d.Err != nil:
			why = "this herdscan comment is not understood: " + d.Err.Error()
		case d.Used:
			continue
		case !d.Snooze.IsZero() && !o.Time().Before(d.Snooze):
			why = "this snooze ran out on " + d.Snooze.AddDate(0, 0, -1).Format("2006-01-02")
		case len(d.Ignore) > 0:
			why = unusedIgnore(d, enabled, folders)
		default:
			why = "no schedule stands where this comment points to"
		}
		if why == "" {
			continue
		}
		p := lint.NewProblem(&ruleHS900, f, d.Span, "herdscan comment", why)
		p.Key = f.Text(d.Span)
		ps = append(ps, p)
	}
	return ps
}

// unusedIgnore says why an ignore is useless, or "" when that can't be told:
// a rule of its list did not run, or one that compares files saw only some.
func unusedIgnore(d *lint.Directive, enabled map[string]bool, folders bool) string {
	for _, id := range d.Ignore {
		if id == "all" {
			continue
		}
		i := slices.IndexFunc(Checks(), func(c lint.Check) bool { return c.Rule.ID == id })
		switch {
		case i < 0:
			return "no lint rule " + id
		case !enabled[id], Checks()[i].CrossFile && !folders:
			return ""
		}
	}
	if !d.Snooze.IsZero() {
		return "nothing is found here: this snooze is not needed"
	}
	return fmt.Sprintf("nothing is found here for ignore[%s]", strings.Join(d.Ignore, ", "))
}
