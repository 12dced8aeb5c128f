package comb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	alpha     = 0.01 // bound on the false-alarm probability of all series tested together
	needed    = 20   // events, fewer are too few to judge
	needSpan  = 20   // bins in the coverage, fewer are too few to judge
	maxCombs  = 8    // combs a series
	maxTrials = 12   // candidates verified for each of them

	harmEvents = 7.0 // a tooth this tall harms
	harmShare  = 0.5 // if it is at least so much of the background in its window
	slowTooth  = 60  // seconds; a tooth so wide must double the traffic
)

// detector is one call of Detect.
type detector struct {
	base      *grid // finest counts, accepted combs taken out
	origin    int64 // start of the grid: a bin of the series
	bin       int64 // width of that bin, ns
	shift     uint  // 2^shift of them make a bin of base
	total     float64
	threshold float64 // ln
	tried     float64
	zone      *time.Location
	trains    []*train
	memory    *workshop
}

// Detect finds the combs and one-off teeth of one series. It costs O(bins)
// and a bounded search over bursts; memory is linear in non-empty bins.
func Detect(s *Series, o Options) Result { return new(workshop).detect(s, o) }

func (m *workshop) detect(s *Series, o Options) Result {
	total := s.Total()
	if total < needed {
		return Result{Undecided: fmt.Sprintf("%d events: too few to judge, %d needed", total, needed), Need: needed}
	}
	d := m.detector(s, o)
	d.total = float64(total)
	if d.base.n < needSpan {
		return Result{Undecided: fmt.Sprintf("%.3g s of log: too short to judge, %.3g s needed", d.span(), needSpan*d.base.w)}
	}
	lvs := d.memory.levels(d.base)
	for len(d.trains) < maxCombs {
		t := d.strongest(lvs)
		if t == nil {
			break
		}
		d.remove(t)
		lvs = d.memory.levels(d.base)
	}
	return Result{Combs: d.combs(), Spikes: d.spikes(lvs)}
}

// detector returns one for a series; there is one at a time.
func (m *workshop) detector(s *Series, o Options) *detector {
	d := &detector{memory: m, base: &m.finest, bin: s.bin, tried: float64(max(o.Tried, 1)), zone: o.Zone}
	d.origin, d.shift = d.base.lay(s, o)
	d.threshold = math.Log(alpha / d.tried)
	return d
}

// span of the coverage in seconds.
func (d *detector) span() float64 { return float64(d.base.n) * d.base.w }

// strongest returns the most certain comb that passes verification, or nil.
func (d *detector) strongest(lvs []level) *train {
	cs := d.search(lvs)
	cs = cs[:min(len(cs), maxTrials)]
	for i, c := range cs {
		if k, ok := c.sparseClass(); ok && k.logB < d.threshold {
			if t := d.verify(k); t != nil {
				return t
			}
		}
		if t := d.verify(c); t != nil {
			return d.denser(t, cs[i+1:])
		}
	}
	return nil
}

// denser returns the comb of which t is only every second, third ... tooth,
// the tallest ones by chance, if one of the other chains is it; else t.
func (d *detector) denser(t *train, others []chain) *train {
	for _, c := range others {
		ratio := t.fit.b / c.seconds()
		m := math.Round(ratio)
		if m < 2 || m > maxDivisor || math.Abs(ratio-m) > 0.01*m {
			continue
		}
		if k := d.verify(c); k != nil && 2*k.seen > 3*t.seen && k.height > standsOut*t.height && k.covers(t) {
			return k
		}
	}
	return t
}

// covers reports whether most teeth of o lie on lines of t.
func (t *train) covers(o *train) bool {
	on := 0
	for _, x := range o.teeth {
		if t.lineAt(x.onset, t.chain.w) >= 0 {
			on++
		}
	}
	return 2*on > len(o.teeth)
}

const (
	periodsTried = 8 // candidate periods a list
	chainsKept   = 3 // chains a list
	longList     = 20_000
)

// search returns the chains below the threshold, most certain first.
func (d *detector) search(lvs []level) []chain {
	ls := lists(lvs)
	looks := math.Log(float64(len(ls) * len(tolerances)))
	var out []chain
	for _, l := range ls {
		n := float64(len(l.at))
		fixed := math.Log(n) + looks
		longest := l.longest(fixed + d.leastPrior(l.w) - d.threshold)
		var found []chain
		for _, p := range d.periods(l) {
			if p > longest {
				continue
			}
			need := fixed + logPrior(p*l.w, d.span(), l.w) - d.threshold
			c, score := d.memory.follower.follow(l, p, func(score float64) bool { return score < 0.5*need })
			if c.links == nil {
				continue
			}
			c.logB = fixed + logPrior(c.seconds(), d.span(), l.w) - score
			if c.logB < d.threshold {
				found = append(found, c)
			}
		}
		slices.SortStableFunc(found, byCertainty)
		out = append(out, found[:min(len(found), chainsKept)]...)
	}
	slices.SortStableFunc(out, byCertainty)
	return out
}

// leastPrior is the least that logPrior can be.
func (d *detector) leastPrior(w float64) float64 { return min(wallPrior(), otherPrior(d.span(), w)) }

func byCertainty(a, b chain) int { return cmp.Compare(a.logB, b.logB) }

// periods returns the candidate periods of a list, in bins.
func (d *detector) periods(l list) []float64 {
	top, shortest := periodsTried, 8.0
	if len(l.at) > longList {
		top = 5
	}
	if l.level == 0 {
		shortest = 4.6
	}
	ps := d.memory.lags.candidatePeriods(l.at, d.span()/l.w/1.9, top)
	return slices.DeleteFunc(ps, func(p float64) bool { return p < shortest })
}

// combs turns the accepted trains into the answer.
func (d *detector) combs() []Comb {
	ts := mergeTrains(d.trains)
	slices.SortStableFunc(ts, func(a, b *train) int { return cmp.Compare(a.logB, b.logB) })
	var out []Comb
	for _, t := range ts {
		out = append(out, d.comb(t))
	}
	return out
}

func (d *detector) comb(t *train) Comb {
	c := Comb{
		Period: toDuration(t.fit.b), PeriodErr: toDuration(t.fit.err), DriftErr: toDuration(t.fit.err),
		Width: max(toDuration(t.width), toDuration(d.base.w)), Anchor: d.time(t.anchor()), Lock: t.lock,
		Drift:   toDuration(t.fit.b - nearestWall(t.fit.b)),
		Missing: len(t.lines) - t.seen,
		Share:   min(t.inside/max(d.total, 1), 1), Height: t.height, Baseline: t.base,
		LogP: min((t.logB+math.Log(d.tried))/math.Ln10, 0),
		Harm: t.harms(),
	}
	for _, x := range t.teeth {
		c.Teeth = append(c.Teeth, d.tooth(x))
		c.Peak = max(c.Peak, whole(x.peak))
	}
	c.PeakToBase = min(float64(c.Peak)/max(c.Baseline, 1e-9), 1e6)
	return c
}

// harms is the gate of magnitude: a comb of single events is periodic and hurts nobody.
func (t *train) harms() bool {
	background := t.base * t.width
	height, share := min(t.height, t.count-background), harmShare
	if t.width >= slowTooth {
		share = 1
	}
	return height >= harmEvents && height >= share*background
}

// anchor is the first tooth on the fitted line.
func (t *train) anchor() float64 { return t.fit.a + t.fit.b*float64(t.lines[0].index) }

func (d *detector) tooth(x toothSeen) Tooth {
	return Tooth{At: d.time(x.onset), Width: toDuration(x.end - x.onset), Count: whole(x.count)}
}

// whole rounds a count that has been through float64.
func whole(c float64) uint64 {
	if c >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(math.Round(max(c, 0)))
}

// time turns seconds from the origin into a time. Whole bins are exact.
func (d *detector) time(at float64) time.Time {
	bins := math.Floor(at/d.base.w + 1e-9)
	rest := at - bins*d.base.w
	start := time.Unix(0, 0).UTC()
	x := d.origin + int64(bins)<<d.shift
	perSec := x / int64(time.Second) * d.bin // keeps far times from overflowing
	start = start.Add(time.Duration(perSec) * time.Second).Add(time.Duration(x%int64(time.Second)*d.bin) * time.Nanosecond)
	return start.Add(toDuration(max(rest, 0)))
}

// toDuration turns seconds into a Duration.
func toDuration(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// mergeTrains joins the pieces of one comb: the same period, and one after the
// other in time (an outage, a clock change) or at the same phase.
func mergeTrains(ts []*train) []*train {
	var out []*train
	for _, t := range ts {
		joined := false
		for _, a := range out {
			if a.sameAs(t) {
				a.join(t)
				joined = true
				break
			}
		}
		if !joined {
			out = append(out, t)
		}
	}
	return out
}

func (t *train) sameAs(o *train) bool {
	p, off := t.fit.b, math.Abs(t.fit.b-o.fit.b)
	if off > max(0.004*p, 3*(t.fit.err+o.fit.err)) && (off >= 0.02*p || o.seen >= 6) {
		return false
	}
	phase := math.Abs(math.Remainder(o.teeth[0].onset-t.teeth[0].onset, p))
	return t.apart(o) || phase < max(0.01*p, 1.5*t.width)
}

// apart reports whether one train ends before the other begins.
func (t *train) apart(o *train) bool {
	end := func(t *train) float64 { return t.teeth[len(t.teeth)-1].onset }
	return o.teeth[0].onset > end(t) || end(o) < t.teeth[0].onset
}

// join adds the teeth of o.
func (t *train) join(o *train) {
	if t.apart(o) {
		t.seen += o.seen
		t.lines = append(t.lines, o.lines...)
		t.inside += o.inside
		slices.SortFunc(t.lines, func(a, b toothLine) int { return cmp.Compare(a.at, b.at) })
	}
	t.teeth = append(t.teeth, o.teeth...)
	slices.SortFunc(t.teeth, func(a, b toothSeen) int { return cmp.Compare(a.onset, b.onset) })
}
