package comb

import (
	"math"
	"time"
)

// An Effect is what a remedy does to the busiest second.
type Effect struct {
	PeakBefore float64 // busiest second now, in Unit
	PeakAfter  float64 // busiest second with the remedy, in Unit
	Unit       string  // "keys/s" or "queries/s"
}

// A Wave is a number of keys that expire together, once a TTL.
type Wave struct {
	Keys  float64       // keys in the tooth
	Width time.Duration // from its first to its last expiry
	TTL   time.Duration // the one time to live that its keys are written with
}

// A Jitter is a random part of a time to live. The zero value is no jitter.
type Jitter struct {
	Fraction float64 // x of TTL x (1 ± x), or of TTL x (1 .. 1+x) if OneSided
	OneSided bool    // the random part is only ever added
}

// width returns the full width of the jittered times to live.
func (j Jitter) width(ttl time.Duration) float64 {
	if j.OneSided {
		return j.Fraction * ttl.Seconds()
	}
	return 2 * j.Fraction * ttl.Seconds()
}

// Range returns the shortest and the longest time to live that the jitter
// makes of ttl.
func (j Jitter) Range(ttl time.Duration) (shortest, longest time.Duration) {
	up := time.Duration(float64(ttl) * j.Fraction)
	if j.OneSided {
		return ttl, ttl + up
	}
	return ttl - up, ttl + up
}

// generationWidths are the equivalent widths (1 over the peak density) of the
// sum of g independent uniform variables of width 1, by g.
var generationWidths = [...]float64{1, 1, 1, 4.0 / 3, 3.0 / 2, 192.0 / 115, 20.0 / 11}

// MeanPeak returns the mean rate, in keys per second, at the top of the wave
// in its generation g: 0 is the wave as it stands, 1 the first expiry of keys
// that were written with jitter j, and so on. It is never below the rate of a
// perfect spread, Keys / TTL.
//
// Generation 2 is as high as generation 1: jitter helps within one time to
// live or not at all.
func (w Wave) MeanPeak(j Jitter, generation int) float64 {
	width := w.Width.Seconds()
	spread := w.spread(j.width(w.TTL), generation)
	if j.Fraction == 0 || generation == 0 {
		spread = width
	}
	peak := w.Keys / math.Max(spread, 1)
	if ttl := w.TTL.Seconds(); ttl > 0 {
		peak = math.Max(peak, w.Keys/math.Max(ttl, 1))
	}
	return peak
}

// spread returns the equivalent width, in seconds, of the wave in a
// generation when each rewrite adds a uniform time of width c.
func (w Wave) spread(c float64, generation int) float64 {
	width := w.Width.Seconds()
	if generation <= 1 {
		return math.Max(c, width)
	}
	k := math.Sqrt(math.Pi * float64(generation) / 6)
	if generation < len(generationWidths) {
		k = generationWidths[generation]
	}
	spread := math.Max(k*c, width)
	if width > 0.3*c { // the first width adds in quadrature
		spread = math.Hypot(spread, math.Sqrt(0.52)*width)
	}
	return spread
}

// BusiestSecond returns the expected number of keys in the busiest second of
// the wave in a generation (see MeanPeak). A maximum over many seconds is
// above their mean; the excess follows the extreme values of the Poisson
// distribution.
func (w Wave) BusiestSecond(j Jitter, generation int) float64 {
	mean := w.MeanPeak(j, generation)
	return math.Min(w.Keys, busiest(mean, w.Keys/math.Max(mean, 1e-9)))
}

// busiest returns the expected maximum of about n Poisson counts of a mean.
func busiest(mean, n float64) float64 {
	z := extreme(n)
	return mean + z*math.Sqrt(mean) + z*z/6
}

// extreme returns the normal quantile that the maximum of n values reaches.
func extreme(n float64) float64 {
	return math.Sqrt(2 * math.Log(math.Max(2, n)))
}

// Predict returns what jitter j does to the busiest second of a wave in a
// generation (1 is the first expiry after the change). PeakBefore is the
// wave's own expected busiest second; set it to the measured one if it is
// known.
func Predict(w Wave, j Jitter, generation int) Effect {
	return Effect{
		PeakBefore: w.BusiestSecond(Jitter{}, 0),
		PeakAfter:  w.BusiestSecond(j, generation),
		Unit:       "keys/s",
	}
}

// SmallestJitter returns the smallest jitter that keeps the busiest second of
// the wave's next generation at or below target keys per second. ok is false
// if no jitter can: the fraction would be above 50 % (100 % if oneSided), or
// even a perfect spread over the TTL is above the target. Then a longer TTL,
// coalescing or serving stale values is needed.
func SmallestJitter(w Wave, target float64, oneSided bool) (j Jitter, ok bool) {
	if target <= 0 || w.TTL <= 0 {
		return Jitter{OneSided: oneSided}, false
	}
	need := w.neededSpread(target)
	j = Jitter{OneSided: oneSided}
	if w.Width.Seconds() >= need {
		return j, true
	}
	j.Fraction = need / w.TTL.Seconds()
	limit := 1.0
	if !oneSided {
		j.Fraction /= 2
		limit = 0.5
	}
	return j, j.Fraction <= limit && w.BusiestSecond(j, 1) <= target*1.05
}

// neededSpread inverts BusiestSecond by fixed point: the width in seconds at
// which the busiest second holds target keys.
func (w Wave) neededSpread(target float64) float64 {
	spread := w.Keys / target
	for range 8 {
		z := extreme(spread)
		room := target - z*z/6
		if room <= 0 {
			room = target / 5
		}
		root := math.Sqrt(room+z*z/4) - z/2
		spread = w.Keys / math.Max(root*root, 1e-9)
	}
	return spread
}
