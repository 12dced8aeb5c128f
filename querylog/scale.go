package querylog

import (
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// factor says what logged statements stand for.
type factor struct {
	rate   float64 // statements that ran, for each one logged
	spread float64 // variance of that estimate, for each one logged
}

// all is the factor where every statement was logged.
var all = factor{rate: 1}

// uniform is the factor where each statement was logged with probability 1/rate.
func uniform(rate float64) factor { return factor{rate, rate * (rate - 1)} }

// findRate finds out how many statements one logged statement stands for: as
// the caller says, or as each record did. What a rate of one time or source
// says of others is nothing, so counts are scaled by the rate of their own.
func (a *analyser) findRate() {
	a.sampledAt = map[*class]map[int64]uint64{}
	a.out.SampleRate = 1
	if a.o.SampleRate > 1 {
		a.scaled, a.out.SampleRate = true, a.o.SampleRate
		return
	}
	if a.o.SampleRate == 1 {
		return // the caller knows that all were logged
	}
	var n, extra uint64
	for _, c := range a.classes {
		n += c.n
		for _, x := range c.weights.bins {
			extra += x.extra
		}
	}
	if extra == 0 {
		return
	}
	a.scaled = true
	a.out.SampleRate = 1 + float64(extra)/float64(max(n, 1))
	a.out.MixedRates = a.mixed()
}

// mixed says whether statements weigh differently.
func (a *analyser) mixed() bool {
	rates := map[uint64]bool{}
	for i := range a.out.Coverage {
		v := &a.out.Coverage[i]
		var n uint64
		for _, r := range v.Rates {
			rates[r.Rate] = true
			n += r.Count
		}
		if n < v.Counted {
			rates[1] = true
		}
	}
	return len(rates) > 1
}

// factorAt returns the factor of classes at a time: that of the bin of their
// weights in which it falls.
func (a *analyser) factorAt(classes []*class, t time.Time) factor {
	if a.o.SampleRate > 0 {
		return uniform(math.Max(a.o.SampleRate, 1))
	}
	var n, extra, spread uint64
	for _, c := range classes {
		w := &c.weights
		if len(w.bins) == 0 {
			n += count(c.in(window{t.UnixNano() - narrowWeights/2, t.UnixNano() + narrowWeights/2}))
			continue
		}
		bin := t.UnixNano() / w.width
		x := w.bins[bin]
		n += max(a.logged(c)[bin], x.n)
		extra, spread = extra+x.extra, spread+x.spread
	}
	return factorOf(n, extra, spread)
}

// factorOfAll returns the factor of classes over the whole log.
func (a *analyser) factorOfAll(classes []*class) factor {
	if a.o.SampleRate > 0 {
		return uniform(math.Max(a.o.SampleRate, 1))
	}
	var n, extra, spread uint64
	for _, c := range classes {
		n += c.n
		for _, x := range c.weights.bins {
			extra, spread = extra+x.extra, spread+x.spread
		}
	}
	return factorOf(n, extra, spread)
}

func factorOf(n, extra, spread uint64) factor {
	if n == 0 {
		return all
	}
	return factor{1 + float64(extra)/float64(n), float64(spread) / float64(n)}
}

// logged counts the statements of a class in the bins of its weights.
func (a *analyser) logged(c *class) map[int64]uint64 {
	bins, ok := a.sampledAt[c]
	if !ok {
		bins = map[int64]uint64{}
		for x := range c.starts.all() {
			bins[x.at()/c.weights.width] += x.n()
		}
		a.sampledAt[c] = bins
	}
	return bins
}

// times returns how many statements n logged ones of a class stand for at a time.
func (a *analyser) times(n uint64, c *class, t time.Time) uint64 {
	if !a.scaled {
		return n
	}
	return a.factorAt([]*class{c}, t).times(n)
}

func (f factor) times(n uint64) uint64 { return uint64(math.Round(float64(n) * f.rate)) }

// over returns the factor of a finding: the mean of its teeth, by their counts.
func (a *analyser) over(classes []*class, teeth []comb.Tooth) (whole, largest factor) {
	var n float64
	var top uint64
	largest = all
	for _, t := range teeth {
		x, k := a.factorAt(classes, t.At), float64(t.Count)
		n += k
		whole.rate += k * x.rate
		whole.spread += k * x.spread
		if t.Count > top {
			top, largest = t.Count, x
		}
	}
	if n == 0 {
		whole = a.factorOfAll(classes)
		return whole, whole
	}
	return factor{whole.rate / n, whole.spread / n}, largest
}

// scale turns the counts of a finding, which are those of the log, into
// estimates of what ran. Numbers of clients, connections, teeth and texts stay:
// they are lower bounds. A statement that was logged with probability 1/w
// stands for w, so the variance of the estimate is the sum of w(w-1) over the
// logged ones (Horvitz and Thompson 1952); where all weigh w, its root is
// sqrt(n(w-1)) for an estimate of n.
func (a *analyser) scale(f *Finding) {
	if !a.scaled {
		return
	}
	var classes []*class
	for _, m := range f.Members {
		if c := a.s.classes[m.Hash]; c != nil && (!m.Follower || len(f.Members) == 1) {
			classes = append(classes, c)
		}
	}
	whole, largest := a.over(classes, f.Teeth)
	f.Error = uint64(math.Ceil(math.Sqrt(float64(f.Count) * whole.spread)))
	f.Count, f.Avoidable = whole.times(f.Count), whole.times(f.Avoidable)
	f.Of = a.factorOfAll(classes).times(f.Of)
	f.AtOnce, f.Second = largest.times(f.AtOnce), largest.times(f.Second)
	f.Rate *= whole.rate
	for i := range f.Members {
		m := &f.Members[i]
		own := []*class{a.s.classes[m.Hash]}
		if own[0] == nil {
			continue
		}
		x, _ := a.over(own, f.Teeth)
		m.Count, m.Total = x.times(m.Count), a.factorOfAll(own).times(m.Total)
	}
	for i := range f.Hosts {
		f.Hosts[i].Count = whole.times(f.Hosts[i].Count)
	}
	f.Bursts = slices.Clone(f.Bursts)
	for i := range f.Bursts {
		b := &f.Bursts[i]
		x := a.factorAt(classes, b.Start)
		b.Count, b.Peak, b.Second = x.times(b.Count), x.times(b.Peak), x.times(b.Second)
	}
	f.Teeth = slices.Clone(f.Teeth)
	for i := range f.Teeth {
		f.Teeth[i].Count = a.factorAt(classes, f.Teeth[i].At).times(f.Teeth[i].Count)
	}
}

// scaleHerd scales the finding of a herd and its comb.
func (a *analyser) scaleHerd(h *herd) {
	if !a.scaled {
		return
	}
	whole, largest := a.over(h.classes, h.f.Teeth)
	logged := medianCount(h.f.Teeth)
	a.scale(&h.f)
	h.comb.Teeth = h.f.Teeth
	h.comb.Peak = largest.times(h.comb.Peak)
	if h.comb.Baseline *= whole.rate; logged > 0 {
		h.comb.Height *= medianCount(h.f.Teeth) / logged
	}
}

// medianCount returns the statements of the median tooth, 0 for none.
func medianCount(teeth []comb.Tooth) float64 {
	if len(teeth) == 0 {
		return 0
	}
	counts := make([]uint64, len(teeth))
	for i, t := range teeth {
		counts[i] = t.Count
	}
	slices.Sort(counts)
	return float64(counts[len(counts)/2])
}

// harms says whether the teeth of a scaled comb are large enough to warn.
func (a *analyser) harms(c comb.Comb) bool {
	const events, share = 7, 0.5 // as the detector decides about what was logged
	return c.Harm || a.scaled && c.Height >= events && c.Height >= share*c.Baseline*c.Width.Seconds()
}
