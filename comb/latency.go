package comb

import (
	"maps"
	"math"
	"slices"
	"time"
)

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

// minutes gathers the times of reads, minute by minute. Reads must come in
// order of time.
type minutes struct {
	reads   float64 // per second, those included that find a fresh value
	all     Latencies
	current Latencies
	from    float64
	list    []Minute
}

func (m *minutes) add(now, seconds float64) {
	m.turn(now)
	m.current.add(seconds, 1)
}

// turn ends the minutes that are over at a time.
func (m *minutes) turn(now float64) {
	for now >= m.from+60 {
		m.end(m.from + 60)
	}
}

// end closes the current minute. Its reads that were not added are those that
// found a fresh value at once.
func (m *minutes) end(at float64) {
	expected, played := uint64(math.Round(m.reads*(at-m.from))), m.current.count
	m.current.hit = m.all.hit
	m.current.add(0, max(expected, played)-played)
	if played > 0 {
		m.list = append(m.list, Minute{toDuration(m.from), m.current.Quantile(0.99)})
	}
	m.all.merge(m.current)
	m.current, m.from = Latencies{}, at
}

func (m *minutes) close(end float64) {
	m.turn(end)
	if end > m.from {
		m.end(end)
	}
}
