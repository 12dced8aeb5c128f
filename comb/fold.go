package comb

import "math"

// toothLine is a place where a tooth is, or should be, on the finest grid.
type toothLine struct {
	at    float64 // seconds from the origin
	index int     // periods since the first line
	jump  float64 // phase lost at restarts so far, seconds
	seen  bool    // a burst of the chain lies here; else it is a missing tooth
}

// lines are the teeth of the chain and the missing ones between them; none across a restart.
func (c *chain) lines() []toothLine {
	var out []toothLine
	for i, p := range c.places() {
		if gap := c.links[i].gap; gap != restart {
			for q := 1; q < gap; q++ {
				before := out[len(out)-q]
				step := (p.at*c.w - before.at) / float64(gap)
				out = append(out, toothLine{at: before.at + float64(q)*step, index: before.index + q, jump: before.jump})
			}
		}
		out = append(out, toothLine{at: p.at * c.w, index: p.index, jump: p.jump * c.w, seen: true})
	}
	return out
}

// profile is the mean tooth: events a bin and line, by the distance from the nearest line.
type profile struct {
	bin    float64 // seconds
	center int     // bin of distance 0
	raw    []float64
	smooth []float64 // raw under a running mean of half a level bin
	run    int       // its length in bins
	lines  int
}

// fold stacks the counts at the lines. Neighbouring lines see the events
// between them too, so the profile holds to half a period and a margin.
func fold(g *grid, lines []toothLine, period, w float64) profile {
	p := profile{bin: g.w, lines: len(lines)}
	for period/p.bin > 4096 && p.bin < w/4 || period/p.bin > 65536 {
		p.bin *= 2
	}
	p.center = int(math.Ceil((period/2+5*w)/p.bin)) + 2
	p.raw = make([]float64, 2*p.center+1)
	inner := period/2 - 5*w - 5*p.bin // nearer to a line, events are beyond the profile of its neighbours
	near := 0
	for i, c := range g.c {
		t := g.center(i)
		for near+1 < len(lines) && math.Abs(lines[near+1].at-t) <= math.Abs(lines[near].at-t) {
			near++
		}
		p.add(t-lines[near].at, c)
		if off := math.Abs(t - lines[near].at); off > inner {
			p.add(t-lines[near].at-period, c)
			p.add(t-lines[near].at+period, c)
		}
	}
	for i := range p.raw {
		p.raw[i] /= float64(len(lines))
	}
	p.run = max(1, int(math.Round(w/2/p.bin)))
	p.smooth = boxcar(p.raw, p.run)
	return p
}

// add counts events at a distance from a line, if that is in the profile.
func (p *profile) add(distance, events float64) {
	o := math.Floor(distance/p.bin+0.5) + float64(p.center)
	if o >= 0 && o < float64(len(p.raw)) {
		p.raw[int(o)] += events
	}
}

// highest returns the bin with the highest smoothed count within reach seconds of a distance.
func (p *profile) highest(distance, reach float64) int {
	c, r := p.center+int(math.Round(distance/p.bin)), int(reach/p.bin)
	best := min(max(c, 0), len(p.smooth)-1)
	for i := max(c-r, 0); i <= min(c+r, len(p.smooth)-1); i++ {
		if p.smooth[i] > p.smooth[best] {
			best = i
		}
	}
	return best
}

// maxDivisor bounds the divisors and classes of a period that are tried.
const maxDivisor = 12

// divisor returns the largest m for which all m places at distance k/m of the
// period hold equal teeth with valleys between them: the true period is an
// m-th. It is 1 when there is none.
func (p *profile) divisor(period, w float64) int {
	ground := quantile(p.smooth, 0.3)
	shift := float64(p.highest(0, min(3*w, period/4)+p.bin)-p.center) * p.bin
	height := func(distance, reach float64) float64 {
		if distance > period/2 {
			distance -= period
		}
		return p.smooth[p.highest(distance+shift, reach)] - ground
	}
	own := height(0, p.bin)
	noise := 3.5 * math.Sqrt(max(ground, 1/float64(p.lines))/float64(p.lines)/float64(p.run))
	best := 1
	for m := 2; m <= maxDivisor && period/float64(m) >= 3*w; m++ {
		step := period / float64(m)
		reach := min(w+p.bin, 0.12*step)
		equal := true
		for k := 0; k < m && equal; k++ {
			at := float64(k) * step
			equal = (k == 0 || height(at, reach) > max(0.4*own, noise)) && height(at+step/2, 0) < max(0.5*own, noise)
		}
		if equal {
			best = m
		}
	}
	return best
}

// near cuts the profile to the given distance from the lines.
func (p profile) near(distance float64) profile {
	if h := int(distance / p.bin); h < p.center {
		p.raw, p.smooth = p.raw[p.center-h:p.center+h+1], p.smooth[p.center-h:p.center+h+1]
		p.center = h
	}
	return p
}

// shape is the mean tooth measured.
type shape struct {
	base   float64 // background, events a second
	peak   int     // bin of the profile
	reach  int     // bins from the peak that may belong to the tooth
	a, b   int     // bins of the tooth down to a tenth of its height
	lo, hi float64 // the same in seconds from a line
}

const (
	maxDuty  = 0.2  // width of half height over the period, and share of the period that is so high
	maxWidth = 8.0  // the same in bins of the level
	sideDrop = 0.65 // of the height, lost on the higher side of a tooth
)

// measure finds the tooth in the profile. It fails for what is no tooth: too
// wide, or a step or a hump that stays high on one side.
func (p *profile) measure(period, w float64) (shape, bool) {
	base, ok := p.between(min(max(0.1*period, 2*w), 10*w))
	if !ok {
		return shape{}, false
	}
	peak := p.highest(0, min(3*w, period/4)+p.bin)
	height := p.smooth[peak] - base
	if height <= 0 {
		return shape{}, false
	}
	a, b := p.downTo(base+height/2, peak, peak, peak, len(p.smooth))
	if width := float64(b-a+1) * p.bin; width > maxDuty*period || width > maxWidth*w {
		return shape{}, false
	}
	s := shape{base: base / p.bin, peak: peak, reach: int(min(0.15*period, 12*w)/p.bin) + 1}
	s.a, s.b = p.downTo(base+height/10, a, b, peak, s.reach)
	band := max(s.b-s.a+1, int(2*w/p.bin))
	core := meanOr(p.raw, a, b+1, base)
	left, right := meanOr(p.raw, s.a-1-band, s.a-1, base), meanOr(p.raw, s.b+2, s.b+2+band, base)
	if core-max(left, right) < sideDrop*(core-min(left, right, base)) {
		return shape{}, false
	}
	s.lo, s.hi = p.distance(s.a), p.distance(s.b+1)
	if s.hi-s.lo > period/3 {
		return shape{}, false
	}
	if p.share(base+height/2, b-a+1) > maxDuty || p.share(base+height/4, b-a+1) > 2*maxDuty {
		return shape{}, false
	}
	return s, true
}

// share is how much of the profile is above a level under a running mean of
// the given length. Narrow teeth leave it low, however many combs there are; a
// wave does not, whatever period it was folded on.
func (p *profile) share(level float64, run int) float64 {
	above := 0
	for _, v := range boxcar(p.raw, run) {
		if v > level {
			above++
		}
	}
	return float64(above) / float64(len(p.raw))
}

// distance is where bin i begins, in seconds from a line.
func (p *profile) distance(i int) float64 { return (float64(i-p.center) - 0.5) * p.bin }

// between is the background between the teeth, events a bin: the median of
// block means outside a margin around the tooth.
func (p *profile) between(margin float64) (base float64, ok bool) {
	m := int(margin/p.bin) + 1
	var out []float64
	for i, v := range p.raw {
		if i < p.center-m || i > p.center+m {
			out = append(out, v)
		}
	}
	blocks := 16
	if len(out) < 64 {
		blocks = 4
	}
	if len(out) < blocks {
		return 0, false
	}
	means := make([]float64, blocks)
	for k := range means {
		means[k] = meanOr(out, k*len(out)/blocks, (k+1)*len(out)/blocks, 0)
	}
	return median(means), true
}

// downTo widens bins [a, b] while the smoothed profile stays above a level, at most reach bins from the peak.
func (p *profile) downTo(level float64, a, b, peak, reach int) (int, int) {
	lowest, highest := max(peak-reach, 0), min(peak+reach, len(p.smooth)-1)
	for a > lowest && p.smooth[a-1] > level {
		a--
	}
	for b < highest && p.smooth[b+1] > level {
		b++
	}
	return a, b
}
