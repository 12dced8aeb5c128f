package comb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// drawnRetries is the mean busiest second of drawn retries with full jitter,
// all of which fail.
func drawnRetries(w RetryWave) float64 {
	const waves, attempts = 12, 8
	r := rand.New(rand.NewPCG(7, 8))
	total := 0.0
	for range waves {
		var times []time.Duration
		for range int(w.Clients) {
			at, bound := 0.0, w.Pause.Seconds()
			for range attempts {
				at += r.Float64() * bound
				times = append(times, fromSeconds(at))
				bound *= 2
				if w.Cap > 0 {
					bound = min(bound, w.Cap.Seconds())
				}
			}
		}
		slices.Sort(times)
		total += float64(Simulation{Queries: times}.Busiest(0, 1<<62))
	}
	return total / waves
}

func TestFullJitterAgainstChance(t *testing.T) {
	for _, w := range []RetryWave{
		{500, 5 * time.Second, 0},
		{500, 30 * time.Second, 0},
		{3000, 10 * time.Second, 5 * time.Minute},
		{3000, 60 * time.Second, 0},
		{200, 20 * time.Second, 40 * time.Second},
		{1000, 20 * time.Second, 20 * time.Second},
	} {
		near(t, "busiest second of retries", drawnRetries(w), w.FullJitter(), 0.15)
	}
	for _, target := range []float64{20, 50, 200} {
		w := RetryWave{Clients: 2000}
		w.Pause = w.SmallestPause(target)
		near(t, "busiest second for a target", drawnRetries(w), target, 0.15)
	}
	if p := (RetryWave{Clients: 10}).SmallestPause(0); p != 0 {
		t.Errorf("a pause of %v for no target", p)
	}
}

// TestAbsenceAgainstMechanism caches what does not exist for a minute.
func TestAbsenceAgainstMechanism(t *testing.T) {
	for _, a := range []Absence{{1, 20}, {500, 100}, {5000, 20}, {100, 0.5}} {
		const ttl, length = time.Minute, 4 * time.Hour
		s := Simulate(Mechanism{
			Keys: int(a.IDs), Reads: a.Rate, TTL: ttl, Rebuild: time.Microsecond, Policy: GlobalLock, Length: length, Seed: 3,
		})
		near(t, "queries a second", float64(len(s.Queries))/length.Seconds(), a.Cached(ttl), 0.15)
	}
	if r := (Absence{}).Cached(time.Minute); r != 0 || math.IsNaN(r) {
		t.Errorf("nothing asked for: %v queries/s", r)
	}
}
