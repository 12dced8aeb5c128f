package comb

import (
	"cmp"
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

// levels returns the counts at doubling bin widths.
func levels(base *grid) []level {
	span := float64(base.n) * base.w
	var out []level
	g, mem := base, newScratch(len(base.x))
	for shift := uint(0); ; shift++ {
		out = append(out, level{grid: g, shift: shift, bursts: findBursts(g, base, shift, mem)})
		if g.w*2 > min(widestBin, span/levelsPerOf) {
			return out
		}
		g = g.coarsen()
	}
}

// findBursts returns the bursts of g in time order. The background is
// computed twice, the second time without the bins that stood out.
func findBursts(g, base *grid, shift uint, mem *scratch) []burst {
	lam, quiet := mem.lam[:len(g.x)], mem.quiet[:len(g.x)]
	clear(lam)
	g.background(g.c, lam, mem.upTo, minExcess)
	again := false
	for i, c := range g.c {
		quiet[i] = c
		if c-lam[i] >= minExcess && llr(c, lam[i]) > strongLLR {
			quiet[i], again = lam[i], true
		}
	}
	if again {
		g.background(quiet, lam, mem.upTo, minExcess)
	}
	var out []burst
	for i, c := range g.c {
		excess := c - lam[i]
		if excess < minExcess {
			continue
		}
		l := llr(c, lam[i])
		if l <= laxLLR {
			continue
		}
		k := len(out) - 1
		if k < 0 || g.x[i]-out[k].b > joinGap {
			out = append(out, burst{a: g.x[i], b: g.x[i], size: excess, lam: lam[i], llr: l})
			continue
		}
		out[k].extend(g.x[i], excess, lam[i], l)
	}
	center(out, base, shift)
	return out
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
			j--
		}
		for j < len(base.x) && base.x[j] < lo {
			j++
		}
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

// list is a selection of a level's bursts, in time order, in which a comb is searched.
type list struct {
	level int
	w     float64 // bin of the level, seconds
	bs    []burst
}

// maxLax bounds the lists that include weak bursts.
const maxLax = 60_000

// lists selects the bursts to search in: the strong ones, the weak ones too
// where there are many more, and the largest few, in which a few big teeth
// stand free of the many small bursts of a busy record.
func lists(lvs []level) []list {
	var out []list
	for li, lv := range lvs {
		add := func(bs []burst) {
			if len(bs) >= 3 {
				out = append(out, list{li, lv.w, bs})
			}
		}
		var strong, lax []burst
		for _, b := range lv.bursts {
			if b.long {
				continue
			}
			lax = append(lax, b)
			if b.llr > strongLLR {
				strong = append(strong, b)
			}
		}
		add(strong)
		if len(lax) <= maxLax && float64(len(lax)) > 1.15*float64(len(strong)) {
			add(lax)
		}
		bySize := slices.Clone(strong)
		slices.SortFunc(bySize, func(a, b burst) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.pos, b.pos)) })
		for _, m := range []int{1500, 300, 60, 14} {
			if float64(len(strong)) > 1.4*float64(m) {
				top := slices.Clone(bySize[:m])
				slices.SortFunc(top, func(a, b burst) int { return cmp.Compare(a.pos, b.pos) })
				add(top)
			}
		}
	}
	return out
}
