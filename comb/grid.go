package comb

import (
	"math"
	"time"
)

// grid is the counts of one level: non-empty bins of one width from a common origin.
type grid struct {
	w float64 // bin, seconds
	n int32   // bins in the coverage
	x []int32 // index of each non-empty bin, rising
	c []float64
}

const (
	maxBins   = 1 << 30 // bins in the coverage: 34 years of seconds; longer records get wider bins
	nearBins  = 12      // reach of the local background, bins each side
	wideBins  = 96      // reach of the wider background
	ownBins   = 1       // bins each side that belong to a burst itself
	minExcess = 2.5     // events above the background that a burst needs
)

// newGrid lays the series on a grid that covers the log and every event. It
// returns the start of the grid as a bin index of the series and that bin's
// share of a grid bin, 1/2^shift.
func newGrid(s *Series, o Options) (g *grid, first int64, shift uint) {
	s.settle()
	first, last := s.cells[0].x, s.cells[len(s.cells)-1].x
	if !o.From.IsZero() {
		first = min(first, floorDiv(clampNano(o.From), s.bin))
	}
	if !o.To.IsZero() {
		last = max(last, floorDiv(clampNano(o.To), s.bin))
	}
	for resolution := coarsest(s, o.Resolution); s.bin<<(shift+1) <= resolution; {
		shift++
	}
	for (uint64(last)-uint64(first))>>shift >= maxBins {
		shift++
	}
	g = &grid{
		w: math.Ldexp(float64(s.bin)/1e9, int(shift)),
		n: int32((uint64(last)-uint64(first))>>shift) + 1,
		x: make([]int32, 0, len(s.cells)),
		c: make([]float64, 0, len(s.cells)),
	}
	for _, c := range s.cells {
		g.push(int32((uint64(c.x)-uint64(first))>>shift), float64(c.n))
	}
	return g, first, shift
}

// coarsest returns the resolution of the stamps in nanoseconds: as told, or
// one second when a finer series has events at whole seconds only.
func coarsest(s *Series, told time.Duration) int64 {
	if told > 0 {
		return min(int64(told), int64(time.Second))
	}
	per := int64(time.Second) / s.bin
	if per < 2 || int64(time.Second)%s.bin != 0 {
		return s.bin
	}
	for _, c := range s.cells {
		if c.x%per != 0 {
			return s.bin
		}
	}
	return int64(time.Second)
}

// clampNano is UnixNano for times that it can't represent as well.
func clampNano(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec <= math.MinInt64/1_000_000_000:
		return math.MinInt64
	case sec >= math.MaxInt64/1_000_000_000:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// push adds c events to bin x, which is not before the last one.
func (g *grid) push(x int32, c float64) {
	if k := len(g.x) - 1; k >= 0 && g.x[k] == x {
		g.c[k] += c
		return
	}
	g.x = append(g.x, x)
	g.c = append(g.c, c)
}

// coarsen returns the same counts in bins of twice the width.
func (g *grid) coarsen() *grid {
	up := &grid{w: 2 * g.w, n: (g.n + 1) / 2, x: make([]int32, 0, len(g.x)), c: make([]float64, 0, len(g.x))}
	for i, x := range g.x {
		if g.c[i] > 0 {
			up.push(x>>1, g.c[i])
		}
	}
	return up
}

// center returns the middle of non-empty bin i in seconds from the origin.
func (g *grid) center(i int) float64 { return (float64(g.x[i]) + 0.5) * g.w }

// window is the non-empty bins in [x-reach, x+reach], for rising x.
type window struct {
	reach  int32
	lo, hi int
}

// at moves the window to bin x and returns the sum of its counts, from the sums
// up to each bin, and how many bins of the coverage it spans.
func (v *window) at(g *grid, upTo []float64, x int32) (sum, bins float64) {
	for v.hi < len(g.x) && g.x[v.hi] <= x+v.reach {
		v.hi++
	}
	for g.x[v.lo] < x-v.reach {
		v.lo++
	}
	return upTo[v.hi] - upTo[v.lo], float64(min(x+v.reach, g.n-1) - max(x-v.reach, 0) + 1)
}

// scratch is memory that the levels of one grid use in turn.
type scratch struct{ lam, quiet, upTo []float64 }

func newScratch(bins int) *scratch {
	return &scratch{make([]float64, bins), make([]float64, bins), make([]float64, bins+1)}
}

// background writes to lam the rate, events a bin, around each bin that holds
// at least so many events, by the counts c: the larger of the means of a near
// and a wide neighbourhood, the bin itself and its neighbours left out. upTo is
// memory for one value more than there are bins.
func (g *grid) background(c, lam, upTo []float64, least float64) {
	sum := 0.0
	for i, v := range c[:len(g.x)] {
		upTo[i] = sum
		sum += v
	}
	upTo[len(g.x)] = sum
	own, near, wide := window{reach: ownBins}, window{reach: nearBins}, window{reach: wideBins}
	for i, x := range g.x {
		if g.c[i] < least {
			continue
		}
		so, no := own.at(g, upTo, x)
		sn, nn := near.at(g, upTo, x)
		sw, nw := wide.at(g, upTo, x)
		rest := max(nw-no, 1)
		lam[i] = max((sn-so)/max(nn-no, 1), (sw-so)/rest, 0.5/rest)
	}
}

// llr is the log likelihood ratio of a count against a smaller Poisson mean, 0 below it.
func llr(count, mean float64) float64 {
	if count <= mean {
		return 0
	}
	return count*math.Log(count/mean) - (count - mean)
}
