package comb

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// lagCount is how many pairs of bursts lie a whole number of bins apart.
type lagCount struct {
	lag int
	n   int
}

// candidate is a lag, in bins, at which pairs pile up, and how strikingly.
type candidate struct{ lag, llr float64 }

const (
	minLag     = 4       // bins
	maxPairs   = 400_000 // pairs counted; the longest lag is cut to this
	denseFrom  = 6000    // bursts; of longer lists two contiguous slices are looked at
	slice      = 3000    // their length
	floorPairs = 0.05    // pairs expected at least in three bins of lag
)

// lagCounter is memory to count lags in.
type lagCounter struct {
	pairs []int32  // by lag; all 0 between two counts
	seen  []uint64 // set of the lags that have any, by bit; the same
	found []lagCount
}

// candidatePeriods returns the periods, in bins, at which pairs of the sorted
// positions pile up: the most striking ones that are no multiples of each
// other, then the shortest striking ones, which are the fundamental when many
// teeth are missing. Pair differences are the PRI histogram of radar pulse
// de-interleaving (Mardia 1989; Milojevic and Popovic 1992).
func (m *lagCounter) candidatePeriods(x []float64, maxLag float64, top int) []float64 {
	var found []candidate
	if n := len(x); n <= denseFrom {
		found = lagPeaks(m.count(x, maxLag))
	} else {
		a, b := n/5, n*3/5
		found = lagPeaks(m.count(x[a:a+slice], maxLag))
		found = append(found, lagPeaks(m.count(x[b:min(b+slice, n)], maxLag))...)
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.llr, a.llr), cmp.Compare(a.lag, b.lag)) })

	var out []float64
	for _, c := range found {
		if len(out) == top {
			break
		}
		if !slices.ContainsFunc(out, func(p float64) bool { return multipleOf(c.lag, p) }) {
			out = append(out, c.lag)
		}
	}
	return append(out, shortest(found, out, top/2)...)
}

// multipleOf reports whether a lag is about p, 2p, 3p ...
func multipleOf(lag, p float64) bool {
	k := max(math.Round(lag/p), 1)
	slack := 1.0
	if k > 1 {
		slack += 0.3 * k
	}
	return math.Abs(lag-k*p) <= slack
}

// shortest returns up to n lags, shortest first, that are nearly as striking as the best and not chosen yet.
func shortest(found []candidate, chosen []float64, n int) []float64 {
	var lags []float64
	for _, c := range found {
		if c.llr >= 0.4*found[0].llr {
			lags = append(lags, c.lag)
		}
	}
	slices.Sort(lags)
	var out []float64
	known := func(v float64) func(float64) bool { return func(p float64) bool { return math.Abs(p-v) <= 1 } }
	for _, v := range lags {
		if len(out) == n {
			break
		}
		if !slices.ContainsFunc(chosen, known(v)) && !slices.ContainsFunc(out, known(v)) {
			out = append(out, v)
		}
	}
	return out
}

// count counts the pairs by lag, in order of lag. The answer is in m's memory, until it counts again.
func (m *lagCounter) count(x []float64, maxLag float64) []lagCount {
	n := float64(len(x))
	span := x[len(x)-1] - x[0]
	lim := min(maxLag, span)
	if pairs := n * n / 2 * lim / (span + 1); pairs > maxPairs {
		lim = max(lim*maxPairs/pairs, 16)
	}
	m.found = m.found[:0]
	if lim < max(n*n*8, 1<<20) {
		m.countDense(x, int(lim))
		return m.found
	}
	var lags []int
	for i := range x {
		for j := i + 1; j < len(x) && x[j]-x[i] <= lim; j++ {
			lags = append(lags, int(x[j]-x[i]+0.5))
		}
	}
	slices.Sort(lags)
	for _, v := range lags {
		if k := len(m.found) - 1; k >= 0 && m.found[k].lag == v {
			m.found[k].n++
		} else {
			m.found = append(m.found, lagCount{v, 1})
		}
	}
	return m.found
}

// countDense counts in an array of all lags.
func (m *lagCounter) countDense(x []float64, lim int) {
	if len(m.pairs) <= lim {
		m.pairs, m.seen = make([]int32, lim+1), make([]uint64, lim/64+1)
	}
	for i := range x {
		for _, v := range x[i+1:] {
			d := int(v - x[i] + 0.5)
			if d > lim {
				break
			}
			m.pairs[d]++
			m.seen[d/64] |= 1 << (d % 64)
		}
	}
	for i, set := range m.seen[:lim/64+1] {
		for ; set != 0; set &= set - 1 {
			d := 64*i + bits.TrailingZeros64(set)
			m.found = append(m.found, lagCount{d, int(m.pairs[d])})
			m.pairs[d] = 0
		}
		m.seen[i] = 0
	}
}

// lagPeaks returns the lags where three bins hold more pairs than the local mean of the lag density foretells.
func lagPeaks(h []lagCount) []candidate {
	var out []candidate
	lo, hi, around := 0, 0, 0
	for i, c := range h {
		reach := 16 + c.lag/8
		for hi < len(h) && h[hi].lag <= c.lag+reach {
			around += h[hi].n
			hi++
		}
		for h[lo].lag < c.lag-reach {
			around -= h[lo].n
			lo++
		}
		if c.lag < minLag {
			continue
		}
		before, after := 0, 0
		if i > 0 && h[i-1].lag == c.lag-1 {
			before = h[i-1].n
		}
		if i+1 < len(h) && h[i+1].lag == c.lag+1 {
			after = h[i+1].n
		}
		n := before + c.n + after
		if n < 2 || before > c.n || after > c.n {
			continue
		}
		bins := min(c.lag, reach) + reach + 1 - 3
		want := max(3*float64(around-n)/float64(bins), floorPairs)
		if z := llr(float64(n), want); z >= 2 {
			out = append(out, candidate{float64(c.lag) + float64(after-before)/float64(n), z})
		}
	}
	return out
}
