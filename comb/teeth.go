package comb

import (
	"math"
	"slices"
)

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
		out[i].edge = step > 3*math.Sqrt(max(before.sum+after.sum, 0)) && step*width > 0.5*out[i].height*flank
	}
	return out
}

// beside is the background of a tooth from the counts of its two sides: their
// mean, or the lower one when they differ as a tail or another tooth makes them.
func beside(before, after float64) float64 {
	if math.Abs(before-after) > 3*math.Sqrt(max(before+after, 0)) {
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
