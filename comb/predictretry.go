package comb

import (
	"math"
	"time"
)

// A RetryWave is a number of clients whose attempts failed at one moment.
type RetryWave struct {
	Clients float64
	Pause   time.Duration // the pause before the first retry, or the bound of it with full jitter
	Cap     time.Duration // the longest bound of a pause; 0: it doubles for ever
}

// ramp is the density of attempts at the end of the first bound, in clients per
// bound, when every attempt fails: each attempt k is the sum of k uniform times,
// of which the bounds are c(1) = 1, c(2) .. c(k), so that its density there is
// 1 / ((k-1)! c(1) .. c(k)).
func (w RetryWave) ramp() float64 {
	sum, term, bound := 1.0, 1.0, 1.0
	for k := 1.0; k < 20; k++ {
		bound *= 2
		if w.Cap > 0 {
			bound = math.Min(bound, math.Max(w.Cap.Seconds()/math.Max(w.Pause.Seconds(), 1), 1))
		}
		term /= k * bound
		sum += term
	}
	return sum
}

// FullJitter returns the expected busiest second when each client waits a
// random time up to a bound that doubles from attempt to attempt (Brooker,
// "Exponential Backoff And Jitter", 2015) and every attempt fails. Once the
// source answers it is lower. Pauses below 1 s spread nothing over seconds.
func (w RetryWave) FullJitter() float64 {
	bound, ramp := math.Max(w.Pause.Seconds(), 1), w.ramp()
	slope := (ramp - 1) / 2 // over the last second of the bound, about
	density := w.Clients * (ramp - slope/bound) / bound
	if w.Cap > 0 {
		density = math.Max(density, 2*w.Clients/math.Max(w.Cap.Seconds(), 1))
	}
	return math.Min(busiest(density, bound/4), 2*w.Clients)
}

// SmallestPause returns the smallest first bound of a pause, in whole seconds,
// with which the busiest second stays at or below target, and 0 if target is
// not positive.
func (w RetryWave) SmallestPause(target float64) time.Duration {
	if target <= 0 {
		return 0
	}
	need := Wave{Keys: w.ramp() * w.Clients}.neededSpread(target)
	return time.Duration(math.Ceil(math.Max(need, 1))) * time.Second
}
