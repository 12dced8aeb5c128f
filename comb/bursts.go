package comb

import (
	"cmp"
	"math"
	"slices"
)

// burst is a run of bins that stand out of their background. It, not the
// single event, is the unit of everything that follows: a batch, a session or
// a herd counts once, so that the null is a sparse point process.
type burst struct {
	a, b int32   // first and last bin
	pos  float64 // centroid of the excess, in bins of its level, to a fraction of a bin
	size float64 // events above the background
	lam  float64 // background, events a bin
	llr  float64 // of its most striking bin
	long bool    // too long for a tooth of this level: of use for spikes only
}

const (
	strongLLR = 7.0 // a burst that stands by itself
	laxLLR    = 4.0 // one that may be a weak tooth of a long comb
	maxRun    = 13  // bins; a longer run is long
	joinGap   = 2   // bins at this distance belong to one run
)

// level is the counts at one bin width and the bursts in them.
type level struct {
	*grid
	shift  uint // the bins are 2^shift of the finest ones
	bursts []burst
}

const (
	widestBin   = 600.0 // seconds
	levelsPerOf = 48    // the coverage holds at least so many bins of the widest level
)

// workshop is memory that is used again: by one level after the other, one
// search after the other, one series after the other.
type workshop struct {
	finest   grid
	coarse   []*grid // the levels above the finest
	upTo     []float64
	quiet    []float64
	peaks    []peak // of the level
	first    []peak // before the background was quiet
	follower follower
	lags     lagCounter
}

// levels returns the counts at doubling bin widths. They are in the workshop's
// memory, until it is called again.
func (m *workshop) levels(base *grid) []level {
	span := float64(base.n) * base.w
	var out []level
	g := base
	for shift := uint(0); ; shift++ {
		out = append(out, level{grid: g, shift: shift, bursts: m.findBursts(g, base, shift)})
		if g.w*2 > min(widestBin, span/levelsPerOf) {
			return out
		}
		g = m.coarser(g, shift)
	}
}

// coarser returns the level above one that has bins of 2^shift of the finest.
func (m *workshop) coarser(g *grid, shift uint) *grid {
	if int(shift) == len(m.coarse) {
		m.coarse = append(m.coarse, new(grid))
	}
	g.coarsen(m.coarse[shift])
	if shift == 0 {
		m.coarse[shift].dropEmpty() // removal empties bins of the finest only
	}
	return m.coarse[shift]
}

// peak is a bin that stands out of its background.
type peak struct {
	i        int // of the non-empty bins
	lam, llr float64
}

// findBursts returns the bursts of g in time order. The background is computed
// twice, the second time without the bins that stood out, where there are any.
func (m *workshop) findBursts(g, base *grid, shift uint) []burst {
	m.upTo, m.peaks = sized(m.upTo, len(g.x)+1), m.peaks[:0]
	sums(g.c, m.upTo)
	for lo, v := 0, newAround(); lo < len(g.x); lo += blockBins {
		m.findPeaks(g, g.c, lo, &v)
	}
	if m.hush(g) {
		m.findAgain(g)
	}
	out := make([]burst, 0, len(m.peaks))
	for _, p := range m.peaks {
		x, excess := g.x[p.i], g.c[p.i]-p.lam
		k := len(out) - 1
		if k < 0 || x-out[k].b > joinGap {
			out = append(out, burst{a: x, b: x, size: excess, lam: p.lam, llr: p.llr})
			continue
		}
		out[k].extend(x, excess, p.lam, p.llr)
	}
	center(out, base, shift)
	return out
}

// hush writes the counts without what stands out by itself to quiet. It
// reports whether there is any.
func (m *workshop) hush(g *grid) bool {
	if !slices.ContainsFunc(m.peaks, func(p peak) bool { return p.llr > strongLLR }) {
		return false
	}
	m.quiet = append(m.quiet[:0], g.c...)
	for _, p := range m.peaks {
		if p.llr > strongLLR {
			m.quiet[p.i] = p.lam
		}
	}
	return true
}

// findAgain finds the peaks over the quiet background, anew where it is
// another one: in the blocks within reach of a bin that was hushed.
func (m *workshop) findAgain(g *grid) {
	sums(m.quiet, m.upTo)
	first := m.peaks
	m.first, m.peaks = first, m.first[:0]
	hushed := 0
	v := newAround()
	for lo := 0; lo < len(g.x); lo += blockBins {
		last := min(lo+blockBins, len(g.x)) - 1
		for hushed < len(m.first) && (m.first[hushed].llr <= strongLLR || g.x[m.first[hushed].i] < g.x[lo]-wideBins) {
			hushed++
		}
		again := hushed < len(m.first) && g.x[m.first[hushed].i] <= g.x[last]+wideBins
		if again {
			m.findPeaks(g, m.quiet, lo, &v)
		}
		for ; len(first) > 0 && first[0].i <= last; first = first[1:] {
			if !again {
				m.peaks = append(m.peaks, first[0])
			}
		}
	}
}

// blockBins is how many non-empty bins are looked at together.
const blockBins = 16

// findPeaks lists the bins of the block from lo that stand out of a background
// made of the counts c. Nearly none do, so the block is first held against a
// lower bound of all their backgrounds, and then each bin against one of its own.
func (m *workshop) findPeaks(g *grid, c []float64, lo int, v *around) {
	hi := min(lo+blockBins, len(g.x))
	top := tallest(g.c[lo:hi])
	if top < minExcess {
		return
	}
	sum := v.common(g, m.upTo, lo, hi-1)
	around := max(top, g.c[max(lo-1, 0)], g.c[min(hi, len(g.c)-1)]) // c is nowhere above the counts of g
	if !mayStandOut(top, leastBackground(sum-3*around)) {
		return
	}
	for i := lo; i < hi; i++ {
		if g.c[i] < minExcess || !mayStandOut(g.c[i], leastBackground(sum-g.own(c, i))) {
			continue
		}
		lam := v.background(g, m.upTo, i)
		if !mayStandOut(g.c[i], lam) {
			continue
		}
		if l := llr(g.c[i], lam); l > laxLLR && g.c[i]-lam >= minExcess {
			m.peaks = append(m.peaks, peak{i, lam, l})
		}
	}
}

// tallest of some counts, which are at least 0. The bits of such floats are in
// the same order, and compared without a branch.
func tallest(c []float64) float64 {
	top := uint64(0)
	for _, v := range c {
		top = max(top, math.Float64bits(v))
	}
	return math.Float64frombits(top)
}

// common returns the sum of the bins that the wide neighbourhoods of all bins
// from first to last have in common.
func (v *around) common(g *grid, upTo []float64, first, last int) float64 {
	s := &v.shared
	from, to := g.x[last]-wideBins, g.x[first]+wideBins
	s.lo, s.hi = max(s.lo, last-wideBins), max(s.hi, first)
	for s.hi < len(g.x) && g.x[s.hi] <= to {
		s.hi++
	}
	for g.x[s.lo] < from {
		s.lo++
	}
	return upTo[s.hi] - upTo[min(s.lo, s.hi)]
}

// own is the sum of the counts c of non-empty bin i and its neighbours.
func (g *grid) own(c []float64, i int) float64 {
	sum := c[i]
	if i > 0 && g.x[i-1] == g.x[i]-1 {
		sum += c[i-1]
	}
	if i+1 < len(c) && g.x[i+1] == g.x[i]+1 {
		sum += c[i+1]
	}
	return sum
}

// leastBackground is a lower bound of a background, from a part of the events
// in its wide neighbourhood.
func leastBackground(events float64) float64 {
	const bins = 2 * (wideBins - ownBins) // at most
	return max(0.999*events, 0.5) / bins  // for the sums are rounded
}

// mayStandOut is a quick test of a count against a lower bound of its
// background: false when it is not minExcess above it, or when its log
// likelihood ratio is not above laxLLR, by ln(1+u) <= u(6+u)/(6+4u).
func mayStandOut(count, background float64) bool {
	e := count - background
	return e >= minExcess-0.001 && e*e*(3*background+e) > 0.999*laxLLR*background*(6*background+4*e)
}

func (b *burst) extend(x int32, excess, lam, l float64) {
	b.b = x
	if b.b-b.a >= maxRun {
		b.long = true // its size stays that of the first bins
	} else {
		b.size += excess
	}
	if l > b.llr {
		b.llr, b.lam = l, lam
	}
}

// center sets each burst's position from the finest counts over its run and
// half a bin on both sides. Teeth a few bins wide are only found because this
// is finer than a bin.
func center(bs []burst, base *grid, shift uint) {
	scale := float64(int32(1) << shift)
	half := int32(1) << shift / 2
	j := 0
	for i := range bs {
		b := &bs[i]
		b.pos = float64(b.a+b.b+1) / 2
		if b.long {
			continue
		}
		lo, hi := b.a<<shift-half, (b.b+1)<<shift+half
		for j > 0 && base.x[j-1] >= lo {
			j-- // into the half bin after the burst before
		}
		skip, _ := slices.BinarySearch(base.x[j:], lo)
		j += skip
		var sum, moment float64
		for e := j; e < len(base.x) && base.x[e] < hi; e++ {
			if v := base.c[e] - b.lam/scale; v > 0 {
				sum += v
				moment += v * (float64(base.x[e]) + 0.5)
			}
		}
		if sum > 0 {
			b.pos = moment / sum / scale
		}
	}
}

// list is a selection of a level's bursts in which a comb is searched.
type list struct {
	level int
	w     float64   // bin of the level, seconds
	at    []float64 // positions of the bursts, rising, in bins
}

// maxLax bounds the lists that include weak bursts.
const maxLax = 60_000

// lists selects the bursts to search in: the strong ones, the weak ones too
// where there are many more, and the largest few, in which a few big teeth
// stand free of the many small bursts of a busy record.
func lists(lvs []level) []list {
	var out []list
	for li, lv := range lvs {
		add := func(at []float64) {
			if len(at) >= 3 {
				out = append(out, list{li, lv.w, at})
			}
		}
		strong := make([]burst, 0, len(lv.bursts))
		lax := make([]float64, 0, len(lv.bursts))
		for _, b := range lv.bursts {
			if b.long {
				continue
			}
			lax = append(lax, b.pos)
			if b.llr > strongLLR {
				strong = append(strong, b)
			}
		}
		add(positions(strong))
		if len(lax) <= maxLax && float64(len(lax)) > 1.15*float64(len(strong)) {
			add(lax)
		}
		slices.SortFunc(strong, func(a, b burst) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.pos, b.pos)) })
		for _, m := range []int{1500, 300, 60, 14} {
			if float64(len(strong)) > 1.4*float64(m) {
				top := positions(strong[:m])
				slices.Sort(top)
				add(top)
			}
		}
	}
	return out
}

// positions of some bursts.
func positions(bs []burst) []float64 {
	at := make([]float64, len(bs))
	for i, b := range bs {
		at[i] = b.pos
	}
	return at
}
