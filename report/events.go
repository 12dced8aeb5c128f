package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// Events is what "herdscan events" found, ready to be written.
type Events struct {
	Version  string
	Coverage []Coverage
	Total    *comb.Series // all events
	From, To time.Time    // what the record covers
	Zone     *time.Location
	// Names and Each are the series that were judged, in the same order. A
	// single series without a name is all events.
	Names    []string
	Each     []comb.Result
	Families []comb.Family
}

// Document writes the events' findings.
func (e *Events) Document(clock Clock) *Document {
	d := New(e.Version, "events")
	d.Coverage = e.Coverage
	if e.Total.Total() > 0 {
		d.Graphs = []Graph{seriesGraph(e.Total, e.From, e.To, "events per second")}
	}
	table := Table{Columns: []string{"events", "count", "every", "teeth", "missing", "in teeth", "busiest second", "× mean"}}
	for _, f := range e.Families {
		e.addComb(d, &table, clock, f.Comb, e.familyName(f), familyMembers(f))
	}
	for i, r := range e.Each {
		name := e.name(i)
		if e.Families == nil {
			for _, c := range r.Combs {
				e.addComb(d, &table, clock, c, name, nil)
			}
		}
		for _, s := range r.Spikes {
			d.Findings = append(d.Findings, e.spike(s, name, clock))
		}
		if r.Undecided != "" {
			d.Undecided = append(d.Undecided, name+": "+r.Undecided)
		}
	}
	if len(table.Rows) > 0 {
		d.Tables = []Table{table}
	}
	slices.SortStableFunc(d.Findings, bySeverity)
	d.Undecided = foldUndecided(d.Undecided)
	d.Finish()
	if d.Summary.Warning+d.Summary.Error+d.Summary.Note > 0 {
		d.Next = []string{"herdscan explain " + d.Findings[0].Rule}
	}
	return d
}

func (e *Events) name(i int) string {
	if e.Names[i] == "" {
		return "all events"
	}
	return Clean(e.Names[i])
}

func (e *Events) familyName(f comb.Family) string {
	if len(f.Members) == 0 {
		return "all events"
	}
	name := e.name(f.Members[0].Index)
	if n := len(f.Members) - 1; n > 0 {
		name += fmt.Sprintf(" and %s", Count(n, "others"))
	}
	return name
}

func familyMembers(f comb.Family) []string {
	var out []string
	for _, m := range f.Members {
		out = append(out, fmt.Sprintf("%s: %s in the teeth", Clean(m.Name), Count(m.Count, "events")))
	}
	return out
}

func (e *Events) addComb(d *Document, t *Table, clock Clock, c comb.Comb, name string, members []string) {
	mean := float64(e.Total.Total()) / max(e.To.Sub(e.From).Seconds(), 1)
	inTeeth := teethTotal(c.Teeth)
	t.Rows = append(t.Rows, []string{
		name, Int(inTeeth), Dur(c.Period), Int(len(c.Teeth)), Int(c.Missing), Percent(c.Share),
		Count(c.Peak, "events"), Float(float64(c.Peak) / math.Max(mean, 1e-9)),
	})
	severity := rule.Note
	if c.Harm {
		severity = rule.Warning
	}
	last := c.Teeth[len(c.Teeth)-1].At
	next := last.Add(c.Period).Round(time.Second)
	logP := c.LogP
	f := Finding{
		Rule: "HS501", Severity: severity.String(), Subject: name, Count: inTeeth,
		Message: fmt.Sprintf("%s: about %s come together every %s", name, Count(int64(math.Round(c.Height)), "events"), every(c)),
		Details: []string{
			fmt.Sprintf("%s seen, %s missed, %s wide; %s of the events lie in them; busiest second %s over %s events/s between the teeth (%s).",
				Count(len(c.Teeth), "teeth"), Int(c.Missing), Dur(c.Width), Percent(c.Share), Int(c.Peak), Float(c.Baseline), Probability(c.LogP)),
			fmt.Sprintf("First tooth %s, last %s; the next would fall at about %s.", clock.Time(c.Teeth[0].At), clock.Time(last), clock.Time(next)),
			lockText(c),
		},
		RefutedBy: lockRefuted(c), Members: members, Comb: combOf(c, e.Zone), Teeth: teethOf(c.Teeth), Log10P: &logP,
		Fingerprint: fmt.Sprintf("HS501/%s/%s", name, c.Period.Round(time.Second)),
	}
	if c.Harm {
		f.Fix = combFix(c)
	} else {
		f.Details = append(f.Details, "Periodic, but too small to hurt: a tooth this low is a note.")
	}
	d.Findings = append(d.Findings, f)
}

// combFix is the remedy that times alone can carry: without texts, keys and
// hosts the cause is open.
func combFix(c comb.Comb) *Fix {
	jitter := comb.Jitter{Fraction: 0.15}
	wave := comb.Wave{Keys: c.Height, Width: c.Width, TTL: c.Period}
	before := float64(c.Peak)
	after := math.Min(before, comb.Predict(wave, jitter, 1).PeakAfter+c.Baseline)
	return &Fix{
		Text:    spreadText(c, jitter),
		Effect:  &Effect{PeakBefore: before, PeakAfter: after, Unit: "events/s"},
		Effects: []string{fmt.Sprintf("busiest second  %s → %s", Int(c.Peak), Count(int64(math.Ceil(after)), "events"))},
		Caveats: []string{"If a tooth is many copies of one request, spreading does not help: let one caller do the work (single-flight). Times alone can't tell; herdscan querylog can."},
	}
}

// spreadText says what to write instead of the constant, as far as the lock
// tells what kind of constant it is.
func spreadText(c comb.Comb, j comb.Jitter) string {
	if c.Lock == comb.WallClock {
		return fmt.Sprintf("start the jobs behind it at different minutes instead of all at one instant of each %s", Dur(c.Period-c.Drift))
	}
	constant := c.Period
	if c.Lock == comb.Drifting {
		constant -= c.Drift
	}
	shortest, longest := j.Range(constant)
	return fmt.Sprintf("give each actor a delay of its own: %s–%s s (random) instead of %s s, be it a TTL, a retry or a poll interval",
		roundSeconds(shortest), roundSeconds(longest), roundSeconds(constant))
}

// roundSeconds writes a delay to about three figures.
func roundSeconds(d time.Duration) string {
	if d >= 100*time.Second {
		return Seconds(d.Round(time.Second))
	}
	return Seconds(d.Round(100 * time.Millisecond))
}

func (e *Events) spike(s comb.Spike, name string, clock Clock) Finding {
	logP := s.LogP
	return Finding{
		Rule: "HS504", Severity: rule.Warning.String(), Subject: name, Count: s.Count,
		Message: fmt.Sprintf("%s: one-off tooth of %s in %s at %s", name, Count(s.Count, "events"), Dur(s.Width), clock.Time(s.At)),
		Details: []string{
			"Far beyond every other burst in the record, and part of no comb (" + Probability(s.LogP) + ").",
			"Consistent with a cold start: a deploy, a flush, a restart. If it comes back after a TTL, it was the birth of a herd.",
		},
		RefutedBy: "no deploy, flush, restart or batch at that time.",
		Teeth:     teethOf([]comb.Tooth{s.Tooth}), Log10P: &logP,
		Fix:         &Fix{Text: "warm the most expensive keys before a process takes traffic, and restart processes one after the other"},
		Fingerprint: fmt.Sprintf("HS504/%s/%d", name, s.At.Unix()),
	}
}

// seriesGraph is the busiest second of each step over the coverage.
func seriesGraph(s *comb.Series, from, to time.Time, title string) Graph {
	start := from.Truncate(time.Second)
	seconds := int64(to.Sub(start)/time.Second) + 1
	step := max((seconds+maxPoints-1)/maxPoints, 1)
	values := make([]float64, (seconds+step-1)/step)
	var second int64
	var count uint64
	flush := func() {
		if i := (second - start.Unix()) / step; count > 0 && i >= 0 && i < int64(len(values)) {
			values[i] = max(values[i], float64(count))
		}
		count = 0
	}
	for b := range s.Bins() {
		at := floorSecond(b.At)
		if at != second {
			flush()
			second = at
		}
		count += b.N
	}
	flush()
	return Graph{Title: title, Unit: "events/s", From: start.UTC(), StepNS: step * int64(time.Second), Values: values}
}

func floorSecond(ns int64) int64 {
	s := ns / int64(time.Second)
	if ns%int64(time.Second) < 0 {
		s--
	}
	return s
}

func teethTotal(ts []comb.Tooth) (n uint64) {
	for _, t := range ts {
		n += t.Count
	}
	return n
}

// bySeverity puts errors first, then warnings, then notes.
func bySeverity(a, b Finding) int {
	return severityRank(a.Severity) - severityRank(b.Severity)
}

func severityRank(s string) int {
	return slices.Index([]string{"error", "warning", "note"}, s)
}

// foldUndecided keeps a few reasons and counts the rest.
func foldUndecided(us []string) []string {
	const keep = 5
	if len(us) <= keep {
		return us
	}
	rest := fmt.Sprintf("and %s more, for reasons of the same kind", Int(len(us)-keep))
	return append(slices.Clone(us[:keep]), strings.TrimSpace(rest))
}
