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

// lay lays the series on a grid that covers the log and every event, in the
// memory of an earlier one. It returns the start of the grid as a bin index of
// the series and that bin's share of a grid bin, 1/2^shift.
func (g *grid) lay(s *Series, o Options) (first int64, shift uint) {
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
	g.w = math.Ldexp(float64(s.bin)/1e9, int(shift))
	g.n = int32((uint64(last)-uint64(first))>>shift) + 1
	g.x, g.c = sized(g.x, len(s.cells))[:0], sized(g.c, len(s.cells))[:0]
	for _, c := range s.cells {
		g.push(int32((uint64(c.x)-uint64(first))>>shift), float64(c.n))
	}
	return first, shift
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

// coarsen writes the same counts in bins of twice the width to up, whose memory
// it reuses. Which bins have a neighbour can't be foreseen, so there is no branch
// on it: a bin is written over the last one if that is its own first half.
func (g *grid) coarsen(up *grid) {
	up.w, up.n = 2*g.w, (g.n+1)/2
	x, c := sized(up.x, len(g.x)), sized(up.c, len(g.x))
	n, last, half := 0, int32(-1), 0.0 // bins written, the last one, its last half
	for i, fine := range g.x {
		at, same := fine>>1, 0
		if at == last {
			same = 1
		}
		n -= same
		x[n], c[n] = at, half*float64(same)+g.c[i]
		n++
		last, half = at, g.c[i]
	}
	up.x, up.c = x[:n], c[:n]
}

// dropEmpty leaves out bins from which everything was taken.
func (g *grid) dropEmpty() {
	n := 0
	for i, c := range g.c {
		if c > 0 {
			g.x[n], g.c[n] = g.x[i], c
			n++
		}
	}
	g.x, g.c = g.x[:n], g.c[:n]
}

// sized returns a slice of n elements, of any value, in the memory of s if it is enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// center returns the middle of non-empty bin i in seconds from the origin.
func (g *grid) center(i int) float64 { return (float64(g.x[i]) + 0.5) * g.w }

// window is the non-empty bins within reach of a bin that only moves forward.
type window struct {
	reach  int32
	lo, hi int
}

// at moves the window to non-empty bin i and returns the sum of its counts, from
// the sums up to each bin, and how many bins of the coverage it spans.
func (v *window) at(g *grid, upTo []float64, i int) (sum, bins float64) {
	x := g.x[i]
	v.lo, v.hi = max(v.lo, i-int(v.reach)), max(v.hi, i) // each bin between is another one
	for v.hi < len(g.x) && g.x[v.hi] <= x+v.reach {
		v.hi++
	}
	for g.x[v.lo] < x-v.reach {
		v.lo++
	}
	return upTo[v.hi] - upTo[v.lo], float64(min(x+v.reach, g.n-1) - max(x-v.reach, 0) + 1)
}

// around is the neighbourhoods of a bin, or of a block of bins, that only moves forward.
type around struct{ own, near, wide, shared window }

func newAround() around {
	return around{own: window{reach: ownBins}, near: window{reach: nearBins}, wide: window{reach: wideBins}}
}

// background returns the rate, events a bin, around non-empty bin i: the larger
// of the means of a near and a wide neighbourhood, the bin itself and its
// neighbours left out.
func (v *around) background(g *grid, upTo []float64, i int) float64 {
	so, no := v.own.at(g, upTo, i)
	sn, nn := v.near.at(g, upTo, i)
	sw, nw := v.wide.at(g, upTo, i)
	rest := max(nw-no, 1)
	return max((sn-so)/max(nn-no, 1), (sw-so)/rest, 0.5/rest)
}

// sums writes the sum of the counts before each non-empty bin, and of all, to upTo.
func sums(c, upTo []float64) {
	sum := 0.0
	for i, v := range c {
		upTo[i] = sum
		sum += v
	}
	upTo[len(c)] = sum
}

// llr is the log likelihood ratio of a count against a smaller Poisson mean, 0 below it.
func llr(count, mean float64) float64 {
	if count <= mean {
		return 0
	}
	return count*math.Log(count/mean) - (count - mean)
}
