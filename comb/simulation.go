package comb

import "time"

// A Simulation is what happened.
type Simulation struct {
	Length  time.Duration   // played; shorter than asked for where the limit of misses was reached
	Queries []time.Duration // when rebuilds were sent to the database, in order
	Reads   int             // expected number: reads that find a fresh value are not played one by one
	Misses  int             // reads that found no fresh value
	Waits   int             // of them, those that waited for another reader
	Stale   int             // of them, those that took an old value at once
	Early   int             // refreshes before the expiry
	Latency Latencies       // of all reads
	Minutes []Minute        // those in which a read did not find its value at once
}

// A Minute is the time that reads took in one minute, the last one may be
// shorter.
type Minute struct {
	At  time.Duration // begin
	P99 time.Duration // 99 % of the reads took no longer
}

// Slowest returns the highest P99 of the minutes that lie in a time at least
// in part, the time of a hit if every read found its value at once.
func (s Simulation) Slowest(from, to time.Duration) time.Duration {
	slowest := toDuration(s.Latency.hit)
	for _, m := range s.Minutes {
		if m.At+time.Minute > from && m.At < to {
			slowest = max(slowest, m.P99)
		}
	}
	return slowest
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
