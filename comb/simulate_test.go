package comb

import (
	"slices"
	"testing"
	"time"
)

// hot is one key that is read often and takes long to compute.
var hot = HotKey{Reads: 200, Rebuild: 1200 * time.Millisecond, TTL: 30 * time.Second, Processes: 8}

func (h HotKey) mechanism(p Policy) Mechanism {
	return Mechanism{
		Keys: 1, Reads: h.Reads, TTL: h.TTL, Rebuild: h.Rebuild, Processes: h.Processes, Policy: p,
		Cold: true, Length: 20 * time.Minute, Seed: 1,
	}
}

// TestSimulateHotKey checks the closed forms of a hot key: how many compute it
// at once, and how far its deaths are apart.
func TestSimulateHotKey(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy Policy
		copies float64
		period time.Duration
	}{
		{"unprotected", Unprotected, hot.Copies(), hot.Period(false)},
		{"coalesced", Coalesce, hot.Coalesce().PeakAfter, 0},
		{"lock", GlobalLock, hot.Lock().PeakAfter, hot.Period(true)},
		{"serve stale", ServeStale, hot.ServeStale().PeakAfter, hot.Period(true)},
		{"early refresh", EarlyRefresh, hot.EarlyRefresh(1).PeakAfter, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Simulate(hot.mechanism(c.policy))
			waves := s.Waves(5 * time.Second)[1:] // without the cold start
			if len(waves) < 20 {
				t.Fatalf("%d waves", len(waves))
			}
			first, last := waves[0], waves[len(waves)-1]
			n := 0
			for _, w := range waves {
				n += w[1] - w[0]
			}
			near(t, "copies", float64(n)/float64(len(waves)), c.copies, 0.15)
			if c.period > 0 {
				period := (s.Queries[last[0]] - s.Queries[first[0]]).Seconds() / float64(len(waves)-1)
				near(t, "period", period, c.period.Seconds(), 0.01)
			}
		})
	}
	if p, e := hot.Period(false)-hot.TTL, hot.Period(true)-hot.TTL; p < 2*hot.Rebuild || e > hot.Rebuild+time.Second {
		t.Errorf("the period is longer than the TTL by %v unprotected and %v locked, want 2 and 1 rebuilds", p, e)
	}
}

// TestSimulateFlush checks the prediction of a jitter against the mechanism: a
// flush, then the next generations.
func TestSimulateFlush(t *testing.T) {
	const flush = 100 * time.Second
	m := Mechanism{
		Keys: 4000, Reads: 4000 * 0.7, TTL: 5 * time.Minute, Rebuild: 10 * time.Millisecond, Policy: GlobalLock,
		Flushes: []time.Duration{flush}, Length: 900 * time.Second,
	}
	for _, j := range []Jitter{{Fraction: 0.1}, {Fraction: 0.2}, {Fraction: 0.2, OneSided: true}} {
		m.Jitter = j
		var before, first, second float64
		const runs = 3
		for seed := range runs {
			m.Seed = uint64(seed)
			s := Simulate(m)
			before += float64(s.Busiest(flush, flush+30*time.Second)) / runs
			first += float64(s.Busiest(flush+m.TTL/2, flush+m.TTL*3/2)) / runs
			second += float64(s.Busiest(flush+m.TTL*3/2, flush+m.TTL*5/2)) / runs
		}
		w := Wave{Keys: 4000, Width: 2 * time.Second, TTL: m.TTL}
		near(t, "first generation", first, Predict(w, j, 1).PeakAfter, 0.15)
		near(t, "second generation", second, Predict(w, j, 2).PeakAfter, 0.15)
		if before < 5*first {
			t.Errorf("the flush itself has a busiest second of %.0f, the next generation %.0f: nothing to spread", before, first)
		}
	}
}

func TestSimulateIsDeterministic(t *testing.T) {
	m := hot.mechanism(EarlyRefresh)
	a, b := Simulate(m), Simulate(m)
	if !slices.Equal(a.Queries, b.Queries) {
		t.Error("one seed gives two simulations")
	}
	m.Seed++
	if c := Simulate(m); slices.Equal(a.Queries, c.Queries) {
		t.Error("two seeds give one simulation")
	}
	if empty := Simulate(Mechanism{Length: time.Minute, Reads: 1}); empty.Reads == 0 {
		t.Error("the zero Mechanism has one key")
	}
}

func BenchmarkSimulate(b *testing.B) {
	m := Mechanism{
		Keys: 5000, Reads: 2000, Zipf: 1, TTL: time.Hour, Rebuild: 300 * time.Millisecond, Processes: 8,
		Length: 2 * time.Hour, Deploys: []Deploy{{At: 10 * time.Minute}},
	}
	for _, p := range []Policy{Unprotected, Coalesce, GlobalLock, ServeStale, EarlyRefresh} {
		b.Run(p.String(), func(b *testing.B) {
			m.Policy = p
			for range b.N {
				Simulate(m)
			}
		})
	}
	b.Run("predict", func(b *testing.B) {
		for range b.N {
			PredictPeaks(m)
		}
	})
}
