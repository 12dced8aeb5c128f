package comb

import (
	"math"
	"slices"
)

// A chain is a train of teeth followed one by one: each is predicted from the
// one before, so a herd that is a random walk (TTL plus rebuild) and a lattice
// (cron) are both followed, over missing teeth, gaps and jumps of the clock.
type chain struct {
	list
	period float64 // bins
	tol    float64 // bins a tooth may be off
	links  []link
	logB   float64 // ln of the bound on the false-alarm probability
}

// seconds is the period in seconds.
func (c *chain) seconds() float64 { return c.period * c.w }

// link is one tooth of a chain.
type link struct {
	i    int     // burst in the list
	gap  int     // periods since the tooth before; 0 for the first, restart for a new phase
	gain float64 // -ln of the probability that a burst falls there by chance
}

const (
	maxGap  = 8
	restart = -1
	// clustering widens the chance of a burst near a predicted place: bursts are more clustered than Poisson.
	clustering = 1.5
	// horizon bounds the stretch in which the local density of bursts is counted, in seconds and in bins.
	horizonSeconds = 900.0
	horizonBins    = 64.0
)

// gapShare is the prior share of links over 1..8 periods; a restart has the rest, restartShare.
var gapShare = [maxGap + 1]float64{0, 0.66, 0.14, 0.07, 0.04, 0.02, 0.02, 0.015, 0.015}

const restartShare = 0.02

// tolerances are the timing errors tried, in bins; the finest level can't resolve the first.
var tolerances = [3]float64{1.6, 0.6, 0.2}

const finestTolerance = 0.35

// follower finds the best chain of a list by dynamic programming. Its buffers are reused.
type follower struct {
	score []float64
	gain  []float64
	prev  []int32
	gap   []int8
	logs  []float64 // ln k
}

func (f *follower) grow(n int) {
	if cap(f.score) < n {
		f.score, f.gain = make([]float64, n), make([]float64, n)
		f.prev, f.gap = make([]int32, n), make([]int8, n)
	}
	f.score, f.gain, f.prev, f.gap = f.score[:n], f.gain[:n], f.prev[:n], f.gap[:n]
	for k := len(f.logs); k <= n; k++ {
		f.logs = append(f.logs, math.Log(float64(k)))
	}
}

// gapTerm is what links over one number of periods have in common.
type gapTerm struct {
	shift, tol  float64 // bins
	logChance   float64 // ln(chance of a hit per burst in the horizon)
	logShare    float64
	next        int // first burst that may be the tooth before
	share, rate float64
}

func gapTerms(period, tol, horizon float64) [maxGap + 1]gapTerm {
	var out [maxGap + 1]gapTerm
	for g := 1; g <= maxGap; g++ {
		t := tol * (1 + 0.3*float64(g-1))
		rate := clustering * t / horizon
		out[g] = gapTerm{shift: float64(g) * period, tol: t, logChance: math.Log(rate), logShare: math.Log(gapShare[g]), share: gapShare[g], rate: rate}
	}
	return out
}

// run scores the best chain at a period: the sum of ln(prior share of the gap
// / chance of a burst there). For bursts that are locally Poisson each factor
// is a likelihood ratio, so the expectation of the sum over all chains of
// exp(score) is at most the number of bursts, and the score bounds the
// false-alarm probability (Markov). It returns the last burst, or -1.
func (f *follower) run(l list, period, tol float64) int {
	bs := l.bs
	f.grow(len(bs))
	horizon := min(period/2, max(horizonSeconds/l.w, horizonBins))
	terms := gapTerms(period, tol, horizon)
	restartCost := f.logs[len(bs)] - math.Log(restartShare)
	best, from, done := -1, -1, 0 // from: best chain that ended 1.5 periods ago or earlier
	lo, hi := 0, 0
	for k := range bs {
		x := bs[k].pos
		for bs[lo].pos < x-horizon {
			lo++
		}
		for hi < len(bs) && bs[hi].pos <= x+horizon {
			hi++
		}
		f.score[k], f.prev[k] = 0, -1
		f.extend(bs, &terms, k, hi-lo)
		for ; bs[done].pos < x-1.5*period; done++ {
			if from < 0 || f.score[done] > f.score[from] {
				from = done
			}
		}
		if from >= 0 && f.score[from]-restartCost > f.score[k] {
			f.set(k, from, restart, f.score[from]-restartCost, 0)
		}
		if best < 0 || f.score[k] > f.score[best] {
			best = k
		}
	}
	if best >= 0 && f.prev[best] < 0 {
		return -1
	}
	return best
}

// extend links burst k to the best tooth 1..8 periods before it; local is the number of bursts around k.
func (f *follower) extend(bs []burst, terms *[maxGap + 1]gapTerm, k, local int) {
	x, first := bs[k].pos, bs[0].pos
	for g := 1; g <= maxGap; g++ {
		t := &terms[g]
		lo, hi := x-t.shift-t.tol, x-t.shift+t.tol
		if hi < first {
			return
		}
		for t.next < k && bs[t.next].pos < lo {
			t.next++
		}
		j := t.next
		if j >= k || bs[j].pos > hi || t.rate*float64(local) >= t.share {
			continue
		}
		gain := -t.logChance - f.logs[local]
		for ; j < k && bs[j].pos <= hi; j++ {
			if s := f.score[j] + gain + t.logShare; s > f.score[k] {
				f.set(k, j, g, s, gain)
			}
		}
	}
}

func (f *follower) set(k, prev, gap int, score, gain float64) {
	f.score[k], f.prev[k], f.gap[k], f.gain[k] = score, int32(prev), int8(gap), gain
}

// trace returns the links of the chain that ends at a burst.
func (f *follower) trace(end int) []link {
	var out []link
	for k := end; k >= 0; k = int(f.prev[k]) {
		l := link{i: k}
		if f.prev[k] >= 0 {
			l.gap, l.gain = int(f.gap[k]), f.gain[k]
		}
		out = append(out, l)
	}
	slices.Reverse(out)
	return out
}

// follow returns the best chain near a period over all tolerances, and its
// score. The period is refined once by regression. hopeless says that a score
// need not be refined.
func (f *follower) follow(l list, period float64, hopeless func(score float64) bool) (best chain, score float64) {
	for pass := range 2 {
		for _, tol := range tolerances {
			if l.level == 0 {
				tol = max(tol, finestTolerance)
			}
			if end := f.run(l, period, tol); end >= 0 && f.score[end] > score {
				score = f.score[end]
				best = chain{list: l, period: period, tol: tol, links: f.trace(end)}
			}
		}
		if best.links == nil || pass > 0 || hopeless(score) {
			break
		}
		refined := best.fitPeriod()
		if math.Abs(refined-period) >= 1.6 {
			break
		}
		period = refined
	}
	return best, score
}

// place is where a chain's tooth lies: index counts periods, jump the phase lost at restarts.
type place struct {
	at    float64 // bins
	index int
	jump  float64 // bins
}

// places numbers the teeth of a chain. At a restart the phase jumps unless the
// old one is met within the tolerance, which widens like a random walk.
func (c *chain) places() []place {
	out := make([]place, len(c.links))
	for i, l := range c.links {
		p := place{at: c.bs[l.i].pos}
		if i > 0 {
			before := out[i-1]
			p.index, p.jump = before.index+l.gap, before.jump
			if l.gap == restart {
				m := max(math.Round((p.at-before.at)/c.period), 1)
				p.index = before.index + int(m)
				if off := p.at - before.at - m*c.period; math.Abs(off) > (c.tol+1)*math.Sqrt(m) {
					p.jump += off
				}
			}
		}
		out[i] = p
	}
	return out
}

// fitPeriod is the least-squares spacing of the teeth, in bins.
func (c *chain) fitPeriod() float64 {
	ps := c.places()
	x, y := make([]float64, len(ps)), make([]float64, len(ps))
	for i, p := range ps {
		x[i], y[i] = float64(p.index), p.at-p.jump
	}
	_, slope := fitLine(x, y)
	return slope
}

// class returns the chain of the teeth whose index is r modulo m, with m times the period.
func (c *chain) class(m, r int) chain {
	out := *c
	out.period = c.period * float64(m)
	out.links = nil
	last := 0
	for i, p := range c.places() {
		if p.index%m != r {
			continue
		}
		l := link{i: c.links[i].i}
		if out.links != nil {
			l.gain = c.links[i].gain + math.Log(float64(m))
			if l.gap = (p.index - last) / m; l.gap > maxGap {
				l.gap = restart
			}
		}
		out.links = append(out.links, l)
		last = p.index
	}
	return out
}

// score is the sum of what the links earn.
func (c *chain) score() float64 {
	sum := 0.0
	for _, l := range c.links {
		switch {
		case l.gap == restart:
			sum -= math.Log(float64(len(c.bs))) - math.Log(restartShare)
		case l.gap > 0 && l.gap <= maxGap:
			sum += l.gain + math.Log(gapShare[l.gap])
		}
	}
	return sum
}

// sparseClass returns the comb of m times the period when the teeth occupy one
// residue class modulo m and hardly any other: the search took a divisor.
func (c *chain) sparseClass() (chain, bool) {
	ps := c.places()
	total := ps[len(ps)-1].index + 1
	if float64(len(ps)) > 0.7*float64(total) {
		return chain{}, false
	}
	for m := 2; m <= maxDivisor && total/m >= 4; m++ {
		n := make([]int, m)
		for _, p := range ps {
			n[p.index%m]++
		}
		full, partly, best := 0, 0, 0
		for r, k := range n {
			switch share := float64(k*m) / float64(total); {
			case share >= 0.75:
				full++
			case share > 0.15:
				partly++
			}
			if k > n[best] {
				best = r
			}
		}
		if full > 0 && full < m && partly == 0 {
			d := c.class(m, best)
			d.logB = c.logB + c.score() - d.score()
			return d, true
		}
	}
	return chain{}, false
}
