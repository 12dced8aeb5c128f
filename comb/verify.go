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

// toothSeen is what the counts hold at a line.
type toothSeen struct {
	onset, end float64        // seconds from the origin
	marks      [marks]float64 // places in it that may be the best to time it by
	count      float64
	peak       float64 // events in its busiest second
	base       float64 // events a second on both sides of it
	height     float64 // count above that background
	edge       bool    // a step of the background rather than a tooth
	late       bool    // found apart from the chain
}

// marks are the onset, the first tenth and the middle of a tooth.
const marks = 3

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

// cut takes the counts around each line, and the background on both sides of it.
func (d *detector) cut(lines []toothLine, from, to, w, period float64) []toothSeen {
	g := d.base
	width := to - from
	flank := min(max(2*width, 4*w), (period-width)/2)
	var tooth, before, after stretch
	out := make([]toothSeen, len(lines))
	for i, l := range lines {
		lo, hi := l.at+from, l.at+to
		tooth.to(g, lo, hi)
		before.to(g, lo-flank, lo)
		after.to(g, hi, hi+flank)
		base := beside(before.sum, after.sum) / flank
		out[i] = g.tooth(tooth.a, tooth.b, l.at, base)
		out[i].height = tooth.sum - base*width
		step := math.Abs(before.sum - after.sum)
		out[i].edge = step > 3*math.Sqrt(before.sum+after.sum) && step*width > 0.5*out[i].height*flank
	}
	return out
}

// beside is the background of a tooth from the counts of its two sides: their
// mean, or the lower one when they differ as a tail or another tooth makes them.
func beside(before, after float64) float64 {
	if math.Abs(before-after) > 3*math.Sqrt(before+after) {
		return min(before, after)
	}
	return (before + after) / 2
}

// stretch is a sum over a stretch of time that moves forward.
type stretch struct {
	a, b int // non-empty bins in it
	sum  float64
}

// to moves to the bins whose middle is in [lo, hi).
func (v *stretch) to(g *grid, lo, hi float64) {
	for v.a < len(g.x) && g.center(v.a) < lo {
		if v.a < v.b {
			v.sum -= g.c[v.a]
		} else {
			v.b++
		}
		v.a++
	}
	for v.b < len(g.x) && g.center(v.b) < hi {
		v.sum += g.c[v.b]
		v.b++
	}
}

const (
	onsetShare = 0.6  // a tooth begins with the shortest interval that holds so much of it
	endShare   = 0.95 // and ends when so much of it has come
)

// tooth measures the burst in the non-empty bins [a, b) over a background of base events a second.
func (g *grid) tooth(a, b int, otherwise, base float64) toothSeen {
	t := toothSeen{onset: otherwise, end: otherwise + g.w, marks: [marks]float64{otherwise, otherwise, otherwise}, base: base}
	if a >= b {
		return t
	}
	for _, c := range g.c[a:b] {
		t.count += c
	}
	t.peak = g.busiest(a, b)
	t.onset = g.shortest(a, b, onsetShare*t.count)
	t.end = max(g.reached(a, b, endShare, 0), t.onset+g.w)
	t.marks = [marks]float64{t.onset, g.reached(a, b, 0.1, base), g.reached(a, b, 0.5, base)}
	return t
}

// shortest returns the start of the shortest interval with at least so many events.
func (g *grid) shortest(a, b int, events float64) float64 {
	least, start := math.Inf(1), g.x[a]
	held, q := 0.0, a
	for p := a; p < b; p++ {
		for q < b && held < events {
			held += g.c[q]
			q++
		}
		if held < events {
			break
		}
		if l := float64(g.x[q-1] - g.x[p]); l < least {
			least, start = l, g.x[p]
		}
		held -= g.c[p]
	}
	return float64(start) * g.w
}

// reached returns when a share of the events above base have come, interpolated within its bin.
func (g *grid) reached(a, b int, share, base float64) float64 {
	total := 0.0
	for _, c := range g.c[a:b] {
		total += max(c-base*g.w, 0)
	}
	come := 0.0
	for i := a; i < b; i++ {
		c := max(g.c[i]-base*g.w, 0)
		if c > 0 && come+c >= share*total {
			return (float64(g.x[i]) + (share*total-come)/c) * g.w
		}
		come += c
	}
	return g.center(a)
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

const (
	endSlack  = 0.1  // of a period: how far from its place a tooth beyond the ends of the chain may be
	lateSlack = 0.02 // the same for one within
	endLLR    = 10.0 // how clearly such a tooth must stand out
	endHeight = 0.2  // of the median, or 1/5 to 5 times as tall
)

// extend looks for teeth that the chain missed: late ones within, and those
// beyond both ends, where the first teeth of a herd keep another time than the
// later ones. They are counted, but the period is not fitted to them.
func (d *detector) extend(t *train) {
	for i, l := range t.lines {
		if t.at[i].height > standsOut*t.height {
			continue
		}
		if _, x, ok := d.toothNear(t, l.at, lateSlack*t.chain.seconds()); ok {
			t.at[i] = x
		}
	}
	early, earlyAt := d.beyond(t, t.lines[0], -1)
	late, lateAt := d.beyond(t, t.lines[len(t.lines)-1], 1)
	slices.Reverse(early)
	slices.Reverse(earlyAt)
	t.lines = slices.Concat(early, t.lines, late)
	t.at = slices.Concat(earlyAt, t.at, lateAt)
	t.gather()
}

// beyond follows the teeth from a line in one direction, -1 or 1.
func (d *detector) beyond(t *train, from toothLine, direction int) (lines []toothLine, at []toothSeen) {
	period := t.chain.seconds()
	for {
		l, x, ok := d.toothNear(t, from.at+float64(direction)*period, endSlack*period)
		if !ok {
			return lines, at
		}
		l.index, l.jump = from.index+direction, from.jump
		lines, at, from = append(lines, l), append(at, x), l
	}
}

// toothNear looks for the tooth within slack seconds of a line's place. It may
// be wider than the others, as wide as what is taken out of the counts.
func (d *detector) toothNear(t *train, at, slack float64) (toothLine, toothSeen, bool) {
	g, width := d.base, t.hi-t.lo
	i, _ := slices.BinarySearch(g.x, int32(max((at+t.lo-slack)/g.w, 0)))
	v := stretch{a: i, b: i}
	most, best := 0.0, 0.0
	for ; i < len(g.x); i++ {
		from := float64(g.x[i]) * g.w
		if from > at+t.lo+slack {
			break
		}
		v.to(g, from, from+width)
		if v.sum > most {
			most, best = v.sum, from
		}
	}
	if most == 0 {
		return toothLine{}, toothSeen{}, false
	}
	l := toothLine{at: best - t.lo, seen: true}
	x := d.cut([]toothLine{l}, t.lo, t.hi, t.chain.w, t.chain.seconds())[0]
	x.late = true
	clear := llr(x.count, max(x.base, t.base)*width) > endLLR
	return l, x, clear && !x.edge && x.height > endHeight*t.height && x.height < t.height/endHeight
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
		background := min(t.at[i].base, t.base) * g.w // whichever side a tail or a slope has raised
		for k := j; k < e; k++ {
			if g.c[k] > background {
				g.c[k] = background + (g.c[k]-background)*keep
			}
		}
	}
	d.trains = append(d.trains, t)
}
