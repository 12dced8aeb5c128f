package watch

import (
	"fmt"
	"math"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
)

const (
	// freshTooth is how long ago the last tooth of a finding may be for it to be going on.
	freshTooth = 10 * time.Second
	// overPeriods is after how many periods without a tooth a comb has ended.
	overPeriods = 2.5
)

// queries follows the herds that a database shows.
type queries struct {
	lead   time.Duration
	budget float64
	going  map[string]*queryHerd // by rule and subject
}

type queryHerd struct {
	event Event
	last  time.Time // end of its last tooth
	quiet time.Duration
	told  time.Time // the tooth that was told as due
}

// runningAtOnce takes the statements of which several copies run now: many of
// one text are a stampede, seen while it lasts.
func (q *queries) runningAtOnce(now time.Time, running []live.Running) []Event {
	var out []Event
	for _, r := range running {
		if r.Copies < herdCopies {
			continue
		}
		id := "HS502\x00" + r.Shape
		h := q.going[id]
		if h == nil {
			h = &queryHerd{quiet: freshTooth, event: Event{
				At: now, Stage: Begins, Rule: "HS502", Severity: rule.Warning, Subject: r.Shape, Tooth: now, Unit: "queries",
				Text: fmt.Sprintf("%s of one statement run at once, from %s: the same is computed side by side", count(uint64(r.Copies), "copies", false), count(uint64(r.Hosts), "hosts", false)),
			}}
			h.event.Count = uint64(r.Copies)
			if q.budget > 0 && float64(r.Copies) > q.budget {
				h.event.Severity = rule.Error
			}
			q.going[id] = h
			out = append(out, h.event)
		}
		h.last = now
		h.event.Count = max(h.event.Count, uint64(r.Copies))
	}
	return out
}

// observe compares the analysis of the last minutes with what is known.
func (q *queries) observe(now time.Time, a *querylog.Analysis) []Event {
	var out []Event
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Severity < rule.Warning || f.Artefact || len(f.Teeth) == 0 {
			continue
		}
		last := f.Teeth[len(f.Teeth)-1]
		end := last.At.Add(last.Width)
		id := f.Rule + "\x00" + f.Subject
		h := q.going[id]
		if h == nil {
			if now.Sub(end) > freshTooth+a.Resolution {
				continue // it was over before anybody could be told
			}
			h = &queryHerd{event: q.event(now, f)}
			q.going[id] = h
			out = append(out, h.event)
		}
		h.quiet = freshTooth
		if end.After(h.last) {
			h.last = end
		}
		h.event.Count = max(h.event.Count, f.Count)
		if period := periodOf(f); period > 0 {
			h.quiet = max(h.quiet, time.Duration(overPeriods*float64(period)))
			if e, ok := q.due(now, h, last.At, period, f); ok {
				out = append(out, e)
			}
		}
	}
	return out
}

func periodOf(f *querylog.Finding) time.Duration {
	switch {
	case f.Comb != nil:
		return f.Comb.Period
	case f.Spacing > 0:
		return time.Duration(float64(f.Spacing) * math.Pow(max(f.Growth, 1), float64(len(f.Teeth))))
	}
	return 0
}

func (q *queries) event(now time.Time, f *querylog.Finding) Event {
	e := Event{
		At: now, Stage: Begins, Rule: f.Rule, Severity: f.Severity, Subject: f.Subject,
		Tooth: f.Teeth[len(f.Teeth)-1].At, Count: f.Count, Unit: "queries", Text: queryText(f), Width: f.Teeth[len(f.Teeth)-1].Width,
	}
	if q.budget > 0 && float64(f.Second) > q.budget {
		e.Severity = rule.Error
	}
	return e
}

// queryText says what a finding is, and what fits as its cause.
func queryText(f *querylog.Finding) string {
	var text string
	switch f.Rule {
	case "HS501":
		text = fmt.Sprintf("%s together every %s (%d teeth so far)", count(uint64(math.Round(f.Comb.Height)), "queries", true), Span(f.Comb.Period), len(f.Teeth))
	case "HS502":
		text = fmt.Sprintf("up to %s of one statement at once", count(max(f.AtOnce, f.Second), "copies", false))
	case "HS503":
		text = fmt.Sprintf("every one of %s runs the same batch at one time", count(uint64(f.HostsATooth), "clients", false))
	case "HS504":
		text = fmt.Sprintf("one burst of %s", count(f.Count, "queries", false))
	case "HS505":
		text = fmt.Sprintf("a retry storm: %d waves, %s apart, %s in all; the clients retry in step", len(f.Teeth), Span(f.Spacing), count(f.Count, "queries", false))
	default:
		text = count(f.Count, "queries", false)
	}
	if f.Second > 0 {
		text += fmt.Sprintf("; busiest second %s", thousands(f.Second))
	}
	if len(f.Causes) > 0 {
		text += fmt.Sprintf("; fits %s best", f.Causes[0].Kind)
	}
	return text
}

// due foretells the next tooth of a comb, once for each.
func (q *queries) due(now time.Time, h *queryHerd, last time.Time, period time.Duration, f *querylog.Finding) (Event, bool) {
	if len(f.Teeth) < 3 || f.Comb == nil {
		return Event{}, false
	}
	next := last.Add(period)
	in := next.Sub(now)
	if in <= 0 || in > q.lead || in > period*9/10 || next.Sub(h.told).Abs() < period/2 {
		return Event{}, false
	}
	h.told = next
	e := h.event
	e.At, e.Stage, e.Tooth, e.Count = now, Due, next, uint64(math.Round(f.Comb.Height))
	e.Text = fmt.Sprintf("%s in %s, if it keeps its period of %s (%d teeth so far)", count(e.Count, "queries", true), Span(in), Span(period), len(f.Teeth))
	return e, true
}

// end closes the herds that have had no tooth for long enough.
func (q *queries) end(now time.Time) []Event {
	var out []Event
	for id, h := range q.going {
		if now.Sub(h.last) <= h.quiet {
			continue
		}
		e := h.event
		e.At, e.Stage = now, Ended
		e.Text = fmt.Sprintf("no tooth for %s; %s in all", Span(now.Sub(h.last)), count(h.event.Count, "queries", false))
		out = append(out, e)
		delete(q.going, id)
	}
	return out
}
