package querylog

import (
	"math"
	"slices"

	"github.com/herdscan/herdscan/comb"
)

// findRate finds out how many statements one logged statement stands for.
// Sources that were sampled at different rates are counted together, so then
// nothing can be scaled.
func (a *analyser) findRate() {
	a.rate = max(a.o.SampleRate, 1)
	first := true
	for i := range a.out.Coverage {
		v := &a.out.Coverage[i]
		switch r := a.rateOf(v); {
		case v.Read == 0:
		case first:
			a.rate, first = r, false
		case r != a.rate:
			a.out.MixedRates = true
		}
	}
	if a.out.MixedRates {
		a.rate = 1
	}
	a.out.SampleRate = a.rate
}

// rateOf returns the rate at which a source was sampled, at least 1: what the
// log says, else what the caller says.
func (a *analyser) rateOf(v *Coverage) float64 {
	if v.SampleRate > 0 {
		return float64(v.SampleRate)
	}
	return max(a.o.SampleRate, 1)
}

// times returns how many statements n logged ones stand for.
func (a *analyser) times(n uint64) uint64 {
	if a.rate == 1 {
		return n
	}
	return uint64(math.Round(float64(n) * a.rate))
}

// scale turns the counts of a finding, which are those of the log, into
// estimates of what ran. Numbers of clients, connections, teeth and texts stay:
// they are lower bounds. Of n statements each was logged with probability
// 1/rate, so the standard error of the estimate is sqrt(n * (rate - 1)).
func (a *analyser) scale(f *Finding) {
	if a.rate == 1 {
		return
	}
	for _, n := range []*uint64{&f.Count, &f.Of, &f.AtOnce, &f.Second} {
		*n = a.times(*n)
	}
	f.Avoidable = a.times(f.Avoidable)
	f.Rate *= a.rate
	f.Error = uint64(math.Ceil(math.Sqrt(float64(f.Count) * (a.rate - 1))))
	for i := range f.Members {
		m := &f.Members[i]
		m.Count, m.Total = a.times(m.Count), a.times(m.Total)
	}
	for i := range f.Hosts {
		f.Hosts[i].Count = a.times(f.Hosts[i].Count)
	}
	f.Bursts = slices.Clone(f.Bursts)
	for i := range f.Bursts {
		b := &f.Bursts[i]
		b.Count, b.Peak, b.Second = a.times(b.Count), a.times(b.Peak), a.times(b.Second)
	}
	f.Teeth = slices.Clone(f.Teeth)
	for i := range f.Teeth {
		f.Teeth[i].Count = a.times(f.Teeth[i].Count)
	}
}

// scaleHerd scales the finding of a herd and its comb.
func (a *analyser) scaleHerd(h *herd) {
	if a.rate == 1 {
		return
	}
	a.scale(&h.f)
	h.comb.Teeth = h.f.Teeth
	h.comb.Peak = a.times(h.comb.Peak)
	h.comb.Height *= a.rate
	h.comb.Baseline *= a.rate
}

// harms says whether the teeth of a scaled comb are large enough to warn.
func (a *analyser) harms(c comb.Comb) bool {
	const events, share = 7, 0.5 // as the detector decides about what was logged
	return c.Harm || a.rate > 1 && c.Height >= events && c.Height >= share*c.Baseline*c.Width.Seconds()
}
