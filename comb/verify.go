package comb

import (
	"math"
	"slices"
	"sort"
)

// train is a verified comb with what is needed to take it out of the counts.
type train struct {
	chain  chain
	lines  []toothLine
	at     []toothSeen // what the counts hold at each line
	height float64     // median of the teeth, events above the background
	count  float64     // median of the teeth, with the background
	base   float64     // events a second between them, all lines together
	seen   int
	lo, hi float64 // removal region, seconds from a line
	logB   float64
	fit    line // onset on index, seconds from the origin
	teeth  []toothSeen
	width  float64 // of a tooth, seconds
	inside float64 // events in teeth above the background
	lock   Lock
}

// verify folds the counts on the chain and measures the tooth. It returns nil
// for what is no comb: a wave, a step, the remainder of an accepted comb. The
// chain's period may turn out to be a multiple or a divisor of the true one.
func (d *detector) verify(c chain) *train { return d.verifyPeriod(c, maxDivisions, true) }

// maxDivisions bounds how often a period is divided in a row.
const maxDivisions = 4

func (d *detector) verifyPeriod(c chain, divisions int, split bool) *train {
	lines := c.lines()
	period := c.seconds()
	p := fold(d.base, lines, period, c.w)
	if divisions > 0 {
		if m := p.divisor(period, c.w); m > 1 {
			return d.verifyPeriod(c.divide(m), divisions-1, split)
		}
	}
	p = p.near(40 * c.w)
	s, ok := p.measure(period, c.w)
	if !ok {
		return nil
	}
	t := &train{chain: c, lines: lines, at: d.cut(lines, s.lo, s.hi, c.w, period), base: s.base, logB: c.logB, width: s.hi - s.lo}
	if !t.collect() {
		return nil
	}
	if split && float64(len(lines)-t.seen) > 0.2*float64(len(lines)) {
		if k, ok := t.tallClass(); ok {
			return d.verifyPeriod(k, 0, false)
		}
	}
	if !d.fitOnsets(t) || !d.outsideOthers(t) {
		return nil
	}
	t.lo, t.hi = p.removal(s)
	d.extend(t)
	return t
}

// divide returns the chain with an m-th of the period.
func (c chain) divide(m int) chain {
	c.period /= float64(m)
	c.links = slices.Clone(c.links)
	for i := range c.links {
		if c.links[i].gap != restart {
			c.links[i].gap *= m
		}
	}
	return c
}

// standsOut is the share of the median height that a tooth has at least.
const standsOut = 0.3

// collect keeps the teeth that stand out at their lines. It fails when the
// median tooth does not, or when most are edges: rising and falling edges of a
// square wave together look like a tooth in the mean.
func (t *train) collect() bool {
	var counts, heights []float64
	for i, l := range t.lines {
		if l.seen {
			counts = append(counts, t.at[i].count)
			heights = append(heights, t.at[i].height)
		}
	}
	t.count, t.height = median(counts), median(heights)
	if t.height <= 0 {
		return false
	}
	t.gather()
	edges := 0
	for _, x := range t.teeth {
		if x.edge {
			edges++
		}
	}
	return 2*edges <= t.seen
}

// gather lists the teeth that stand out.
func (t *train) gather() {
	t.teeth, t.inside = nil, 0
	for _, x := range t.at {
		if x.late || x.height > standsOut*t.height {
			t.inside += x.height
			t.teeth = append(t.teeth, x)
		}
	}
	t.seen = len(t.teeth)
}

// tallClass finds the residue class of the lines that alone carries teeth:
// two combs of one period, or half a period found because of dense bursts.
func (t *train) tallClass() (chain, bool) {
	lines := len(t.lines)
	share := float64(t.seen) / float64(lines)
	for m := 2; m <= maxDivisor && lines/m >= 4; m++ {
		classes := make([][]float64, m)
		for i, l := range t.lines {
			classes[l.index%m] = append(classes[l.index%m], t.at[i].height)
		}
		best, top, second := 0, math.Inf(-1), math.Inf(-1)
		for r, hs := range classes {
			switch h := median(hs); {
			case h > top:
				best, top, second = r, h, top
			case h > second:
				second = h
			}
		}
		n, hit := float64(len(classes[best])), 0.0
		for _, h := range classes[best] {
			if h > standsOut*t.height {
				hit++
			}
		}
		f := min(hit/n, 0.999)
		if f <= share || top <= 0.5*t.height || second >= 0.2*top {
			continue
		}
		alone := float64(t.seen) == hit && f > 0.9 // no tooth is missing, and none is elsewhere
		if alone || n*(f*math.Log(f/share)+(1-f)*math.Log((1-f)/(1-share))) > 8 {
			if c := t.chain.class(m, best); len(c.links) >= 3 {
				return c, true
			}
		}
	}
	return chain{}, false
}

// fitOnsets fits the line through the chain's teeth, timed by the mark that
// keeps the steadiest time: the onset of a sharp tooth, the middle of a wide one.
func (d *detector) fitOnsets(t *train) bool {
	bin := d.base.w
	var x []float64
	var y [marks][]float64
	for i, l := range t.lines {
		if l.seen && t.at[i].height > 0.2*t.height {
			x = append(x, float64(l.index))
			for m, at := range t.at[i].marks {
				y[m] = append(y[m], at-l.jump)
			}
		}
	}
	if len(x) < 3 {
		return false
	}
	for m := range y {
		l := fitRobust(x, y[m], bin/math.Sqrt(12))
		if m > 0 && l.sigma >= t.fit.sigma {
			continue
		}
		late := make([]float64, len(x))
		for i := range late {
			late[i] = y[m][i] - y[0][i]
		}
		l.a -= median(late) // the line goes through onsets whatever it was timed by
		t.fit = l
	}
	t.lock = lockOf(t.fit, len(x), x[len(x)-1]-x[0], bin)
	if t.lock == WallClock && !d.keepsClock(t) {
		t.lock = Undetermined
	}
	return t.fit.b > 0 && t.fit.sigma <= maxJitter*t.fit.b
}

// maxJitter is the timing noise of the teeth, as a share of the period, beyond
// which bursts that happen to be there are taken for teeth.
const maxJitter = 0.06

// removal is the region to take out: down to a hundredth of the height or the
// noise, at least half a tooth to the left and one to the right.
func (p *profile) removal(s shape) (lo, hi float64) {
	base := s.base * p.bin
	noise := 2 * math.Sqrt(max(base, 1e-9)/float64(p.lines)/float64(p.run))
	a, b := p.downTo(base+max(0.01*(p.smooth[s.peak]-base), noise), s.a, s.b, s.peak, s.reach)
	width := s.b - s.a + 1
	a = max(min(a, s.a-width/2-1), s.peak-s.reach, 0)
	b = min(max(b, s.b+width), s.peak+s.reach, len(p.smooth)-1)
	a, b = min(a, s.a), max(b, s.b)
	return p.distance(a), p.distance(b + 1)
}

// lineAt returns the index of the line whose removal region, widened by
// margin, holds time at, or -1.
func (t *train) lineAt(at, margin float64) int {
	q := sort.Search(len(t.lines), func(i int) bool { return t.lines[i].at >= at })
	for _, i := range []int{q - 1, q} {
		if i >= 0 && i < len(t.lines) && at >= t.lines[i].at+t.lo-margin && at <= t.lines[i].at+t.hi+margin {
			return i
		}
	}
	return -1
}

// outsideOthers tests a train against the accepted ones whose period is a
// multiple or a divisor of its own. What is left of the same teeth is no
// comb. Larger teeth are, if the train is beyond what a random subset of the
// accepted teeth would give.
func (d *detector) outsideOthers(t *train) bool {
	for _, a := range d.trains {
		ratio := t.chain.seconds() / a.chain.seconds()
		k := math.Round(max(ratio, 1/ratio))
		if off := math.Abs(max(ratio, 1/ratio) - k); k == 1 && off > 0.03 || k > 1 && off > 0.01*k {
			continue
		}
		fringe := t.height < 0.5*a.height
		margin := 1.5 * t.chain.w
		if fringe {
			margin = max(margin, a.width)
		}
		on := 0
		for _, x := range t.teeth {
			if a.lineAt(x.onset, margin) >= 0 {
				on++
			}
		}
		if float64(on) <= 0.7*float64(len(t.teeth)) {
			continue
		}
		if ratio < 1.5 || fringe || float64(t.seen) < 0.6*float64(len(t.lines)) {
			return false
		}
		t.logB = max(t.logB, a.subsetBound(t, margin))
		if t.logB > d.threshold {
			return false
		}
	}
	return true
}

// subsetBound is ln of the bound for a train that is a subset of a's teeth,
// the null being that any subset of them is as likely.
func (a *train) subsetBound(t *train, margin float64) float64 {
	carriers := map[int]bool{}
	for _, at := range t.chain.at {
		if i := a.lineAt(at*t.chain.w, margin); i >= 0 {
			carriers[i] = true
		}
	}
	pool, score := float64(len(carriers)), 0.0
	for _, l := range t.chain.links {
		if l.gap < 1 || l.gap > maxGap {
			continue
		}
		pool = max(pool-1, 1)
		chance := max(math.Exp(-l.gain), 1.2*pool/float64(len(a.lines)))
		if chance < gapShare[l.gap] {
			score += math.Log(gapShare[l.gap] / chance)
		}
	}
	return math.Log(float64(len(carriers))) + math.Log(20) - score
}

// remove takes a train's teeth out of the counts. Of a tooth more than twice
// as tall as the median the remainder stays: it may belong to a nested comb.
func (d *detector) remove(t *train) {
	g := d.base
	j := 0
	for i, l := range t.lines {
		for j < len(g.x) && g.center(j) < l.at+t.lo {
			j++
		}
		e, sum := j, 0.0
		for e < len(g.x) && g.center(e) <= l.at+t.hi {
			sum += g.c[e]
			e++
		}
		below := t.at[i].base * g.w * float64(e-j)
		keep := 0.0
		if h := sum - below; h > 2*t.height && h-t.height > 4*math.Sqrt(t.height+below) {
			keep = (h - t.height) / h
		}
		background := max(min(t.at[i].base, t.base), 0) * g.w // whichever side a tail or a slope has raised
		for k := j; k < e; k++ {
			if g.c[k] > background {
				g.c[k] = background + (g.c[k]-background)*keep
			}
		}
	}
	d.trains = append(d.trains, t)
}
