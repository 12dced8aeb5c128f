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

// tolerances are the timing errors tried, in bins, widest first; the finest
// level can't resolve the last.
var tolerances = [3]float64{1.6, 0.6, 0.2}

const finestTolerance = 0.35

// tolerance is number v of those tried at a level.
func tolerance(level, v int) float64 {
	if level == 0 {
		return max(tolerances[v], finestTolerance)
	}
	return tolerances[v]
}

// follower finds the best chain of a list by dynamic programming, with all
// tolerances at once. Its memory is reused.
type follower struct {
	at    []float64               // positions of the bursts
	steps [][len(tolerances)]step // of each of them
	terms [maxGap + 1]gapTerm
	logs  []float64 // ln k
}

// step is the best chain that ends at a burst.
type step struct {
	score float64
	gain  float64 // of its last link
	prev  int32   // burst before, or -1
	gap   int8
}

// alone is a burst before which there is no other.
var alone = [len(tolerances)]step{{prev: -1}, {prev: -1}, {prev: -1}}

// begin makes the follower ready for the positions of a list.
func (f *follower) begin(at []float64) {
	f.at, f.steps = at, sized(f.steps, len(at))
	if f.logs == nil {
		for g := 1; g <= maxGap; g++ {
			f.terms[g].share, f.terms[g].logShare = gapShare[g], math.Log(gapShare[g])
		}
	}
	for k := len(f.logs); k <= len(at); k++ {
		f.logs = append(f.logs, math.Log(float64(k)))
	}
}

// gapTerm is what links over one number of periods have in common.
type gapTerm struct {
	shift           float64 // bins
	next            int     // first burst that may be the tooth before
	share, logShare float64
	by              [len(tolerances)]struct {
		tol       float64 // bins
		rate      float64 // chance of a hit per burst in the horizon
		logChance float64 // ln rate, once it is needed
	}
}

func (f *follower) setTerms(level int, period, horizon float64) {
	for g := 1; g <= maxGap; g++ {
		t := &f.terms[g]
		t.shift, t.next = float64(g)*period, 0
		for v := range t.by {
			b := &t.by[v]
			b.tol = tolerance(level, v) * (1 + 0.3*float64(g-1))
			b.rate = clustering * b.tol / horizon
			b.logChance = 0
		}
	}
}

// longest returns a bound, in bins, of the periods whose chains can score as
// much: there is room for so many teeth, and a link earns most over one
// period, with the finest tolerance and no other burst in the horizon.
func (l *list) longest(score float64) float64 {
	finest := len(tolerances) - 1
	most := math.Log(gapShare[1] * max(horizonSeconds/l.w, horizonBins) / (clustering * tolerance(l.level, finest)))
	links := math.Ceil(score/most - 1e-6)
	return (l.at[len(l.at)-1]-l.at[0])/links + maxRefined + tolerance(l.level, 0)
}

// maxRefined is how far, in bins, a period may be refined.
const maxRefined = 1.6

// run scores the best chain at a period: the sum of ln(prior share of the gap
// / chance of a burst there). For bursts that are locally Poisson each factor
// is a likelihood ratio, so the expectation of the sum over all chains of
// exp(score) is at most the number of bursts, and the score bounds the
// false-alarm probability (Markov). It returns the last burst for each
// tolerance, or -1.
func (f *follower) run(l list, period float64) (best [len(tolerances)]int) {
	at := l.at
	f.begin(at)
	horizon := min(period/2, max(horizonSeconds/l.w, horizonBins))
	f.setTerms(l.level, period, horizon)
	restartCost := f.logs[len(at)] - math.Log(restartShare)
	var from [len(tolerances)]int          // best chain that ended 1.5 periods ago or earlier, if done is above 0
	var top, most [len(tolerances)]float64 // scores of from and best
	done, lo, hi := 0, 0, 0
	for k, x := range at {
		for at[lo] < x-horizon {
			lo++
		}
		for hi < len(at) && at[hi] <= x+horizon {
			hi++
		}
		here := &f.steps[k]
		*here = alone
		f.extend(k, hi-lo)
		for ; at[done] < x-1.5*period; done++ {
			for v := range from {
				if s := f.steps[done][v].score; s > top[v] {
					from[v], top[v] = done, s
				}
			}
		}
		for v := range from {
			if s := top[v] - restartCost; s > here[v].score {
				here[v] = step{score: s, prev: int32(from[v]), gap: restart}
			}
			if s := here[v].score; s > most[v] {
				best[v], most[v] = k, s
			}
		}
	}
	for v, k := range best {
		if f.steps[k][v].prev < 0 {
			best[v] = -1
		}
	}
	return best
}

// extend links burst k to the best tooth 1..8 periods before it; local is the number of bursts around k.
func (f *follower) extend(k, local int) {
	at, x := f.at, f.at[k]
	for g := 1; g <= maxGap; g++ {
		t := &f.terms[g]
		place, widest := x-t.shift, t.by[0].tol
		if place+widest < at[0] {
			return
		}
		for t.next < k && at[t.next] < place-widest {
			t.next++
		}
		for j := t.next; j < k && at[j] <= place+widest; j++ {
			f.link(t, g, k, j, local, place)
		}
	}
}

// link makes burst j the tooth before k, with each tolerance that allows it and for which it is the best.
func (f *follower) link(t *gapTerm, g, k, j, local int, place float64) {
	at := f.at[j]
	for v := range t.by {
		b := &t.by[v]
		if at < place-b.tol || at > place+b.tol {
			return // nor is it within the narrower ones
		}
		if b.rate*float64(local) >= t.share {
			continue
		}
		if b.logChance == 0 {
			b.logChance = math.Log(b.rate)
		}
		gain := -b.logChance - f.logs[local]
		if s := f.steps[j][v].score + gain + t.logShare; s > f.steps[k][v].score {
			f.steps[k][v] = step{score: s, gain: gain, prev: int32(j), gap: int8(g)}
		}
	}
}

// trace returns the links of the chain that ends at a burst, with tolerance number v.
func (f *follower) trace(end, v int) []link {
	var out []link
	for k := end; k >= 0; k = int(f.steps[k][v].prev) {
		l := link{i: k}
		if s := &f.steps[k][v]; s.prev >= 0 {
			l.gap, l.gain = int(s.gap), s.gain
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
		winner := -1
		ends := f.run(l, period)
		for v, end := range ends {
			if end >= 0 && f.steps[end][v].score > score {
				score, winner = f.steps[end][v].score, v
			}
		}
		if winner >= 0 {
			best = chain{list: l, period: period, tol: tolerance(l.level, winner), links: f.trace(ends[winner], winner)}
		}
		if best.links == nil || pass > 0 || hopeless(score) {
			break
		}
		refined := best.fitPeriod()
		if math.Abs(refined-period) >= maxRefined {
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
		p := place{at: c.at[l.i]}
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
			sum -= math.Log(float64(len(c.at))) - math.Log(restartShare)
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
