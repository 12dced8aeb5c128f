package comb

import (
	"math"
	"time"
)

// A BaseFit is a time to live that the remaining times of a group speak for.
type BaseFit struct {
	TTL    time.Duration // 0: none is sure enough
	Jitter Jitter        // the jitter that fits best
	Edge   bool          // concluded from the longest remaining time alone, without a fit of the shape
	Margin float64       // nats by which the fit is better than that of the next TTL
}

// fitFractions are the jitters that are tried.
var fitFractions = [...]float64{0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5}

const (
	edgeKeys    = 400  // keys, per unit of dispersion, from which the longest time alone decides
	edgeGaps    = 6    // mean gaps between keys that the TTL may be above the longest time
	fitKeys     = 40   // keys from which a shape is fitted
	fitSpan     = 0.4  // of the longest time that the middle 80 % of the keys must span
	fitMargin   = 2.0  // nats
	fitOutside  = 0.5  // of all keys that must lie outside bursts: fewer are the skirts of a tooth
	fitBins     = 2000 // points are joined to this many before the fit
	unlikelyGap = 1e-4
)

// FitBase concludes the time to live with which the keys outside bursts were
// written. Keys that are written steadily with a time to live T have remaining
// times spread evenly below T; with a random TTL' they have the density
// P(TTL' > r) / E TTL'. Only durations that people write are tried. bins, now
// and o are those of FindBursts, e its answer.
func FitBase(bins []ExpiryBin, now int64, o ExpiryOptions, e Expiry) BaseFit {
	if !e.Judged || e.Sliding > slidingNats {
		return BaseFit{}
	}
	p := newPoints(outside(bins, e.Bursts), now, o.withDefaults().Width.Seconds())
	if p.n < fitKeys || p.n < fitOutside*total(bins) {
		return BaseFit{}
	}
	if ttl, ok := p.edgeTTL(e.Dispersion); ok {
		return BaseFit{TTL: ttl, Edge: true}
	}
	if p.quantile(0.9)-p.quantile(0.1) < fitSpan*p.longest {
		return BaseFit{}
	}
	return p.join(fitBins).fit(e.Dispersion)
}

func total(bins []ExpiryBin) (n float64) {
	for _, b := range bins {
		n += float64(b.Count)
	}
	return n
}

// outside returns the bins that are in no burst.
func outside(bins []ExpiryBin, bursts []Burst) []ExpiryBin {
	if len(bursts) == 0 {
		return bins
	}
	rest := make([]ExpiryBin, 0, len(bins))
	for _, b := range bins {
		for len(bursts) > 0 && bursts[0].To < b.At {
			bursts = bursts[1:]
		}
		if len(bursts) == 0 || b.At < bursts[0].From {
			rest = append(rest, b)
		}
	}
	return rest
}

// edgeTTL returns the usual TTL just above the longest remaining time, if the
// gap between them is no longer than a few gaps between keys.
func (p *expiryPoints) edgeTTL(dispersion float64) (time.Duration, bool) {
	if p.n < edgeKeys*dispersion {
		return 0, false
	}
	slack := max(0.002, p.width)
	ttl := NextHuman(time.Duration((p.longest - slack) * float64(time.Second)))
	t := ttl.Seconds()
	if t == 0 || t-p.longest > edgeGaps*t*dispersion/p.n {
		return 0, false
	}
	return ttl, true
}

func (p *expiryPoints) quantile(q float64) float64 {
	want := q * p.n
	for i, t := range p.at {
		if p.sum[i+1] >= want {
			return t
		}
	}
	return p.longest
}

// join returns the points in at most n cells.
func (p *expiryPoints) join(n int) *expiryPoints {
	if len(p.at) <= n {
		return p
	}
	joined := &expiryPoints{width: p.longest / float64(n), longest: p.longest}
	for i, c := range p.cells(n) {
		if c > 0 {
			joined.at = append(joined.at, float64(i)*joined.width)
			joined.count = append(joined.count, c)
		}
	}
	joined.add()
	return joined
}

// fit compares all usual TTLs and jitters by likelihood.
func (p *expiryPoints) fit(dispersion float64) BaseFit {
	best, second := BaseFit{}, math.Inf(-1)
	bestLL := math.Inf(-1)
	top := p.longest - p.width
	for _, ttl := range HumanDurations() {
		t := ttl.Seconds()
		if t*1.55 < top || t > 3*top {
			continue
		}
		j, ll := p.fitJitter(ttl, dispersion)
		switch {
		case ll > bestLL:
			second, bestLL = bestLL, ll
			best = BaseFit{TTL: ttl, Jitter: j}
		case ll > second:
			second = ll
		}
	}
	best.Margin = bestLL - second
	if best.TTL == 0 || best.Margin < fitMargin || p.chanceOfGap(best, dispersion) < unlikelyGap {
		return BaseFit{}
	}
	return best
}

// fitJitter returns the jitter of a TTL that fits best and its likelihood in
// nats, less the price of its parameter.
func (p *expiryPoints) fitJitter(ttl time.Duration, dispersion float64) (best Jitter, bestLL float64) {
	bestLL = math.Inf(-1)
	for _, x := range fitFractions {
		for _, oneSided := range []bool{false, true} {
			if x == 0 && oneSided {
				continue
			}
			j := Jitter{Fraction: x, OneSided: oneSided}
			if ll := p.likelihood(ttl, j) / dispersion; ll > bestLL {
				best, bestLL = j, ll
			}
		}
	}
	return best, bestLL
}

// likelihood is that of remaining times below TTLs between lo and hi: even up
// to lo, then falling to 0 at hi.
func (p *expiryPoints) likelihood(ttl time.Duration, j Jitter) float64 {
	shortest, longest := j.Range(ttl)
	lo, hi := shortest.Seconds(), longest.Seconds()
	slack := max(0.002, p.width)
	if p.longest > hi+slack {
		return math.Inf(-1)
	}
	ll := -p.n * math.Log((lo+hi)/2)
	for i := len(p.at) - 1; i >= 0 && p.at[i] > lo && hi > lo; i-- {
		ll += p.count[i] * math.Log(max((hi-p.at[i])/(hi-lo), 1e-6))
	}
	if j.Fraction > 0 {
		ll -= 0.5*math.Log(p.n) + 1
	}
	return ll
}

// chanceOfGap is the probability that a fit leaves so long a time without keys
// above the longest one.
func (p *expiryPoints) chanceOfGap(f BaseFit, dispersion float64) float64 {
	shortest, longest := f.Jitter.Range(f.TTL)
	lo, hi := shortest.Seconds(), longest.Seconds()
	n := p.n / dispersion
	if f.Jitter.Fraction == 0 {
		return math.Exp(n * math.Log(min(1, p.longest/hi)))
	}
	room := hi - min(hi, max(p.longest, lo))
	share := room * room / ((hi - lo) * (lo + hi))
	return math.Exp(n * math.Log1p(-min(share, 0.999)))
}
