package comb

import (
	"maps"
	"math"
	"slices"
	"time"
)

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
	Worst   Latencies       // of the minute with the highest 99 % quantile
	WorstAt time.Duration   // its begin
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

// Latencies counts the times that reads took, in buckets that are 1.6 % wide,
// so its size does not grow with the reads. The zero value is empty.
type Latencies struct {
	count   uint64
	fast    uint64 // that took no longer than hit
	sum     float64
	hit     float64
	buckets map[int]uint64
}

// bucketShift keeps 6 bits of a float's mantissa.
const bucketShift = 52 - 6

func (l *Latencies) add(seconds float64, n uint64) {
	l.count += n
	l.sum += seconds * float64(n)
	if seconds <= 0 {
		l.fast += n
		return
	}
	if l.buckets == nil {
		l.buckets = make(map[int]uint64)
	}
	l.buckets[int(math.Float64bits(seconds)>>bucketShift)] += n
}

// Count returns the number of reads.
func (l Latencies) Count() uint64 { return l.count }

// Mean returns the mean time of a read, 0 if there are none.
func (l Latencies) Mean() time.Duration {
	if l.count == 0 {
		return 0
	}
	return toDuration(l.hit + l.sum/float64(l.count))
}

// Quantile returns the time within which a share q of the reads were answered,
// to 1 %; 0 if there are no reads.
func (l Latencies) Quantile(q float64) time.Duration {
	if l.count == 0 {
		return 0
	}
	hit := toDuration(l.hit)
	rest := uint64(math.Ceil(q * float64(l.count)))
	if rest <= l.fast {
		return hit
	}
	rest -= l.fast
	for _, b := range slices.Sorted(maps.Keys(l.buckets)) {
		if n := l.buckets[b]; n < rest {
			rest -= n
			continue
		}
		low, high := math.Float64frombits(uint64(b)<<bucketShift), math.Float64frombits(uint64(b+1)<<bucketShift)
		return hit + toDuration((low+high)/2)
	}
	return hit
}

func (l *Latencies) merge(o Latencies) {
	l.count += o.count
	l.fast += o.fast
	l.sum += o.sum
	for b, n := range o.buckets {
		if l.buckets == nil {
			l.buckets = make(map[int]uint64)
		}
		l.buckets[b] += n
	}
}
