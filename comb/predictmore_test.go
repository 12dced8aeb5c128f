package comb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// drawnRetries is the mean busiest second of drawn retries with full jitter in
// the time of one cap after an outage of three, as if they still failed.
func drawnRetries(w RetryWave) float64 {
	const waves = 12
	r := rand.New(rand.NewPCG(7, 8))
	total := 0.0
	for range waves {
		var times []time.Duration
		from, to := 3*w.Cap.Seconds(), 4*w.Cap.Seconds()
		for range int(w.Clients) {
			for at, bound := 0.0, w.Pause.Seconds(); at < to; bound = min(2*bound, w.Cap.Seconds()) {
				at += r.Float64() * bound
				if at >= from && at < to {
					times = append(times, fromSeconds(at))
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
		{500, time.Second, 30 * time.Second},
		{3000, time.Second, 5 * time.Minute},
		{200, 100 * time.Millisecond, 40 * time.Second},
		{1000, 5 * time.Second, 20 * time.Second},
	} {
		near(t, "busiest second of retries", drawnRetries(w), w.Settled(), 0.15)
	}
	for _, target := range []float64{20, 50, 200} {
		w := RetryWave{Clients: 2000, Pause: time.Second}
		w.Cap = w.SmallestCap(target)
		near(t, "busiest second for a target", drawnRetries(w), target, 0.15)
	}
	if p := (RetryWave{Clients: 10}).SmallestCap(0); p != 0 {
		t.Errorf("a cap of %v for no target", p)
	}
	for want, w := range map[int]RetryWave{1: {}, 2: {Pause: time.Second, Cap: 2 * time.Second}, 8: {Pause: time.Second, Cap: 2 * time.Minute}} {
		if n := w.Attempts(); n != want {
			t.Errorf("%+v: %d attempts to the cap, want %d", w, n, want)
		}
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
