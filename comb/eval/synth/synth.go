// Package synth makes event times on which a herd detector can be tried: four
// kinds of traffic without a herd, and teeth to put on top of it. Everything is
// drawn from the generator given, so one seed gives one series.
package synth

import (
	"math"
	"math/rand/v2"
)

// Rand returns the generator of one seed.
func Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }

// Poisson draws events at a constant rate, events a second, over span seconds.
func Poisson(r *rand.Rand, span, rate float64) []float64 {
	return thinned(r, span, rate, func(float64) float64 { return 1 })
}

// Diurnal draws events whose rate follows the day, from peak at noon down to
// (1-depth) of it at midnight; 0 <= depth <= 1.
func Diurnal(r *rand.Rand, span, peak, depth float64) []float64 {
	return thinned(r, span, peak, func(t float64) float64 {
		return 1 - depth*(1+math.Cos(2*math.Pi*t/86400))/2
	})
}

// thinned draws a Poisson process of rate peak*f(t) with f in 0..1 (Lewis and Shedler 1979).
func thinned(r *rand.Rand, span, peak float64, f func(float64) float64) []float64 {
	var out []float64
	for t := r.ExpFloat64() / peak; t < span; t += r.ExpFloat64() / peak {
		if r.Float64() < f(t) {
			out = append(out, t)
		}
	}
	return out
}

// Hawkes draws a self-exciting process: each event causes on average branching
// (< 1) others, exponentially distributed with mean delay seconds after it.
func Hawkes(r *rand.Rand, span, rate, branching, delay float64) []float64 {
	out := Poisson(r, span, rate)
	for i := 0; i < len(out); i++ {
		for p := r.ExpFloat64(); p < branching; p += r.ExpFloat64() {
			if t := out[i] + delay*r.ExpFloat64(); t < span {
				out = append(out, t)
			}
		}
	}
	return out
}

// Batches draws bursts at a rate, each of a geometric number of events with
// the given mean, spread over up to spread seconds: an N+1 query pattern.
func Batches(r *rand.Rand, span, rate, mean, spread float64) []float64 {
	var out []float64
	for _, t := range Poisson(r, span, rate) {
		for n := 1 + int(mean*r.ExpFloat64()); n > 0; n-- {
			out = append(out, t+spread*r.Float64())
		}
	}
	return out
}

// Teeth draws a comb: events in each tooth, uniform over width seconds, from
// first on each period, as long as it lasts; walk is the standard deviation of
// a random walk of the phase, seconds a period.
func Teeth(r *rand.Rand, span, first, period, width float64, events int, walk float64) []float64 {
	var out []float64
	for t := first; t < span; t += period + walk*r.NormFloat64() {
		for range events {
			out = append(out, t+width*r.Float64())
		}
	}
	return out
}
