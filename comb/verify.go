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
	height float64 // median of the teeth, events above the background
	base   float64 // events a second between them
	seen   int
	lo, hi float64 // removal region, seconds from a line
	logB   float64
	fit    line // onset on index, seconds from the origin
	teeth  []toothSeen
	width  float64
	inside float64 // events in teeth above the background
	lock   Lock
}

// toothSeen is a tooth as it is in the counts.
type toothSeen struct {
	onset, end float64 // seconds from the origin
	count      float64
	peak       float64 // events in its busiest second
}

// period in seconds.
func (c *chain) seconds() float64 { return c.period * c.w }

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
	seen := d.cut(lines, s)
	heights := make([]float64, len(lines))
	var chained []float64
	for i, l := range lines {
		heights[i] = seen[i].count - s.base*(s.hi-s.lo)
		if l.seen {
			chained = append(chained, heights[i])
		}
	}
	t := &train{chain: c, lines: lines, height: median(chained), base: s.base, logB: c.logB, width: s.hi - s.lo}
	if t.height <= 0 {
		return nil
	}
	t.collect(seen, heights)
	if split && float64(len(lines)-t.seen) > 0.2*float64(len(lines)) {
		if k, ok := t.tallClass(heights); ok {
			return d.verifyPeriod(k, 0, false)
		}
	}
	if !t.fitOnsets(seen, heights, d.base.w) || !d.outsideOthers(t) {
		return nil
	}
	t.lo, t.hi = p.removal(s)
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

// cut takes the counts around each line.
func (d *detector) cut(lines []toothLine, s shape) []toothSeen {
	g := d.base
	out := make([]toothSeen, len(lines))
	j := 0
	for i, l := range lines {
		for j < len(g.x) && g.center(j) < l.at+s.lo {
			j++
		}
		e := j
		for e < len(g.x) && g.center(e) <= l.at+s.hi {
			e++
		}
		out[i] = g.tooth(j, e, l.at)
	}
	return out
}

const (
	onsetShare = 0.6  // a tooth begins with the shortest interval that holds so much of it
	endShare   = 0.95 // and ends when so much of it has come
)

// tooth measures the burst in the non-empty bins [a, b).
func (g *grid) tooth(a, b int, otherwise float64) toothSeen {
	t := toothSeen{onset: otherwise, end: otherwise + g.w}
	if a >= b {
		return t
	}
	for _, c := range g.c[a:b] {
		t.count += c
	}
	t.peak = g.busiest(a, b)
	shortest := math.Inf(1)
	held, q := 0.0, a
	for p := a; p < b; p++ {
		for q < b && held < onsetShare*t.count {
			held += g.c[q]
			q++
		}
		if held < onsetShare*t.count {
			break
		}
		if l := float64(g.x[q-1] - g.x[p]); l < shortest {
			shortest, t.onset = l, float64(g.x[p])*g.w
		}
		held -= g.c[p]
	}
	come := 0.0
	for i := a; i < b; i++ {
		if come += g.c[i]; come >= endShare*t.count {
			t.end = max(float64(g.x[i]+1)*g.w, t.onset+g.w)
			break
		}
	}
	return t
}

// busiest returns the events of the busiest second in the non-empty bins [a, b).
func (g *grid) busiest(a, b int) float64 {
	per := max(int32(math.Round(1/g.w)), 1)
	sum, best := 0.0, 0.0
	j := a
	for i := a; i < b; i++ {
		sum += g.c[i]
		for ; g.x[i]-g.x[j] >= per; j++ {
			sum -= g.c[j]
		}
		best = max(best, sum)
	}
	return best
}

// collect keeps the teeth that stand out at their lines.
func (t *train) collect(seen []toothSeen, heights []float64) {
	t.teeth, t.seen, t.inside = nil, 0, 0
	for i, h := range heights {
		if h > 0.3*t.height {
			t.seen++
			t.inside += h
			t.teeth = append(t.teeth, seen[i])
		}
	}
}

// tallClass finds the residue class of the lines that alone carries teeth:
// two combs of one period, or half a period found because of dense bursts.
func (t *train) tallClass(heights []float64) (chain, bool) {
	lines := len(t.lines)
	share := float64(t.seen) / float64(lines)
	for m := 2; m <= maxDivisor && lines/m >= 4; m++ {
		classes := make([][]float64, m)
		for i, l := range t.lines {
			classes[l.index%m] = append(classes[l.index%m], heights[i])
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
			if h > 0.3*t.height {
				hit++
			}
		}
		f := min(hit/n, 0.999)
		if f <= share || top <= 0.5*t.height || second >= 0.2*top {
			continue
		}
		if n*(f*math.Log(f/share)+(1-f)*math.Log((1-f)/(1-share))) > 8 {
			if c := t.chain.class(m, best); len(c.links) >= 3 {
				return c, true
			}
		}
	}
	return chain{}, false
}

// fitOnsets fits the line through the onsets of the chain's teeth.
func (t *train) fitOnsets(seen []toothSeen, heights []float64, bin float64) bool {
	var x, y []float64
	for i, l := range t.lines {
		if l.seen && heights[i] > 0.2*t.height {
			x = append(x, float64(l.index))
			y = append(y, seen[i].onset-l.jump)
		}
	}
	if len(x) < 3 {
		return false
	}
	t.fit = fitRobust(x, y, bin/math.Sqrt(12))
	t.lock = lockOf(t.fit, len(x), x[len(x)-1]-x[0], bin)
	return t.fit.b > 0
}

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

// outsideOthers tests a train whose teeth lie on the lines of an accepted one
// of which its period is a multiple. What is left of the same teeth is no
// comb. Larger teeth are, if the train is beyond what a random subset of the
// accepted teeth would give.
func (d *detector) outsideOthers(t *train) bool {
	margin := 1.5 * t.chain.w
	for _, a := range d.trains {
		ratio := t.chain.seconds() / a.chain.seconds()
		k := math.Round(ratio)
		if k < 1 || k == 1 && math.Abs(ratio-1) > 0.03 || k > 1 && math.Abs(ratio-k) > 0.01*k {
			continue
		}
		on := 0
		for _, l := range t.lines {
			if l.seen && a.lineAt(l.at, margin) >= 0 {
				on++
			}
		}
		if float64(on) <= 0.7*float64(len(t.chain.links)) {
			continue
		}
		if k == 1 || t.height < 0.5*a.height || float64(t.seen) < 0.6*float64(len(t.lines)) {
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
	for _, b := range t.chain.bs {
		if i := a.lineAt(b.pos*t.chain.w, margin); i >= 0 {
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
	background := t.base * g.w
	j := 0
	for _, l := range t.lines {
		for j < len(g.x) && g.center(j) < l.at+t.lo {
			j++
		}
		e, sum := j, 0.0
		for e < len(g.x) && g.center(e) <= l.at+t.hi {
			sum += g.c[e]
			e++
		}
		below := background * float64(e-j)
		keep := 0.0
		if h := sum - below; h > 2*t.height && h-t.height > 4*math.Sqrt(t.height+below) {
			keep = (h - t.height) / h
		}
		for i := j; i < e; i++ {
			if g.c[i] > background {
				g.c[i] = background + (g.c[i]-background)*keep
			}
		}
	}
	d.trains = append(d.trains, t)
}
