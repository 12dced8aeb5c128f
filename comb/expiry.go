package comb

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// An ExpiryBin is a number of keys that expire at one time or within one bin.
type ExpiryBin struct {
	At    int64 // Unix time in milliseconds, the start of the bin
	Count uint64
}

// ExpiryOptions are the settings of FindBursts. The zero value is ready.
type ExpiryOptions struct {
	Width     time.Duration // of a bin; 0: 1 ms, that is exact times
	MinKeys   int           // fewer keys are not judged, smaller bursts not reported; 0: 20
	MinRatio  float64       // of a burst over its baseline; 0: 4
	Alpha     float64       // largest false-alarm probability; 0: 0.001
	MaxBursts int           // 0: 1000
}

func (o ExpiryOptions) withDefaults() ExpiryOptions {
	o.Width = cmp.Or(o.Width, time.Millisecond)
	o.MinKeys = cmp.Or(o.MinKeys, 20)
	o.MinRatio = cmp.Or(o.MinRatio, 4)
	o.Alpha = cmp.Or(o.Alpha, 1e-3)
	o.MaxBursts = cmp.Or(o.MaxBursts, 1000)
	return o
}

// A Burst is a cluster of expiries.
type Burst struct {
	From, To int64   // Unix ms of the first and the last expiry in it (bin starts)
	Keys     uint64  // keys in it
	Baseline float64 // keys expected there without the burst
	LogP     float64 // natural logarithm of the false-alarm probability, at most 0
	Newest   bool    // it reaches the longest remaining time of the group
}

// Expiry is what one snapshot of remaining times tells.
type Expiry struct {
	Keys       uint64
	MaxLeft    time.Duration // longest remaining time
	Typical    float64       // keys per second outside bursts
	Dispersion float64       // variance over mean of the counts: above 1 if keys are written in batches
	Sliding    float64       // evidence in nats that TTLs are renewed at each access; above 20: they are
	Bursts     []Burst       // in order of time
	Judged     bool          // false: fewer than MinKeys
}

// slidingNats is the evidence from which a group counts as renewed on access.
const slidingNats = 20

// FindBursts finds clusters in the expiries of one group of keys as one
// snapshot at now (Unix ms) shows them. bins are in ascending order; those
// before now are left out.
//
// It is a scan statistic: the largest count in a window, for windows of many
// widths, against the denser of the window's two sides and the typical rate of
// the group. The false-alarm probability is the approximation of Alm (1983)
// for a Poisson process, on counts divided by their dispersion because keys
// are often written in batches, times the number of widths. It is conservative
// on uniform, batch-written, clustered and daily changing births.
func FindBursts(bins []ExpiryBin, now int64, o ExpiryOptions) Expiry {
	o = o.withDefaults()
	p := newPoints(bins, now, o.Width.Seconds())
	e := Expiry{Keys: uint64(p.n), MaxLeft: time.Duration(p.longest * float64(time.Second)), Dispersion: 1}
	if p.n < float64(o.MinKeys) {
		return e
	}
	e.Judged = true
	s := newExpiryScan(p, o)
	e.Typical, e.Dispersion = s.typical, s.dispersion
	s.search()
	if teeth := s.regular(); teeth != nil {
		s = teeth
	}
	e.Sliding = p.sliding(s.dispersion, s.found)
	e.Bursts = s.bursts(now)
	return e
}

// expiryPoints are counts at times in seconds from now, with prefix sums.
type expiryPoints struct {
	at      []float64
	count   []float64
	sum     []float64 // sum[i] counts the points before i
	n       float64
	width   float64 // of a bin
	longest float64 // end of the last bin
}

func newPoints(bins []ExpiryBin, now int64, width float64) *expiryPoints {
	first, _ := slices.BinarySearchFunc(bins, now, func(b ExpiryBin, t int64) int { return cmp.Compare(b.At, t) })
	bins = bins[first:]
	p := &expiryPoints{width: width, at: make([]float64, len(bins)), count: make([]float64, len(bins))}
	for i, b := range bins {
		p.at[i] = float64(b.At-now) / 1000
		p.count[i] = float64(b.Count)
	}
	if len(bins) > 0 {
		p.longest = p.at[len(bins)-1] + width
	}
	p.add()
	return p
}

// add renews the prefix sums.
func (p *expiryPoints) add() {
	p.sum = make([]float64, len(p.at)+1)
	for i, c := range p.count {
		p.sum[i+1] = p.sum[i] + c
	}
	p.n = p.sum[len(p.at)]
}

// index returns the first point at or after t.
func (p *expiryPoints) index(t float64) int {
	i, _ := slices.BinarySearch(p.at, t)
	return i
}

// between counts the keys in [from, to).
func (p *expiryPoints) between(from, to float64) float64 {
	return p.sum[p.index(to)] - p.sum[p.index(from)]
}

// maxCells bounds the memory of an analysis.
const maxCells = 1 << 16

// cells counts the keys in n equal cells over the whole range.
func (p *expiryPoints) cells(n int) []float64 {
	counts := make([]float64, n)
	for i, t := range p.at {
		counts[min(int(t/p.longest*float64(n)), n-1)] += p.count[i]
	}
	return counts
}

// typicalRate is the median rate over cells: bursts in fewer than half of the
// cells don't move it.
func (p *expiryPoints) typicalRate() float64 {
	n := int(min(64, max(8, p.n/20)))
	counts := p.cells(n)
	slices.Sort(counts)
	return counts[n/2] / (p.longest / float64(n))
}

// dispersion returns the index of dispersion of the counts in n cells, from
// the differences of neighbours (slow trends don't count) without the largest
// tenth (bursts don't count); at least 1.
func (p *expiryPoints) dispersion(n int) float64 {
	const (
		fewest  = 20
		trimmed = 0.70 // what trimming leaves of the index of a Poisson process
	)
	n = min(n, maxCells)
	if n < fewest {
		return 1
	}
	counts := p.cells(n)
	type pair struct{ square, sum float64 }
	pairs := make([]pair, 0, n/2)
	for i := 0; i+1 < n; i += 2 {
		d := counts[i] - counts[i+1]
		pairs = append(pairs, pair{d * d, counts[i] + counts[i+1]})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.square, b.square) })
	var squares, sums float64
	for _, q := range pairs[:len(pairs)*9/10] {
		squares += q.square
		sums += q.sum
	}
	if sums == 0 {
		return 1
	}
	return max(1, squares/sums/trimmed)
}

// sliding returns the evidence, in nats, that the times since the last write
// (longest - remaining) of the keys outside bursts are exponential, as those
// of keys renewed at each access are, rather than uniform.
func (p *expiryPoints) sliding(dispersion float64, bursts []expiryCluster) float64 {
	n, age := 0.0, 0.0
	for i, t := range p.at {
		if !inBurst(bursts, t) {
			n += p.count[i]
			age += p.count[i] * (p.longest - t)
		}
	}
	if n < 50 || age <= 0 {
		return 0
	}
	return n / dispersion * (math.Log(p.longest*n/age) - 1)
}

func inBurst(bursts []expiryCluster, t float64) bool {
	for _, b := range bursts {
		if t >= b.from && t <= b.to {
			return true
		}
	}
	return false
}
