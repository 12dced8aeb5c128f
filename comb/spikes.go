package comb

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

const (
	spikeBin    = 16.0 // seconds: the widest level searched for spikes
	broadBin    = 64.0 // seconds: the level at which slow overdispersion is measured
	spikeEvents = 30.0 // events above the background that a spike has at least
	spikeLead   = 2.5  // times the next largest burst
	fewBursts   = 10   // with fewer others there is no tail to fit ...
	fewLead     = 8.0  // ... and a spike must be so many times the next
	maxOneOffs  = 10   // one-off spikes a level
	flank       = 24   // bins each side that the core must be twice as dense as
)

// oneOff is a burst that may be a spike, on one level.
type oneOff struct {
	a, b   float64 // seconds from the origin
	size   float64
	height float64 // LLR over the dispersion: comparable between levels
	logP   float64 // ln
}

// spikes returns the bursts that are outliers among the series' own bursts and
// beyond its own overdispersion, in time order, at most one a place.
func (d *detector) spikes(lvs []level) []Spike {
	broad := lvs[0]
	for _, lv := range lvs {
		if lv.w <= broadBin {
			broad = lv
		}
	}
	var found []oneOff
	for _, lv := range lvs {
		if lv.w > spikeBin {
			break
		}
		found = append(found, lv.oneOffs(broad, len(lvs))...)
	}
	slices.SortStableFunc(found, func(a, b oneOff) int { return cmp.Or(cmp.Compare(b.height, a.height), cmp.Compare(a.a, b.a)) })
	var kept []oneOff
	for _, s := range found {
		overlaps := func(k oneOff) bool { return s.a < k.b+2 && s.b > k.a-2 }
		if !slices.ContainsFunc(kept, overlaps) && !d.remainder(s) {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b oneOff) int { return cmp.Compare(a.a, b.a) })
	var out []Spike
	for _, s := range kept {
		out = append(out, Spike{Tooth: d.tooth(d.burstAt(s)), LogP: s.logP / math.Ln10})
	}
	return out
}

// burstAt measures a spike in the finest counts.
func (d *detector) burstAt(s oneOff) toothSeen {
	g := d.base
	a := sort.Search(len(g.x), func(i int) bool { return float64(g.x[i]) >= s.a/g.w })
	b := sort.Search(len(g.x), func(i int) bool { return float64(g.x[i]) >= s.b/g.w })
	return g.tooth(a, b, s.a, 0)
}

// oneOffs returns the outliers of one level.
func (lv level) oneOffs(broad level, looks int) []oneOff {
	sizes := lv.declustered()
	total := 0.0
	for _, c := range lv.c {
		total += c
	}
	n, logP := outliers(sizes, total)
	if n == 0 {
		return nil
	}
	limit := 3.0
	if n < len(sizes) {
		limit = sizes[n]
	}
	phi := max(lv.dispersion(limit), 1)
	if broad.w > lv.w {
		phi = max(phi, broad.dispersion(limit))
	}
	bins := math.Log(float64(lv.n) * float64(looks))
	var out []oneOff
	for _, b := range lv.bursts {
		height := b.llr / phi
		run := min(b.b, b.a+maxRun-1) - b.a + 1
		if b.size < sizes[n-1] || height <= bins-math.Log(alpha) || b.size <= b.lam*float64(run) || !lv.twoSided(b) {
			continue
		}
		out = append(out, oneOff{a: float64(b.a) * lv.w, b: float64(b.a+run) * lv.w, size: b.size, height: height, logP: max(logP, bins-height)})
	}
	return out
}

// declustered returns the sizes of the strong bursts, largest first, without
// aftershocks: bursts within a minute or five durations after a larger one.
func (lv level) declustered() []float64 {
	var out []float64
	until, last := math.Inf(-1), 0.0
	for _, b := range lv.bursts {
		if b.llr <= strongLLR || b.long && len(out) > 0 && b.llr < 30 {
			continue
		}
		start, end := float64(b.a)*lv.w, float64(b.b+1)*lv.w
		if start < until && b.size < last {
			until = max(until, end+20)
			continue
		}
		out = append(out, b.size)
		until, last = end+max(60, 5*(end-start)), b.size
	}
	slices.SortFunc(out, func(a, b float64) int { return cmp.Compare(b, a) })
	return out
}

// outliers returns how many of the sizes, largest first, stand apart from the
// rest, and ln of the chance that the rest would have brought one so large.
// Without enough others to say, two or three bursts that make up most of the
// series' total events are its way to come and no one-offs.
func outliers(sizes []float64, total float64) (n int, logP float64) {
	sum := 0.0
	for m := 1; m <= min(maxOneOffs, len(sizes)); m++ {
		z, rest := sizes[m-1], sizes[m:]
		sum += z
		if z < spikeEvents {
			break
		}
		if len(rest) > 0 && z < spikeLead*rest[0] {
			continue
		}
		p := math.Log(alpha)
		switch {
		case len(rest) >= fewBursts:
			p = paretoTail(rest, z)
		case m > 3 || m > 1 && 2*sum > total || len(rest) > 0 && z < fewLead*rest[0]:
			continue
		}
		if p <= math.Log(alpha) {
			n, logP = m, p
		}
	}
	return n, logP
}

// paretoTail is ln P(the largest of a population exceeds z), from a
// generalised Pareto law fitted to the upper tail of its sizes, largest first,
// by probability-weighted moments (Hosking and Wallis 1987).
func paretoTail(sizes []float64, z float64) float64 {
	k := min(max(len(sizes)/8, 10), 60, len(sizes)-1)
	over := sizes[k]
	var b0, a1 float64
	for i, s := range sizes[:k] {
		y := (s - over) / float64(k)
		b0 += y
		a1 += y * (float64(i) + 0.35) / float64(k)
	}
	shape, scale := 0.0, max(1, 0.1*over)
	if d := b0 - 2*a1; b0 > 1e-9 && d > 1e-9 {
		shape, scale = 2-b0/d, 2*b0*a1/d
	} else if b0 > 1e-9 {
		shape, scale = 0.9, b0
	}
	shape = max(shape, 0) + 1.5/math.Sqrt(float64(k)) // one and a half standard errors up
	scale = max(scale, math.Sqrt(over))
	return math.Log(float64(k)) - math.Log1p(shape*(z-over)/scale)/shape
}

// dispersion is the variance about the local background over the mean, bins
// above the background by more than limit counted as limit.
func (g *grid) dispersion(limit float64) float64 {
	upTo, lam, c := make([]float64, len(g.x)+1), make([]float64, len(g.x)), make([]float64, len(g.x))
	backgrounds := func(of []float64) {
		sums(of, upTo)
		v := newAround()
		for i := range lam {
			lam[i] = v.background(g, upTo, i)
		}
	}
	backgrounds(g.c)
	for i := range c {
		c[i] = min(g.c[i], lam[i]+limit)
	}
	backgrounds(c)
	var ss, sum float64
	for i := range c {
		r := min(c[i]-lam[i], limit)
		ss += r * r
		sum += c[i]
	}
	return ss / max(sum, 1)
}

// twoSided reports whether a burst is at least twice as dense as either side.
// A step is no spike, nor is a burst cut off by the end of the log.
func (g *grid) twoSided(b burst) bool {
	end := min(b.b, b.a+maxRun-1)
	run := end - b.a + 1
	left, right := min(flank, b.a), min(flank, g.n-1-end)
	if min(left, right) < min(run, flank) {
		return false
	}
	core := g.sum(b.a, end) / float64(run)
	return core > 2*g.sum(b.a-left, b.a-1)/float64(left) && core > 2*g.sum(end+1, end+right)/float64(right)
}

// sum of the counts in bins [lo, hi].
func (g *grid) sum(lo, hi int32) float64 {
	i, _ := slices.BinarySearch(g.x, lo)
	total := 0.0
	for ; i < len(g.x) && g.x[i] <= hi; i++ {
		total += g.c[i]
	}
	return total
}

// remainder reports whether a burst is what removal left near a line of an
// accepted comb, or near where its lines would go on.
func (d *detector) remainder(s oneOff) bool {
	for _, t := range d.trains {
		if s.size >= 3*t.height {
			continue
		}
		p := t.fit.b
		first, last := t.lines[0].at, t.lines[len(t.lines)-1].at
		near := []float64{first - p*math.Round((first-s.a)/p), last + p*math.Round((s.a-last)/p)}
		z := sort.Search(len(t.lines), func(i int) bool { return t.lines[i].at >= s.a })
		if z > 0 {
			near = append(near, t.lines[z-1].at, t.lines[z-1].at+p)
		}
		if z < len(t.lines) {
			near = append(near, t.lines[z].at, t.lines[z].at-p)
		}
		for _, l := range near {
			if s.b >= l+min(2*t.lo, -0.05*p)-2 && s.a <= l+max(2*t.hi, 0.15*p)+2 {
				return true
			}
		}
	}
	return false
}
