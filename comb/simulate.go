package comb

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Policy is what readers of a cache do when a value is missing or old.
type Policy int

// The policies.
const (
	Unprotected  Policy = iota // each reader that misses computes the value
	Coalesce                   // one reader a process computes, the others wait
	GlobalLock                 // one reader of all computes, the others wait
	ServeStale                 // one reader of all computes, the others take the old value
	EarlyRefresh               // XFetch: readers refresh by chance before the expiry
)

// A Mechanism is a cache with its readers, to be simulated.
type Mechanism struct {
	Keys      int           // at least 1
	Reads     float64       // per second, over all keys, evenly
	TTL       time.Duration // of each value
	Jitter    Jitter        // of the TTL
	Rebuild   time.Duration // time to compute a value
	Processes int           // that read, for Coalesce; 0: 1
	Policy    Policy
	Beta      float64         // of EarlyRefresh; 0: 1
	Cold      bool            // the cache is empty at the start; otherwise the expiries are spread
	Flushes   []time.Duration // when the cache is emptied, in ascending order
	Length    time.Duration   // of the simulation
	Seed      uint64
}

// A Simulation is what happened.
type Simulation struct {
	Queries []time.Duration // begins of rebuilds, in order
	Misses  int             // reads that found no value that may be used
	Waits   int             // of them, those that waited for another reader
	Reads   int
}

// Busiest returns the most queries that begin within one second between two
// times.
func (s Simulation) Busiest(from, to time.Duration) int {
	most, first := 0, 0
	for i, q := range s.Queries {
		if q < from {
			first = i + 1
			continue
		}
		if q >= to {
			break
		}
		for q-s.Queries[first] >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Waves returns the groups of queries that are separated by at least gap, as
// index ranges [from, to) of Queries.
func (s Simulation) Waves(gap time.Duration) [][2]int {
	var waves [][2]int
	from := 0
	for i := 1; i <= len(s.Queries); i++ {
		if i == len(s.Queries) || s.Queries[i]-s.Queries[i-1] >= gap {
			waves = append(waves, [2]int{from, i})
			from = i
		}
	}
	return waves
}

// Simulate plays a mechanism. The same Mechanism gives the same Simulation.
func Simulate(m Mechanism) Simulation {
	s := newSimulator(m)
	for t := s.gap(); t < m.Length.Seconds(); t += s.gap() {
		s.until(t)
		s.read(t, s.rand.IntN(len(s.values)))
	}
	slices.Sort(s.out.Queries)
	return s.out
}

// simulator is the state of a simulation. Times are in seconds.
type simulator struct {
	Mechanism
	rand    *rand.Rand
	values  []value
	running rebuilds
	flushes []float64
	out     Simulation
}

// value is one key.
type value struct {
	expires float64         // 0: never written
	busy    int             // rebuilds that run
	by      map[int]float64 // processes that compute it, until when (Coalesce)
}

type rebuild struct {
	done float64
	key  int
}

// rebuilds is a heap by the time of completion.
type rebuilds []rebuild

func (r rebuilds) Len() int           { return len(r) }
func (r rebuilds) Less(i, j int) bool { return r[i].done < r[j].done }
func (r rebuilds) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *rebuilds) Push(x any)        { *r = append(*r, x.(rebuild)) }
func (r *rebuilds) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

func newSimulator(m Mechanism) *simulator {
	m.Processes = max(m.Processes, 1)
	if m.Beta == 0 {
		m.Beta = 1
	}
	s := &simulator{Mechanism: m, rand: rand.New(rand.NewPCG(m.Seed, 77)), values: make([]value, max(m.Keys, 1))}
	for i := range s.values {
		if !m.Cold {
			s.values[i].expires = s.rand.Float64() * m.TTL.Seconds()
		}
	}
	for _, f := range m.Flushes {
		s.flushes = append(s.flushes, f.Seconds())
	}
	return s
}

// gap draws the time to the next read.
func (s *simulator) gap() float64 { return s.rand.ExpFloat64() / max(s.Mechanism.Reads, 1e-9) }

// until completes the rebuilds and flushes up to a time, in order.
func (s *simulator) until(t float64) {
	for {
		flush := math.Inf(1)
		if len(s.flushes) > 0 {
			flush = s.flushes[0]
		}
		if len(s.running) > 0 && s.running[0].done <= min(t, flush) {
			r := heap.Pop(&s.running).(rebuild)
			s.values[r.key].busy--
			s.values[r.key].expires = r.done + s.life()
			continue
		}
		if flush > t {
			return
		}
		for i := range s.values {
			s.values[i].expires = 0
		}
		s.flushes = s.flushes[1:]
	}
}

// life draws a time to live.
func (s *simulator) life() float64 {
	shortest, longest := s.Jitter.Range(s.TTL)
	return shortest.Seconds() + s.rand.Float64()*(longest-shortest).Seconds()
}

// read plays one read of a key.
func (s *simulator) read(t float64, key int) {
	v := &s.values[key]
	s.out.Reads++
	if t < v.expires {
		early := s.Policy == EarlyRefresh && t-s.Rebuild.Seconds()*s.Beta*math.Log(1-s.rand.Float64()) >= v.expires
		if early {
			s.start(t, key)
		}
		return
	}
	s.out.Misses++
	if s.mayStart(t, v) {
		s.start(t, key)
	} else {
		s.out.Waits++
	}
}

// mayStart tells whether a reader that misses computes the value itself.
func (s *simulator) mayStart(t float64, v *value) bool {
	switch s.Policy {
	case GlobalLock, ServeStale:
		return v.busy == 0
	case Coalesce:
		process := s.rand.IntN(s.Processes)
		if t < v.by[process] {
			return false
		}
		if v.by == nil {
			v.by = make(map[int]float64)
		}
		v.by[process] = t + s.Rebuild.Seconds()
		return true
	default:
		return true
	}
}

func (s *simulator) start(t float64, key int) {
	s.values[key].busy++
	heap.Push(&s.running, rebuild{t + s.Rebuild.Seconds(), key})
	s.out.Queries = append(s.out.Queries, time.Duration(t*float64(time.Second)))
}
