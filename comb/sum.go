package comb

import "math"

// extent is where a series has events.
type extent struct {
	bin    int64 // width, ns
	lo, hi int64 // first and last bin
	n      int   // non-empty bins
	total  uint64
}

func extentOf(s *Series) extent {
	e := extent{bin: s.bin, n: len(s.cells), total: s.Total()}
	if e.n > 0 {
		e.lo, e.hi = s.cells[0].x, s.cells[e.n-1].x
	}
	return e
}

// sparse is how many bins there may be for each that is not empty, for them to
// be counted in an array.
const sparse = 16

// sum adds up the series of these numbers whose bin is that of the first of
// all.
func (f *grouping) sum(numbers []int) *Series {
	out := &Series{bin: f.extents[0].bin}
	lo, hi, n := int64(math.MaxInt64), int64(math.MinInt64), 0
	var used []int
	for _, i := range numbers {
		if e := f.extents[i]; e.bin == out.bin && e.n > 0 {
			used = append(used, i)
			lo, hi, n = min(lo, e.lo), max(hi, e.hi), n+e.n
		}
	}
	switch {
	case n == 0:
	case (uint64(hi)-uint64(lo))/sparse < uint64(n):
		out.cells = f.sumDense(used, lo, hi)
	default:
		out.cells = f.sumSparse(used)
	}
	return out
}

// sumDense counts in an array of the bins from lo to hi.
func (f *grouping) sumDense(numbers []int, lo, hi int64) []cell {
	sum := make([]uint64, hi-lo+1)
	n := 0
	for _, i := range numbers {
		for _, c := range f.series[i].get(&f.current).cells {
			if sum[c.x-lo] == 0 {
				n++
			}
			sum[c.x-lo] = addSat(sum[c.x-lo], c.n)
		}
	}
	cells := make([]cell, 0, n)
	for k, n := range sum {
		if n > 0 {
			cells = append(cells, cell{lo + int64(k), n})
		}
	}
	return cells
}

// sumSparse merges two by two.
func (f *grouping) sumSparse(numbers []int) []cell {
	var parts [][]cell
	for _, i := range numbers {
		parts = append(parts, f.series[i].get(new(Series)).cells)
	}
	for len(parts) > 1 {
		var next [][]cell
		for i := 0; i+1 < len(parts); i += 2 {
			next = append(next, mergeCells(parts[i], parts[i+1]))
		}
		if len(parts)%2 == 1 {
			next = append(next, parts[len(parts)-1])
		}
		parts = next
	}
	return parts[0]
}
