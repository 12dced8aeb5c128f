package remedy

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// near checks a predicted figure against a simulated one.
func near(t *testing.T, what string, predicted, simulated float64) {
	t.Helper()
	t.Logf("%s: predicted %.1f, simulated %.1f", what, predicted, simulated)
	if math.Abs(predicted-simulated) > 0.15*simulated {
		t.Errorf("%s: predicted %.1f, simulated %.1f: off by more than 15 %%", what, predicted, simulated)
	}
}

func find(t *testing.T, list []Remedy, name Name) Remedy {
	t.Helper()
	i := slices.IndexFunc(list, func(r Remedy) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no %s in the list", name)
	}
	return list[i]
}

// meanCopies is the mean number of queries of one death of a hot key.
func meanCopies(m comb.Mechanism) float64 {
	s := comb.Simulate(m)
	waves := s.Waves(5 * time.Second)[1:] // without the cold start
	n := 0
	for _, w := range waves {
		n += w[1] - w[0]
	}
	return float64(n) / float64(len(waves))
}

// TestHotKeyAgainstMechanism plays hot keys over a grid.
func TestHotKeyAgainstMechanism(t *testing.T) {
	for _, reads := range []float64{50, 400} {
		for _, rebuild := range []time.Duration{300 * time.Millisecond, 900 * time.Millisecond} {
			for _, processes := range []int{3, 14, 40} {
				m := comb.Mechanism{
					Keys: 1, Reads: reads, TTL: 30 * time.Second, Rebuild: rebuild, Processes: processes,
					Cold: true, Length: 40 * time.Minute, Seed: 5,
				}
				c := Case{Kind: HotKey, Reads: reads, Rebuild: rebuild, TTL: m.TTL, Processes: processes}
				list := Advise(c)
				name := fmt.Sprintf("%.0f reads/s, %v, %d processes", reads, rebuild, processes)
				near(t, name+": before", find(t, list, Lock).Effect.PeakBefore, meanCopies(m))
				for policy, remedy := range map[comb.Policy]Name{
					comb.Coalesce: Coalesce, comb.GlobalLock: Lock, comb.ServeStale: ServeStale, comb.EarlyRefresh: EarlyRefresh,
				} {
					m.Policy = policy
					near(t, name+": "+string(remedy), find(t, list, remedy).Effect.PeakAfter, meanCopies(m))
				}
			}
		}
	}
}

// TestJitterAgainstMechanism plays a flush of many keys and compares the next
// deaths with the jitter that is proposed.
func TestJitterAgainstMechanism(t *testing.T) {
	const flush = 100 * time.Second
	for _, keys := range []float64{1000, 5000} {
		for _, ttl := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
			for _, budget := range []float64{0, 60} {
				c := Case{Kind: TTLHerd, Keys: keys, Width: 2 * time.Second, TTL: ttl, Budget: budget}
				r := find(t, Advise(c), Jitter)
				j, _ := c.jitterOf()
				m := comb.Mechanism{
					Keys: int(keys), Reads: keys, TTL: ttl, Jitter: j, Rebuild: 10 * time.Millisecond, Policy: comb.GlobalLock,
					Flushes: []time.Duration{flush}, Length: flush + 3*ttl/2,
				}
				const runs = 3
				busiest := 0.0
				for seed := range uint64(runs) {
					m.Seed = seed
					busiest += float64(comb.Simulate(m).Busiest(flush+ttl/2, m.Length)) / runs
				}
				near(t, fmt.Sprintf("%.0f keys, TTL %v, ±%.0f %%", keys, ttl, 100*j.Fraction), r.Effect.PeakAfter, busiest)
				if budget > 0 && r.Effect.PeakAfter > 1.05*budget {
					t.Errorf("a budget of %.0f, but %.1f is predicted", budget, r.Effect.PeakAfter)
				}
				if narrower := j.Fraction - 0.01; budget > 0 && narrower > 0 && c.spreadKeys(comb.Jitter{Fraction: narrower}) <= budget {
					t.Errorf("±%.0f %% is wider than a budget of %.0f needs", 100*j.Fraction, budget)
				}
			}
		}
	}
}

// TestTwoLayersAgainstMechanism plays many keys and a hot one beside each other.
func TestTwoLayersAgainstMechanism(t *testing.T) {
	const flush, ttl, rebuild = 100 * time.Second, 10 * time.Minute, 900 * time.Millisecond
	c := Case{Kind: TTLHerd, Keys: 3000, Width: 2 * time.Second, TTL: ttl, Reads: 300, Rebuild: rebuild, Processes: 8}
	best, ok := Best(c, Advise(c))
	if !ok {
		t.Fatal("nothing helps")
	}
	j, _ := c.jitterOf()
	many := comb.Mechanism{
		Keys: 3000, Reads: 3000, TTL: ttl, Jitter: j, Rebuild: 10 * time.Millisecond, Policy: comb.GlobalLock,
		Flushes: []time.Duration{flush}, Length: flush + 3*ttl/2,
	}
	hot := comb.Mechanism{
		Keys: 1, Reads: 300, TTL: ttl, Jitter: j, Rebuild: rebuild, Processes: 8, Policy: comb.Coalesce,
		Flushes: []time.Duration{flush}, Length: flush + 3*ttl/2,
	}
	const runs = 4
	busiest := 0.0
	for seed := range uint64(runs) {
		many.Seed, hot.Seed = seed, seed
		// The hot key may die in any second of the others, at worst in the busiest.
		busiest += float64(comb.Simulate(many).Busiest(flush+ttl/2, many.Length)+comb.Simulate(hot).Busiest(flush+ttl/2, hot.Length)) / runs
	}
	near(t, "jitter and one load a process", best.Effect.PeakAfter, busiest)
}

func TestAbsenceAgainstMechanism(t *testing.T) {
	for _, ids := range []float64{10, 200, 3000} {
		r := find(t, Advise(Case{Kind: MissingKey, MissRate: 90, Missing: ids}), Negative)
		m := comb.Mechanism{
			Keys: int(ids), Reads: 90, TTL: (negativeLow + negativeHigh) / 2, Jitter: comb.Jitter{Fraction: 0.25},
			Rebuild: time.Millisecond, Policy: comb.GlobalLock, Length: 2 * time.Hour, Seed: 2,
		}
		s := comb.Simulate(m)
		near(t, fmt.Sprintf("%.0f ids", ids), r.Effect.PeakAfter, float64(len(s.Queries))/m.Length.Seconds())
	}
}
