package comb

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Policy is what readers of a cache do when a value is missing or old: a set
// of the protections below. A random TTL is none of them: see Mechanism.Jitter.
type Policy uint8

// Unprotected is the empty Policy: each reader that misses computes the value.
const Unprotected Policy = 0

// The protections. They combine.
const (
	// Coalesce lets one reader of each process compute; the others of the same
	// process wait for it (single flight).
	Coalesce Policy = 1 << iota
	// GlobalLock lets one reader of all compute; the others wait for it.
	GlobalLock
	// ServeStale lets one reader (of all, or of each process with Coalesce)
	// refresh behind, and everybody takes the old value meanwhile. Where there is
	// no old value, readers wait.
	ServeStale
	// EarlyRefresh is XFetch: a reader refreshes by chance before the expiry, and
	// waits for its own refresh unless ServeStale lets it take the old value.
	EarlyRefresh
)

var policyNames = []struct {
	policy Policy
	name   string
}{{Coalesce, "coalesce"}, {GlobalLock, "lock"}, {ServeStale, "stale"}, {EarlyRefresh, "xfetch"}}

// String names the protections: "coalesce+stale"; "unprotected" for none.
func (p Policy) String() string {
	var names []string
	for _, n := range policyNames {
		if p.Has(n.policy) {
			names = append(names, n.name)
		}
	}
	if names == nil {
		return "unprotected"
	}
	return strings.Join(names, "+")
}

// ParsePolicy returns the protection that String names so.
func ParsePolicy(name string) (p Policy, ok bool) {
	for _, n := range policyNames {
		if n.name == name {
			return n.policy, true
		}
	}
	return Unprotected, name == Unprotected.String()
}

// Has reports whether p holds a protection.
func (p Policy) Has(protection Policy) bool { return p&protection != 0 }

// shared reports whether one reader of all computes.
func (p Policy) shared() bool {
	return p.Has(GlobalLock) || p.Has(ServeStale) && !p.Has(Coalesce)
}

// A Mechanism is a cache with its readers, to be simulated.
type Mechanism struct {
	Keys  int     // at least 1
	Reads float64 // per second, over all keys
	// Zipf is the exponent s of the reads: the key of rank r is read in
	// proportion to r^-s. 0: evenly.
	Zipf      float64
	TTL       time.Duration // of each value
	Jitter    Jitter        // of the TTL
	Rebuild   time.Duration // mean time to compute a value
	RebuildCV float64       // standard deviation of that time over its mean (lognormal); 0: constant
	Processes int           // that read; 0: 1
	Policy    Policy
	Beta      float64 // of EarlyRefresh; 0: 1
	// Grace is how long after its expiry ServeStale may still use a value; 0:
	// for ever.
	Grace time.Duration
	// Concurrency is how many rebuilds the database works on at once; more wait
	// in line. 0: any number.
	Concurrency int
	Hit         time.Duration   // how long a read takes that finds its value
	Cold        bool            // the cache is empty at the start; otherwise the expiries are spread
	Flushes     []time.Duration // when the cache is emptied
	Deploys     []Deploy
	Fills       []Fill
	Length      time.Duration // of the simulation
	Seed        uint64
}

// A Deploy restarts all processes, and those that have restarted use a new
// cache, which is empty: the format of the keys has changed.
type Deploy struct {
	At  time.Duration // of the first process
	Gap time.Duration // from one process to the next; 0: all at once
}

// A Fill is a job that writes all keys, each with a TTL of its own and at a
// random time of its run, whatever readers do.
type Fill struct {
	At    time.Duration // begin
	Width time.Duration // of the run
}

// weights are the reads per second of each key, the hottest first.
func (m Mechanism) weights() []float64 {
	rates := make([]float64, max(m.Keys, 1))
	sum := 0.0
	for i := range rates {
		rates[i] = math.Pow(float64(i+1), -m.Zipf)
		sum += rates[i]
	}
	for i := range rates {
		rates[i] *= max(m.Reads, 0) / sum
	}
	return rates
}

// disturbance is what happens to the cache from outside.
type disturbance struct {
	at      float64
	kind    disturbanceKind
	index   int // of the Flush, Deploy or Fill
	process int // that restarts
}

type disturbanceKind uint8

const (
	flushed   disturbanceKind = iota
	restarted                 // one process, into the cache of its deploy
	fillBegun
)

// disturbances are all of them in order of time.
func (m Mechanism) disturbances() []disturbance {
	var all []disturbance
	for i, f := range m.Flushes {
		all = append(all, disturbance{at: f.Seconds(), kind: flushed, index: i})
	}
	for i, f := range m.Fills {
		all = append(all, disturbance{at: f.At.Seconds(), kind: fillBegun, index: i})
	}
	for i, d := range m.Deploys {
		for p := range max(m.Processes, 1) {
			all = append(all, disturbance{at: (d.At + time.Duration(p)*d.Gap).Seconds(), kind: restarted, index: i, process: p})
		}
	}
	slices.SortStableFunc(all, func(a, b disturbance) int { return cmp.Compare(a.at, b.at) })
	return all
}
