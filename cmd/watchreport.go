package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/watch"
)

// document is the report at the end: what the last look found, what was seen
// while it was watched, and what a database showed.
func (r *watchRun) document(clock report.Clock) *report.Document {
	s := r.watcher.State()
	d := report.New(version, "watch")
	if s.Analysis != nil {
		t := &report.TTL{Version: version, Analysis: s.Analysis, Top: r.opts.top, Lang: r.opts.lang}
		keys := t.Document(clock)
		d.Graphs, d.Tables, d.Findings, d.Undecided, d.Notes = keys.Graphs, keys.Tables, keys.Findings, keys.Undecided, keys.Notes
	}
	d.Coverage = []report.Coverage{r.redisCoverage(&s, clock)}
	if r.opts.watchesDatabase(r.env) {
		r.addQueries(d, &s, clock)
	}
	if g, ok := missGraph(&s, r.began); ok {
		d.Graphs = append([]report.Graph{g}, d.Graphs[:min(1, len(d.Graphs))]...)
	}
	for i := range s.Herds {
		addHerd(d, &s.Herds[i], clock)
	}
	slices.SortStableFunc(d.Findings, func(a, b report.Finding) int { return severityRank(b.Severity) - severityRank(a.Severity) })
	d.Notes = append(d.Notes, r.watchNotes(&s)...)
	d.Verdict = ""
	d.Finish()
	d.Next = nil
	if len(d.Findings) > 0 {
		d.Next = []string{"herdscan explain " + d.Findings[0].Rule}
	}
	return d
}

func severityRank(name string) int {
	s, err := severityOf(name)
	if err != nil {
		return -1
	}
	return int(s)
}

// watchesDatabase tells whether a database was to be watched.
func (o *watchOptions) watchesDatabase(env Env) bool {
	c, err := o.database(env)
	return err == nil && c != nil
}

// redisCoverage says how much of the Redis was seen.
func (r *watchRun) redisCoverage(s *watch.State, clock report.Clock) report.Coverage {
	c := report.Coverage{Source: r.watcher.Target(), Kind: "redis", Unit: "keys", Errors: []string{}, Complete: true}
	from, to := r.began.UTC(), r.env.Now().UTC()
	c.From, c.To = &from, &to
	looks, _, failed := r.watcher.Looks()
	if s.Analysis != nil {
		for _, src := range s.Analysis.Sources {
			c.Read, c.Total = c.Read+src.Read, c.Total+src.Total
			c.Notes = append(c.Notes, src.Notes...)
			if src.Kind != "" {
				c.Kind = src.Kind
			}
		}
	}
	for _, l := range s.Limits {
		if strings.HasPrefix(l, "redis: ") {
			c.Errors = append(c.Errors, "lost at the end: "+report.Clean(strings.TrimPrefix(l, "redis: ")))
		}
	}
	switch {
	case failed != nil && len(c.Errors) == 0:
		c.Errors = append(c.Errors, "the keys could not be read: "+plainError(failed))
	case s.Analysis == nil && len(c.Errors) == 0:
		c.Errors = append(c.Errors, "the keys were not read")
	}
	c.Complete = len(c.Errors) == 0
	c.Text = fmt.Sprintf("watched for %s, %s; keys read %s", watch.Span(to.Sub(from)), clock.Span(from, to), times(looks))
	if s.Analysis != nil {
		c.Text += fmt.Sprintf(", last %s of %s", report.Int(c.Read), report.Count(max(c.Total, c.Read), "keys"))
	}
	return c
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return report.Int(n) + " times"
}

// addQueries adds what the database showed.
func (r *watchRun) addQueries(d *report.Document, s *watch.State, clock report.Clock) {
	c := report.Coverage{Source: "database", Kind: "mysql-live", Unit: "statements", Errors: []string{}, Complete: true}
	for _, l := range s.Limits {
		if strings.HasPrefix(l, "mysql: ") {
			c.Errors = append(c.Errors, "lost at the end: "+report.Clean(strings.TrimPrefix(l, "mysql: ")))
		}
	}
	if a := s.Queries; a != nil {
		if len(a.Coverage) > 0 {
			c.Source = report.Clean(strings.TrimSuffix(a.Coverage[0].Source, " live"))
		}
		c.Read, c.Total = a.Statements, a.Statements
		c.Text = report.Count(a.Statements, "statements") + " in the last minutes, sampled"
		if !a.From.IsZero() {
			from, to := a.From.UTC(), a.To.UTC()
			c.From, c.To = &from, &to
			c.Text += ", " + clock.Span(from, to)
		}
		shown := *a
		shown.Coverage = nil
		q := (&report.QueryLog{Version: version, Summary: &querylog.Summary{}, Analysis: &shown, Zone: time.UTC, Top: r.opts.top, Lang: r.opts.lang}).Document(clock)
		d.Findings = append(d.Findings, q.Findings...)
		d.Tables = append(d.Tables, q.Tables...)
		d.Notes = append(d.Notes, blind...)
	} else if len(c.Errors) == 0 {
		c.Errors = append(c.Errors, "no statement was seen")
	}
	c.Complete = len(c.Errors) == 0
	d.Coverage = append(d.Coverage, c)
}

// addHerd adds what was seen of a herd while it was watched: to the finding
// about it, or as one of its own.
func addHerd(d *report.Document, h *watch.Herd, clock report.Clock) {
	subject := report.Clean(h.Subject)
	i := slices.IndexFunc(d.Findings, func(f report.Finding) bool { return f.Rule == h.Rule && f.Subject == subject })
	if i < 0 {
		d.Findings = append(d.Findings, herdFinding(h, subject))
		i = len(d.Findings) - 1
	}
	f := &d.Findings[i]
	if severityRank(f.Severity) < int(h.Severity) {
		f.Severity = h.Severity.String()
	}
	seen := fmt.Sprintf("While watched: first told %s, last %s (%s).", clock.Time(h.First), clock.Time(h.Last), h.Stage)
	if h.Fell > 0 {
		last := h.Teeth[len(h.Teeth)-1]
		seen = fmt.Sprintf("While watched it came %s, last %s with %s.", times(h.Fell), clock.Time(last.At), report.Count(last.Count, h.Unit))
	}
	f.Details = append(f.Details, seen)
}

// herdFinding is the finding about a herd that only watching has seen.
func herdFinding(h *watch.Herd, subject string) report.Finding {
	f := report.Finding{
		Rule: h.Rule, Severity: h.Severity.String(), Subject: subject, Fingerprint: h.Rule + "/" + subject,
		Message: subject + ": " + herdMessage(h), Details: []string{subject + " " + report.Clean(h.Text) + "."},
	}
	for _, t := range h.Teeth {
		f.Count += t.Count
		f.Teeth = append(f.Teeth, report.Tooth{At: t.At.UTC(), WidthNS: int64(t.Width), Count: t.Count})
	}
	switch h.Rule {
	case "HS410":
		f.Causes = []report.Cause{{
			Kind: "hot_key", Score: 0.9, Why: "one key is asked for by many clients at once while it is not there, and written by each of them",
			RefutedBy: "one write for each death of the key",
		}}
		f.Fix = &report.Fix{
			Text:    "let one caller rebuild the key (a lock with SET NX PX, or single-flight in each process), and serve the old value meanwhile",
			Caveats: []string{"jitter does not help one hot key: all its readers miss it in the same moment whenever that is"},
		}
	case "HS411":
		f.Causes = []report.Cause{{
			Kind: "cold_start", Score: 0.9, Why: "the cache lost its keys at once", RefutedBy: "no rise of the misses afterwards",
		}}
		f.Fix = &report.Fix{Text: "write keys with a random TTL, so that what is refilled together does not die together; warm the most read keys before traffic comes; forbid FLUSHALL to the application (ACL -flushall -flushdb)"}
	}
	return f
}

func herdMessage(h *watch.Herd) string {
	switch h.Rule {
	case "HS401":
		return "keys expired as a herd"
	case "HS410":
		return fmt.Sprintf("one key was missed by many at once, %s", times(h.Fell))
	case "HS411":
		return "the cache was emptied at once"
	case "HS502":
		return "many copies of one statement ran at once"
	case "HS505":
		return "a retry storm"
	case "HS506":
		return "what is not there is asked for again and again"
	default:
		return "a herd"
	}
}

// missGraph draws the misses while it was watched.
func missGraph(s *watch.State, from time.Time) (report.Graph, bool) {
	if len(s.History) < 2 {
		return report.Graph{}, false
	}
	if first := s.History[0].At; first.After(from) {
		from = first
	}
	last := s.History[len(s.History)-1].At
	const columns = 240
	step := max(last.Sub(from)/columns, time.Second).Truncate(time.Second)
	values := make([]float64, int(last.Sub(from)/step)+1)
	seen := 0.0
	for _, r := range s.History {
		if i := int(r.At.Sub(from) / step); r.Known && i >= 0 && i < len(values) {
			values[i] = max(values[i], r.Misses)
			seen = max(seen, r.Misses)
		}
	}
	return report.Graph{Title: "cache misses per second", Unit: "misses/s", From: from.UTC(), StepNS: int64(step), Values: values}, seen > 0
}

// watchNotes say what could not be seen, and what watching cost.
func (r *watchRun) watchNotes(s *watch.State) []string {
	var notes []string
	for _, l := range s.Limits {
		notes = append(notes, "not seen: "+report.Clean(l))
	}
	_, load, _ := r.watcher.Looks()
	notes = append(notes, impactLines(load)...)
	notes = append(notes, fmt.Sprintf("herdscan itself asked for %s; they are not in the hits and misses", report.Count(s.Totals.Own, "keys")))
	if s.Lost > 0 {
		notes = append(notes, fmt.Sprintf("memory is bounded: %s of keys beyond those followed", report.Count(s.Lost, "misses")))
	}
	if n := len(s.Herds); n > 0 && s.Herds[0].Severity < rule.Warning {
		notes = append(notes, "what was seen while watching are notes: nothing to act on at once")
	}
	return notes
}

// blind says what sampling can't see, whatever the server.
var blind = []string{
	"sampled once a second: when statements started within a second is not known, nor are their texts, but for those caught running",
	"no herd shorter than a second can be told from a steady second; statements that ran between two looks have no client",
}
