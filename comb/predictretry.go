package comb

import (
	"math"
	"time"
)

// A RetryWave is a number of clients whose attempts fail until an outage ends.
// Each waits a random time up to a bound that doubles from attempt to attempt
// (full jitter; Brooker, "Exponential Backoff And Jitter", 2015).
type RetryWave struct {
	Clients float64
	Pause   time.Duration // the first bound
	Cap     time.Duration // the longest bound
}

// Settled returns the expected busiest second once the bounds have grown to
// the cap, as they have at the end of an outage that lasts longer than the cap.
// Then the attempts are a renewal process of pauses of half the cap on average.
// Once the source answers it is lower.
func (w RetryWave) Settled() float64 {
	span := math.Max(w.Cap.Seconds(), 1)
	return math.Min(busiest(2*w.Clients/span, span), 2*w.Clients)
}

// SmallestCap returns the smallest cap, in whole seconds, with which the
// busiest second of Settled stays at or below target, and 0 if target is not
// positive.
func (w RetryWave) SmallestCap(target float64) time.Duration {
	if target <= 0 {
		return 0
	}
	need := Wave{Keys: 2 * w.Clients}.neededSpread(target)
	return time.Duration(math.Ceil(math.Min(math.Max(need, 1), 1e9))) * time.Second
}

// Attempts returns how many attempts the bounds need to grow from the first
// one to the cap.
func (w RetryWave) Attempts() int {
	if w.Pause <= 0 || w.Cap <= w.Pause {
		return 1
	}
	return 1 + int(math.Ceil(math.Log2(float64(w.Cap)/float64(w.Pause))))
}
