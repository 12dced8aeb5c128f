package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// Simulate is what "herdscan simulate" played, ready to be written.
type Simulate struct {
	Version  string
	Base     comb.Mechanism // what all policies have in common
	Coverage []Coverage     // of the summaries that numbers were taken from
	Notes    []string
	Stopped  bool // not all policies were played

	runs []simulatedRun
}

// simulatedRun is one policy with what is kept of its simulation.
type simulatedRun struct {
	SimulatedPolicy
	graph Graph
}

// Add takes the simulation of one policy. Only its figures are kept.
func (r *Simulate) Add(name string, m comb.Mechanism, s comb.Simulation) {
	event, later := eventSpans(m, s.Length)
	predicted := comb.PredictPeaks(m)
	p := SimulatedPolicy{
		Name: name, Jitter: m.Jitter.Fraction, LengthNS: int64(s.Length), Queries: len(s.Queries),
		Reads: s.Reads, Misses: s.Misses, Waits: s.Waits, Stale: s.Stale, Early: s.Early,
		Event: simulatedPeak(s, event, predicted.Event), Later: simulatedPeak(s, later, predicted.Later),
		P50NS: int64(s.Latency.Quantile(0.5)), P99NS: int64(s.Latency.Quantile(0.99)),
	}
	r.runs = append(r.runs, simulatedRun{p, queryGraph(name, s)})
}

// A span is a part of a simulation.
type span struct{ from, to time.Duration }

// eventSpans cuts a simulation into what belongs to its deploys and flushes,
// each up to half a TTL after it, and the rest behind the first of them.
func eventSpans(m comb.Mechanism, length time.Duration) (events, rest []span) {
	for _, d := range m.Deploys {
		events = append(events, span{d.At, d.At + time.Duration(m.Processes-1)*d.Gap + m.TTL/2})
	}
	for _, f := range m.Flushes {
		events = append(events, span{f, f + m.TTL/2})
	}
	slices.SortFunc(events, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	if len(events) == 0 {
		return nil, []span{{0, length}}
	}
	end := events[0].to
	for _, e := range events[1:] {
		if e.from > end {
			rest = append(rest, span{end, e.from})
		}
		end = max(end, e.to)
	}
	if end < length {
		rest = append(rest, span{end, length})
	}
	return events, rest
}

// simulatedPeak is nil if there is nothing to look at.
func simulatedPeak(s comb.Simulation, spans []span, predicted float64) *SimulatedPeak {
	if len(spans) == 0 {
		return nil
	}
	p := &SimulatedPeak{}
	for _, x := range spans {
		p.Simulated = max(p.Simulated, s.Busiest(x.from, x.to))
		p.P99NS = max(p.P99NS, int64(s.Slowest(x.from, x.to)))
	}
	if predicted > 0 {
		p.Predicted = &predicted
	}
	return p
}

// queryGraph is the busiest second that begins in each step.
func queryGraph(name string, s comb.Simulation) Graph {
	step := max((s.Length+maxPoints-1)/maxPoints, time.Second).Round(time.Second)
	values := make([]float64, int(s.Length/step)+1)
	end := 0
	for i, at := range s.Queries {
		for end < len(s.Queries) && s.Queries[end]-at < time.Second {
			end++
		}
		values[at/step] = max(values[at/step], float64(end-i))
	}
	return Graph{
		Title: name + ": queries per second", Unit: "queries/s",
		From: time.Unix(0, 0).UTC(), Ahead: true, StepNS: int64(step), Values: values,
	}
}

// Document writes the policies side by side.
func (r *Simulate) Document(Clock) *Document {
	d := New(r.Version, "simulate")
	reads := uint64(r.Base.Reads * r.Base.Length.Seconds())
	d.Coverage = append([]Coverage{{
		Source: "simulation", Kind: "simulation", Unit: "reads", Read: reads, Total: reads, Complete: true, Errors: []string{}, Text: r.setting(),
	}}, r.Coverage...)
	d.Simulation = r.contract()
	d.Notes = slices.Clone(r.Notes)
	if len(r.runs) > 0 {
		plain, best := r.runs[0], r.best()
		d.Graphs = []Graph{plain.graph}
		if best.Name != plain.Name {
			d.Graphs = append(d.Graphs, best.graph)
		}
		d.Tables = []Table{r.databaseTable(), r.readerTable()}
		d.Verdict = r.verdict(plain, best)
	}
	d.Notes = append(d.Notes, r.caveats()...)
	if r.Stopped {
		d.Notes = append(d.Notes, "interrupted: not all policies were played")
	}
	d.Finish()
	return d
}

// best is the run with the lowest busiest second after the events, or in all;
// of equals the one with the lowest at the events, then the one whose readers
// wait least.
func (r *Simulate) best() simulatedRun {
	return slices.MinFunc(r.runs, func(a, b simulatedRun) int {
		return cmp.Or(
			cmp.Compare(a.Later.count(), b.Later.count()),
			cmp.Compare(a.Event.count(), b.Event.count()),
			cmp.Compare(a.Later.p99(), b.Later.p99()),
			cmp.Compare(a.Queries, b.Queries),
		)
	})
}

func (p *SimulatedPeak) count() int {
	if p == nil {
		return 0
	}
	return p.Simulated
}

func (p *SimulatedPeak) p99() time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(p.P99NS)
}

// setting says in one sentence what was played.
func (r *Simulate) setting() string {
	m := r.Base
	reads := "read equally often"
	if m.Zipf > 0 {
		reads = fmt.Sprintf("read by Zipf's law with exponent %s", Float(m.Zipf))
	}
	text := fmt.Sprintf("%s %s, %s reads/s by %s, TTL %s, rebuild %s", Count(m.Keys, "keys"), reads,
		Float(m.Reads), Count(m.Processes, "processes"), Dur(m.TTL), Dur(m.Rebuild))
	if m.RebuildCV > 0 {
		text += fmt.Sprintf(" (standard deviation %s of it)", Percent(m.RebuildCV))
	}
	if m.Concurrency > 0 {
		text += fmt.Sprintf(", at most %s at once in the database", Count(m.Concurrency, "queries"))
	}
	for _, e := range simulatedEvents(m) {
		text += fmt.Sprintf("; %s at +%s", e.Kind, Dur(time.Duration(e.AtNS)))
		switch {
		case e.GapNS > 0:
			text += fmt.Sprintf(", one process each %s", Dur(time.Duration(e.GapNS)))
		case e.Kind == "fill":
			text += fmt.Sprintf(" within %s", Dur(time.Duration(e.WidthNS)))
		}
	}
	return text + fmt.Sprintf("; %s, seed %d", Dur(m.Length), m.Seed)
}

// eventName is what the column of the events is about.
func (r *Simulate) eventName() string {
	switch deploys, flushes := len(r.Base.Deploys), len(r.Base.Flushes); {
	case deploys+flushes == 0:
		return ""
	case deploys+flushes > 1:
		return "at the events"
	case flushes == 1:
		return "at the flush"
	default:
		return "at the deploy"
	}
}

func (r *Simulate) databaseTable() Table {
	t := Table{Title: "at the database: queries in the busiest second, simulated and by formula", Columns: []string{"policy"}}
	event := r.eventName()
	if event != "" {
		t.Columns = append(t.Columns, event, "formula", "later", "formula")
	} else {
		t.Columns = append(t.Columns, "busiest second", "formula")
	}
	t.Columns = append(t.Columns, "queries in all", "mean/s")
	for _, p := range r.runs {
		row := []string{Clean(p.Name)}
		if event != "" {
			row = append(row, p.Event.cells()...)
		}
		row = append(row, p.Later.cells()...)
		seconds := time.Duration(p.LengthNS).Seconds()
		t.Rows = append(t.Rows, append(row, Int(p.Queries), Float(float64(p.Queries)/max(seconds, 1e-9))))
	}
	return t
}

func (p *SimulatedPeak) cells() []string {
	switch {
	case p == nil:
		return []string{"—", "—"}
	case p.Predicted == nil:
		return []string{Int(p.Simulated), "—"}
	default:
		return []string{Int(p.Simulated), Float(*p.Predicted)}
	}
}

func (r *Simulate) readerTable() Table {
	t := Table{
		Title:   fmt.Sprintf("at the readers: %s a policy, %s if the value is there", Count(r.runs[0].Reads, "reads"), Dur(r.Base.Hit)),
		Columns: []string{"policy", "missed", "waited", "stale", "early", "p50", "p99"},
	}
	event := r.eventName()
	if event != "" {
		t.Columns = append(t.Columns, "p99 "+strings.TrimPrefix(event, "at the "), "p99 later")
	} else {
		t.Columns = append(t.Columns, "p99 of a minute")
	}
	for _, p := range r.runs {
		row := []string{
			Clean(p.Name), Int(p.Misses), Int(p.Waits), Int(p.Stale), Int(p.Early),
			Dur(time.Duration(p.P50NS)), Dur(time.Duration(p.P99NS)),
		}
		if event != "" {
			row = append(row, Dur(p.Event.p99()))
		}
		t.Rows = append(t.Rows, append(row, Dur(p.Later.p99())))
	}
	return t
}

// caveats say what the figures do not hold.
func (r *Simulate) caveats() []string {
	notes := []string{"missed: reads that found no value or an expired one; waited: those of them that another reader's rebuild answered; stale: those that took the old value; early: refreshes before the expiry. p99 of a part of the run is that of its worst minute."}
	m := r.Base
	gap := slices.ContainsFunc(m.Deploys, func(d comb.Deploy) bool { return d.Gap > 0 })
	switch {
	case m.Concurrency > 0:
		notes = append(notes, "no formula: it knows no queue at the database")
	case gap:
		notes = append(notes, "no formula: it knows no deploy of one process after another")
	}
	for _, p := range r.runs {
		if d := time.Duration(p.LengthNS); d < m.Length {
			notes = append(notes, fmt.Sprintf("%s: played up to %s only, there are too many misses; its figures are of that time", Clean(p.Name), Dur(d)))
		}
	}
	if _, rest := eventSpans(m, m.Length); len(rest) == 0 || rest[len(rest)-1].to-rest[len(rest)-1].from < m.TTL*6/10 {
		notes = append(notes, "the run ends before the keys have expired once after the last event: --for a longer time shows it")
	}
	return notes
}

// verdict compares the best policy with the first one.
func (r *Simulate) verdict(plain, best simulatedRun) string {
	when := ""
	if event := r.eventName(); event != "" {
		when = " after " + strings.TrimPrefix(event, "at ")
	}
	before, after := plain.Later.count(), best.Later.count()
	text := fmt.Sprintf("%s: %s in the busiest second%s, p99 of the worst minute %s", Clean(plain.Name), Count(before, "queries"), when, Dur(plain.Later.p99()))
	switch {
	case slices.ContainsFunc(r.runs, func(p simulatedRun) bool { return p.LengthNS < int64(r.Base.Length) }):
		return "not judged: there are too many misses to play the whole time (--keys, --reads, --for)"
	case len(r.runs) == 1:
		return text
	case before <= after+after/2+few:
		return text + "; no policy makes a great difference"
	}
	return fmt.Sprintf("%s instead of %s: %s → %s in the busiest second%s, p99 of the worst minute %s → %s", Clean(best.Name), Clean(plain.Name),
		Int(before), Count(after, "queries"), when, Dur(plain.Later.p99()), Dur(best.Later.p99()))
}

// few is a number of queries by which two busiest seconds differ by chance.
const few = 3
