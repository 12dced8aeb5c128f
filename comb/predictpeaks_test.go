package comb

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestPredictPeaks compares the predicted busiest seconds with simulated ones
// over a grid of caches, for each policy.
func TestPredictPeaks(t *testing.T) {
	const start = 20 * time.Second
	for _, c := range []struct {
		name string
		m    Mechanism
	}{
		{"one hot key", Mechanism{Keys: 1, Reads: 200, TTL: 30 * time.Second, Rebuild: 1200 * time.Millisecond}},
		{"one hot key, quick", Mechanism{Keys: 1, Reads: 400, TTL: 60 * time.Second, Rebuild: 100 * time.Millisecond}},
		{"even", Mechanism{Keys: 3000, Reads: 2000, TTL: 5 * time.Minute, Rebuild: 200 * time.Millisecond}},
		{"even, slow", Mechanism{Keys: 4000, Reads: 400, TTL: 5 * time.Minute, Rebuild: 500 * time.Millisecond}},
		{"Zipf", Mechanism{Keys: 5000, Reads: 2000, Zipf: 1, TTL: 5 * time.Minute, Rebuild: 300 * time.Millisecond}},
		{"Zipf, long rebuild", Mechanism{Keys: 2000, Reads: 1000, Zipf: 1, TTL: 3 * time.Minute, Rebuild: 1500 * time.Millisecond}},
		{"Zipf, flat", Mechanism{Keys: 5000, Reads: 3000, Zipf: 0.7, TTL: 10 * time.Minute, Rebuild: 50 * time.Millisecond}},
		{"one hot key, spread rebuild", Mechanism{Keys: 1, Reads: 359, TTL: 60 * time.Second, Rebuild: 400 * time.Millisecond, RebuildCV: 0.5}},
		{"filled by a job", Mechanism{Keys: 4000, Reads: 3000, Zipf: 0.8, TTL: 5 * time.Minute, Rebuild: 100 * time.Millisecond, Fills: []Fill{{start, 20 * time.Second}}}},
		{"filled at once", Mechanism{Keys: 4000, Reads: 20000, TTL: 5 * time.Minute, Rebuild: 20 * time.Millisecond, Fills: []Fill{{start, 500 * time.Millisecond}}}},
		{"Zipf, spread rebuild", Mechanism{Keys: 1000, Reads: 2000, Zipf: 1.1, TTL: 5 * time.Minute, Rebuild: 400 * time.Millisecond, RebuildCV: 0.5}},
	} {
		for _, policy := range []Policy{Unprotected, Coalesce, GlobalLock, ServeStale, EarlyRefresh, Coalesce | ServeStale} {
			for _, jitter := range []float64{0, 0.15} {
				t.Run(fmt.Sprintf("%s/%v/%v", c.name, policy, jitter), func(t *testing.T) {
					m := c.m
					m.Policy, m.Jitter.Fraction, m.Processes = policy, jitter, 8
					m.Length = start + m.TTL*14/10
					if len(m.Fills) == 0 {
						m.Flushes = []time.Duration{start}
					}
					var event, later float64
					runs := 5
					if m.Keys == 1 { // one lump each
						runs = 40
					}
					for seed := range runs {
						m.Seed = uint64(seed)
						s := Simulate(m)
						event += float64(s.Busiest(start, start+m.TTL/2)) / float64(runs)
						later += float64(s.Busiest(start+m.TTL/2, m.Length)) / float64(runs)
					}
					p := PredictPeaks(m)
					if len(m.Fills) == 0 {
						agree(t, "event", event, p.Event)
					}
					agree(t, "later", later, p.Later)
				})
			}
		}
	}
}

// agree checks a predicted peak against the simulated one: 15 %, or two queries
// where peaks are so low that chance alone makes them differ by more.
func agree(t *testing.T, what string, simulated, predicted float64) {
	t.Helper()
	t.Logf("%s: predicted/simulated %.3f (%.1f/%.1f)", what, predicted/simulated, predicted, simulated)
	if math.Abs(simulated-predicted) > max(0.15*simulated, 2) {
		t.Errorf("%s: simulated %.1f, predicted %.1f", what, simulated, predicted)
	}
}
