package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// A Change is what became of one herd between two reports.
type Change struct {
	Status  string `json:"status"` // "gone", "smaller", "unchanged", "worse", "new", "unknown"
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
	Why     string `json:"why,omitempty"` // of "unknown" and of some others
	Before  *Size  `json:"before,omitempty"`
	After   *Size  `json:"after,omitempty"`

	found *Finding // in the new report
	old   *Finding
}

// A Size says how large a herd is.
type Size struct {
	Severity string  `json:"severity"`
	N        float64 `json:"n"` // in Unit
	Unit     string  `json:"unit"`
	PeriodNS int64   `json:"period_ns,omitempty"`
	Teeth    int     `json:"teeth"`
}

// smaller and worse are the ratios of sizes from which a herd has changed; what
// chance alone explains is no change.
const (
	smallerBelow = 0.8
	worseAbove   = 1.25
)

// Compare says which herds of old are gone, smaller or unchanged, and which of
// new are new or worse. Its findings are those of new that are new or worse.
func Compare(version string, old, next *Document) *Document {
	d := New(version, "report")
	d.Coverage = append(labelled("OLD: ", old.Coverage), labelled("NEW: ", next.Coverage)...)
	taken := map[*Finding]bool{}
	for _, before := range herdsOf(old) {
		after := match(before, next, taken)
		c := change(before, after, next)
		if after == nil && c.Status == "gone" {
			if after = leftOver(before, next, taken); after != nil {
				c.Status, c.Why, c.After = "smaller", "it comes once, and no more at a period", sizeOf(after)
			}
		}
		if after != nil {
			taken[after] = true
		}
		d.Comparison = append(d.Comparison, c)
	}
	for _, after := range herdsOf(next) {
		if !taken[after] {
			d.Comparison = append(d.Comparison, change(nil, after, next))
		}
	}
	rank := []string{"new", "worse", "unknown", "unchanged", "smaller", "gone"}
	slices.SortStableFunc(d.Comparison, func(a, b Change) int {
		return cmp.Compare(slices.Index(rank, a.Status), slices.Index(rank, b.Status))
	})
	d.Tables = []Table{comparisonTable(d.Comparison)}
	if len(d.Comparison) == 0 {
		d.Tables = nil
	}
	for _, c := range d.Comparison {
		switch c.Status {
		case "new", "worse":
			d.Findings = append(d.Findings, changed(c))
		case "unknown":
			d.Undecided = append(d.Undecided, c.Subject+": "+c.Why)
		}
	}
	d.Finish()
	d.Verdict = comparisonVerdict(d)
	return d
}

func labelled(label string, cs []Coverage) []Coverage {
	out := slices.Clone(cs)
	for i := range out {
		out[i].Source = label + out[i].Source
	}
	return out
}

// herdsOf are the findings about herds in logs and caches that count.
func herdsOf(d *Document) []*Finding {
	var out []*Finding
	for i := range d.Findings {
		f := &d.Findings[i]
		herd := f.Comb != nil || f.Herd != nil || strings.HasPrefix(f.Rule, "HS5") && f.Rule != "HS507"
		if herd && f.Severity != rule.Note.String() && f.Suppressed == "" {
			out = append(out, f)
		}
	}
	return out
}

// match finds a herd in another report. The leading statement of a family may
// have changed, so one that is a member counts, too. A note of the same subject
// is what is left of a herd.
func match(f *Finding, d *Document, taken map[*Finding]bool) *Finding {
	var best *Finding
	for i := range d.Findings {
		g := &d.Findings[i]
		if taken[g] || g.Rule != f.Rule || g.Suppressed != "" || !samePeriod(f, g) {
			continue
		}
		switch {
		case g.Subject == f.Subject:
			return g
		case best == nil && (memberOf(f.Subject, g) || memberOf(g.Subject, f)):
			best = g
		}
	}
	return best
}

// leftOver finds what is left of a comb whose period is gone: the same
// statements that come together once, as at a deploy.
func leftOver(f *Finding, d *Document, taken map[*Finding]bool) *Finding {
	if f.Comb == nil {
		return nil
	}
	for _, g := range herdsOf(d) {
		if !taken[g] && g.Comb == nil && g.Herd == nil && len(g.Teeth) <= 2 &&
			(g.Subject == f.Subject || memberOf(f.Subject, g) || memberOf(g.Subject, f)) {
			return g
		}
	}
	return nil
}

// memberOf says whether a statement or pattern takes part in a finding: its
// members are written with their counts behind.
func memberOf(subject string, f *Finding) bool {
	return slices.ContainsFunc(f.Members, func(m string) bool { return strings.HasPrefix(m, subject+": ") })
}

// samePeriod tells combs of one statement apart: a nightly job is not the
// hourly herd.
func samePeriod(f, g *Finding) bool {
	if f.Comb == nil || g.Comb == nil {
		return true
	}
	ratio := float64(f.Comb.PeriodNS) / float64(max(g.Comb.PeriodNS, 1))
	return ratio > 0.7 && ratio < 1.4
}

func change(before, after *Finding, next *Document) Change {
	c := Change{old: before, found: after}
	if before != nil {
		c.Rule, c.Subject, c.Before = before.Rule, before.Subject, sizeOf(before)
	}
	if after != nil {
		c.Rule, c.Subject, c.After = after.Rule, after.Subject, sizeOf(after)
	}
	switch {
	case before == nil:
		c.Status = "new"
	case after == nil:
		c.Status = "gone"
		if why := cantTell(before, next); why != "" {
			c.Status, c.Why = "unknown", why
		}
	default:
		c.Status = grown(c.Before, c.After)
	}
	return c
}

// grown compares sizes; a difference within two standard errors of counts is
// none.
func grown(before, after *Size) string {
	if before.Unit != after.Unit || before.N <= 0 {
		return "unchanged"
	}
	noise := 2 * math.Sqrt(before.N/math.Sqrt(float64(max(before.Teeth, 1)))+after.N/math.Sqrt(float64(max(after.Teeth, 1))))
	switch ratio := after.N / before.N; {
	case math.Abs(after.N-before.N) <= noise:
		return "unchanged"
	case ratio < smallerBelow:
		return "smaller"
	case ratio > worseAbove:
		return "worse"
	default:
		return "unchanged"
	}
}

// sizeOf measures a herd: events a tooth, keys or queries in the busiest
// second, or all of its statements.
func sizeOf(f *Finding) *Size {
	s := &Size{Severity: f.Severity, Teeth: len(f.Teeth)}
	switch {
	case f.Comb != nil:
		s.N, s.Unit, s.PeriodNS, s.Teeth = f.Comb.Height, "queries a tooth", f.Comb.PeriodNS, f.Comb.Teeth
	case f.Herd != nil:
		s.N, s.Unit, s.Teeth = float64(f.Herd.BusiestSec), "keys in the busiest second", f.Herd.Teeth
	case len(f.Teeth) > 0:
		for _, t := range f.Teeth {
			s.N = max(s.N, float64(t.Count))
		}
		s.Unit = "queries in the largest tooth"
	default:
		s.N, s.Unit = float64(f.Count), "queries"
	}
	return s
}

// fewestPeriods is how many periods of a comb the new report has to cover
// before its absence means anything.
const fewestPeriods = 4

// cantTell says why the absence of a herd proves nothing.
func cantTell(f *Finding, next *Document) string {
	if next.Incomplete() {
		return "part of NEW is unread"
	}
	keys := f.Herd != nil
	var seen time.Duration
	any := false
	for _, c := range next.Coverage {
		if keys != (c.Unit == "keys") {
			continue
		}
		any = any || c.Read > 0
		if c.From != nil && c.To != nil {
			seen = max(seen, c.To.Sub(*c.From))
		}
	}
	switch {
	case !any && keys:
		return "NEW tells of no cache"
	case !any:
		return "NEW tells of no query log"
	case f.Comb != nil && seen < fewestPeriods*time.Duration(f.Comb.PeriodNS):
		return fmt.Sprintf("NEW covers %s, and its teeth came every %s: %d periods are needed", Dur(seen), Dur(time.Duration(f.Comb.PeriodNS)), fewestPeriods)
	case len(next.Undecided) > 0 && next.Summary.Error+next.Summary.Warning+next.Summary.Note == 0:
		return "NEW could not be judged: " + next.Undecided[0]
	default:
		return ""
	}
}

func changed(c Change) Finding {
	f := *c.found
	what := "new since OLD"
	if c.Status == "worse" {
		what = fmt.Sprintf("worse than in OLD: %s → %s %s", Int(int64(math.Round(c.Before.N))), Int(int64(math.Round(c.After.N))), c.After.Unit)
	}
	f.Message += ", " + what
	return f
}

func comparisonTable(cs []Change) Table {
	t := Table{Columns: []string{"herd", "rule", "now", "before", "after"}, Left: []bool{true, true, true, true, true}}
	for _, c := range cs {
		after := sizeText(c.After)
		if c.Status == "smaller" && c.Why != "" {
			after += "; " + c.Why
		}
		t.Rows = append(t.Rows, []string{cut(c.Subject, rowWidth), c.Rule, c.Status, sizeText(c.Before), after})
	}
	return t
}

func sizeText(s *Size) string {
	if s == nil {
		return "—"
	}
	text := Int(int64(math.Round(s.N))) + " " + s.Unit
	if s.PeriodNS > 0 {
		text += ", every " + Dur(time.Duration(s.PeriodNS))
	}
	if s.Severity == rule.Note.String() {
		text += " (a note)"
	}
	return text
}

func comparisonVerdict(d *Document) string {
	if len(d.Comparison) == 0 {
		if d.Incomplete() {
			return "nothing to compare in what was read; part of the input is unread"
		}
		return "no herd before and none after"
	}
	n := map[string]int{}
	for _, c := range d.Comparison {
		n[c.Status]++
	}
	var parts []string
	for _, s := range []string{"new", "worse", "unchanged", "smaller", "gone"} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	if n["unknown"] > 0 {
		parts = append(parts, fmt.Sprintf("%d can't be told", n["unknown"]))
	}
	return Count(len(d.Comparison), "herds") + ": " + strings.Join(parts, ", ")
}
