package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/ttlhist"
)

// Bounds of a picture: the steps of a lane and of a fold, the suspects that are
// drawn, and the fires of one schedule.
const (
	maxLaneSteps = 4000
	foldSteps    = 180
	maxDrawn     = 3
	maxFires     = 5000
)

// timeline is the whole run: all statements, all expiries, what was told.
func (r *Incident) timeline() *Timeline {
	from, to := r.span()
	t := &Timeline{From: from.UTC(), To: to.UTC(), Lanes: []Lane{}}
	if from.IsZero() || !to.After(from) {
		return t
	}
	step := laneStep(to.Sub(from))
	if r.Queries != nil && r.Queries.Analysis.Statements > 0 {
		t.Lanes = append(t.Lanes, seriesLane("all statements", "queries", "queries/s", r.Queries.Summary.Starts(), from, to, step))
	}
	if n := len(r.Keys); n > 0 {
		total := &r.Keys[n-1].Analysis.Total
		t.Lanes = append(t.Lanes, expiryLane("all keys", total, from, to, step))
	}
	t.Lanes = append(t.Lanes, r.eventLanes(from, to)...)
	return t
}

// span is from the first to the last thing that any source saw or foresees.
func (r *Incident) span() (from, to time.Time) {
	widen := func(a, b time.Time) {
		if !a.IsZero() && (from.IsZero() || a.Before(from)) {
			from = a
		}
		if b.After(to) {
			to = b
		}
	}
	if r.Queries != nil {
		widen(r.Queries.Analysis.From, r.Queries.Analysis.To)
	}
	if n := len(r.Keys); n > 0 {
		a := r.Keys[n-1].Analysis
		end := a.Snapshot
		for i := range a.Findings {
			if h := a.Findings[i].Herd; h != nil && len(h.Teeth) > 0 {
				end = later(end, h.Teeth[len(h.Teeth)-1].To)
			}
		}
		widen(a.Snapshot, end)
	}
	for _, e := range r.Events {
		widen(e.At, e.At)
	}
	return from.Truncate(time.Second), to.Add(time.Second)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// laneStep is the shortest step, of whole seconds, that keeps a lane small.
func laneStep(span time.Duration) time.Duration {
	return time.Second * time.Duration(max(1, math.Ceil(span.Seconds()/maxLaneSteps)))
}

// seriesLane draws counts: of each step the busiest second.
func seriesLane(name, kind, unit string, s *comb.Series, from, to time.Time, step time.Duration) Lane {
	l := Lane{Name: Clean(name), Kind: kind, Unit: unit, StepNS: int64(step), At: []int64{}, N: []float64{}}
	seconds := comb.NewSeries(time.Second)
	for b := range s.Bins() {
		seconds.Add(b.At, b.N)
	}
	wide := max(s.BinWidth().Seconds(), 1)
	for b := range seconds.Bins() {
		if at := time.Unix(0, b.At); !at.Before(from.Truncate(time.Second)) && at.Before(to) {
			l.point((b.At-from.UnixNano())/int64(step), float64(b.N)/wide)
		}
	}
	return l
}

// point adds a value to its step; steps come in order, and the largest value counts.
func (l *Lane) point(at int64, n float64) {
	at = max(at, 0)
	if k := len(l.At); k > 0 && l.At[k-1] == at {
		l.N[k-1] = max(l.N[k-1], n)
		return
	}
	l.At, l.N = append(l.At, at), append(l.N, n)
}

func expiryLane(name string, g *ttlhist.Group, from, to time.Time, step time.Duration) Lane {
	l := Lane{Name: Clean(name), Kind: "expiries", Unit: "keys/s", StepNS: int64(step), At: []int64{}, N: []float64{}}
	for _, w := range busySeconds(g) {
		if at := time.UnixMilli(w.at); !at.Before(from) && at.Before(to) {
			l.point(int64(at.Sub(from)/step), w.keys)
		}
	}
	return l
}

// eventLanes has what the user told.
func (r *Incident) eventLanes(from, to time.Time) []Lane {
	l := Lane{Name: "events", Kind: "events", Unit: "events", StepNS: int64(time.Second)}
	for _, e := range r.Events {
		if !e.At.Before(from) && !e.At.After(to) {
			l.At, l.N = append(l.At, int64(e.At.Sub(from)/time.Second)), append(l.N, 1)
			l.Text = append(l.Text, string(e.Kind))
		}
	}
	if len(l.At) == 0 {
		return nil
	}
	return []Lane{l}
}

// A strand is one row of a picture, before it is laid on an axis.
type strand struct {
	name, kind, unit string
	series           *comb.Series
}

// picture draws a comb of the log and its suspects on one axis, and one period
// of it.
func (r *Incident) picture(f *querylog.Finding, v *attribute.Verdict) (*Timeline, *Fold) {
	from, to := r.span()
	if len(f.Teeth) == 0 || !to.After(from) {
		return nil, nil
	}
	strands := r.strands(f, v, from, to)
	t := &Timeline{From: from.UTC(), To: to.UTC()}
	step := laneStep(to.Sub(from))
	for _, s := range strands {
		t.Lanes = append(t.Lanes, seriesLane(s.name, s.kind, s.unit, s.series, from, to, step))
	}
	t.Lanes = append(t.Lanes, r.eventLanes(from, to)...)
	if f.Comb == nil || len(f.Comb.Teeth) < 2 {
		return t, nil
	}
	return t, fold(f.Comb, strands)
}

// strands are the statements of a herd and the best suspects that have times.
func (r *Incident) strands(f *querylog.Finding, v *attribute.Verdict, from, to time.Time) []strand {
	var hashes []uint64
	for _, m := range f.Members {
		if !m.Follower {
			hashes = append(hashes, m.Hash)
		}
	}
	out := []strand{{cut(f.Subject, rowWidth), "queries", "queries/s", r.Queries.Summary.Starts(hashes...)}}
	for _, s := range slices.Concat(v.Suspects, v.Cleared) {
		if len(out) > maxDrawn {
			break
		}
		switch {
		case s.Cache >= 0 && s.Cache < len(r.Keys) && len(s.Patterns) > 0:
			if series := r.expiries(&s); series.Total() > 0 {
				out = append(out, strand{s.Name, "expiries", "keys/s", series})
			}
		case len(s.Entries) > 0:
			if series := r.fires(s.Entries, from, to); series.Total() > 0 {
				out = append(out, strand{s.Name, "fires", "starts", series})
			}
		}
	}
	return out
}

// expiries are the deadlines of the keys of a suspect, as the look at the cache
// saw them.
func (r *Incident) expiries(s *attribute.Suspect) *comb.Series {
	series := comb.NewSeries(time.Second)
	for i := range r.Keys[s.Cache].Analysis.Groups {
		if g := &r.Keys[s.Cache].Analysis.Groups[i]; slices.Contains(s.Patterns, g.Pattern) {
			for _, b := range g.Expiries() {
				series.Add(time.UnixMilli(b.At).UnixNano(), uint64(b.Count))
			}
		}
	}
	return series
}

// fires are the starts of schedules within a span.
func (r *Incident) fires(entries []*cronlint.Entry, from, to time.Time) *comb.Series {
	series := comb.NewSeries(time.Second)
	n := 0
	for _, e := range entries {
		if e.Schedule == nil || e.Disabled {
			continue
		}
		zone := e.Zone
		if zone == nil {
			zone = r.Zone
		}
		for at := e.Schedule.Next(from.Add(-time.Second).In(zone)); !at.IsZero() && at.Before(to) && n < maxFires; at = e.Schedule.Next(at) {
			series.Add(at.UnixNano(), 1)
			n++
		}
	}
	return series
}

// fold lays the periods on each other, the teeth in the middle.
func fold(c *comb.Comb, strands []strand) *Fold {
	bin := strands[0].series.BinWidth()
	step := max(c.Period/foldSteps, bin)
	n := int(c.Period / step)
	if n < 8 {
		return nil
	}
	out := &Fold{PeriodNS: int64(c.Period), StepNS: int64(step)}
	first, last := c.Teeth[0].At, c.Teeth[len(c.Teeth)-1].At
	periods := float64(len(c.Teeth) + c.Missing)
	for _, s := range strands {
		l := FoldLane{Name: Clean(s.name), Kind: s.kind, Unit: s.unit + " a period", N: make([]float64, n)}
		seen := periods
		if s.kind == "expiries" {
			seen = 1 // one look shows one period or a few
		}
		for b := range s.series.Bins() {
			at := time.Unix(0, b.At)
			if s.kind == "queries" && (at.Before(first.Add(-c.Period/2)) || at.After(last.Add(c.Period/2))) {
				continue
			}
			phase := math.Mod(at.Sub(nearest(c, at)).Seconds()/c.Period.Seconds()+1.5, 1)
			l.N[min(int(phase*float64(n)), n-1)] += float64(b.N) / seen
		}
		out.Lanes = append(out.Lanes, l)
	}
	return out
}

// nearest is the onset of the tooth that is nearest to a time; beyond the ends
// of the comb the fitted line goes on.
func nearest(c *comb.Comb, at time.Time) time.Time {
	ts := c.Teeth
	i, _ := slices.BinarySearchFunc(ts, at, func(t comb.Tooth, at time.Time) int { return t.At.Compare(at) })
	best := ts[min(i, len(ts)-1)].At
	if i > 0 && at.Sub(ts[i-1].At) < best.Sub(at).Abs() {
		best = ts[i-1].At
	}
	off := at.Sub(best)
	return best.Add(time.Duration(math.Round(off.Seconds()/c.Period.Seconds())) * c.Period)
}

// chain is what happens around a tooth, in the order of time: the herd and the
// suspect that fits best, or the two that fit equally well.
func (r *Incident) chain(f *querylog.Finding, v *attribute.Verdict) []Link {
	if f.Comb == nil {
		return nil
	}
	links := []Link{{0, cut(Clean(f.Subject), rowWidth), fmt.Sprintf("%s in %s", Count(uint64(math.Round(f.Comb.Height)), "queries"), Dur(f.Comb.Width))}}
	best := 1
	if v.Tied {
		best = 2
	}
	for i := range v.Suspects[:min(best, len(v.Suspects))] {
		s := &v.Suspects[i]
		switch {
		case s.Name == "" || s.LogAlone:
		case len(s.Entries) > 0:
			links = append(links, Link{-int64(s.Delta), Clean(s.Name), "starts " + Clean(s.Entries[0].Raw)})
		case s.Cache >= 0 && s.TTL > 0:
			links = append(links, Link{0, Clean(s.Name), r.dying(s)})
		}
	}
	if len(links) < 2 {
		return nil
	}
	slices.SortStableFunc(links, func(a, b Link) int { return int(min(max(a.OffsetNS-b.OffsetNS, -1), 1)) })
	return links
}

// dying says how many keys of a suspect expire together.
func (r *Incident) dying(s *attribute.Suspect) string {
	text := fmt.Sprintf("keys with TTL %s s expire", Seconds(s.TTL))
	for i := range r.Keys[s.Cache].Analysis.Findings {
		f := &r.Keys[s.Cache].Analysis.Findings[i]
		if f.Herd != nil && f.Subject == s.Name {
			return fmt.Sprintf("%s of %s within %s", Count(f.Herd.Largest.Keys, "keys"), "TTL "+Seconds(s.TTL)+" s expire", Dur(width(f.Herd.Largest)))
		}
	}
	return text
}
