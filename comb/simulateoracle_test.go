package comb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// plain plays each read one by one, in steps of one read: the slow and obvious
// simulator that Simulate must agree with. It returns the queries, the misses
// and the mean time of a read. It knows flushes alone.
func plain(m Mechanism) (queries, misses, mean float64) {
	type run struct {
		done    float64
		process int
	}
	r := rand.New(rand.NewPCG(m.Seed, 5))
	rates := m.weights()
	for i := 1; i < len(rates); i++ {
		rates[i] += rates[i-1]
	}
	expires, born := make([]float64, m.Keys), make([]bool, m.Keys)
	runs := make([][]run, m.Keys)
	flush := m.Flushes[0].Seconds()
	reads, total := 0.0, 0.0
	for t := r.ExpFloat64() / m.Reads; t < m.Length.Seconds(); t += r.ExpFloat64() / m.Reads {
		if t >= flush {
			clear(expires)
			clear(born)
			flush = math.Inf(1)
		}
		key, _ := slices.BinarySearch(rates, r.Float64()*m.Reads)
		key = min(key, m.Keys-1)
		slices.SortFunc(runs[key], func(a, b run) int { return int(math.Copysign(1, a.done-b.done)) })
		for len(runs[key]) > 0 && runs[key][0].done <= t {
			lo, hi := m.Jitter.Range(m.TTL)
			expires[key], born[key] = runs[key][0].done+lo.Seconds()+r.Float64()*(hi-lo).Seconds(), true
			runs[key] = runs[key][1:]
		}
		process, rebuild := r.IntN(m.Processes), m.Rebuild.Seconds()
		reads++
		holder := slices.IndexFunc(runs[key], func(x run) bool {
			return m.Policy.shared() || m.Policy.Has(Coalesce) && x.process == process
		})
		fresh := t < expires[key]
		if fresh && (!m.Policy.Has(EarlyRefresh) || holder >= 0 || t-rebuild*math.Log(1-r.Float64()) < expires[key]) {
			continue
		}
		if !fresh {
			misses++
		}
		done := t + rebuild
		if holder >= 0 {
			done = runs[key][holder].done
		} else {
			queries++
			runs[key] = append(runs[key], run{done, process})
		}
		if !m.Policy.Has(ServeStale) || !born[key] {
			total += done - t
		}
	}
	return queries, misses, total / reads
}

// TestSimulateAgainstPlain compares the simulator, which passes over reads that
// find a fresh value, with one that plays each.
func TestSimulateAgainstPlain(t *testing.T) {
	for _, p := range []Policy{
		Unprotected, Coalesce, GlobalLock, ServeStale, EarlyRefresh, Coalesce | ServeStale, Coalesce | EarlyRefresh, EarlyRefresh | ServeStale,
	} {
		t.Run(p.String(), func(t *testing.T) {
			var got, want [3]float64
			for seed := range uint64(30) {
				m := Mechanism{
					Keys: 60, Reads: 300, Zipf: 1, TTL: 20 * time.Second, Jitter: Jitter{Fraction: 0.1}, Rebuild: 400 * time.Millisecond,
					Processes: 4, Policy: p, Cold: true, Flushes: []time.Duration{50 * time.Second}, Length: 200 * time.Second, Seed: seed,
				}
				s := Simulate(m)
				got[0] += float64(len(s.Queries))
				got[1] += float64(s.Misses)
				got[2] += s.Latency.Mean().Seconds()
				q, n, mean := plain(m)
				want[0], want[1], want[2] = want[0]+q, want[1]+n, want[2]+mean
			}
			for i, what := range []string{"queries", "misses", "mean time"} {
				if math.Abs(got[i]-want[i]) > 0.03*want[i] {
					t.Errorf("%s: %.4g, read by read %.4g", what, got[i], want[i])
				}
				t.Logf("%s: %.4g, read by read %.4g", what, got[i], want[i])
			}
		})
	}
}
