package querylog

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// What counts as a stampede.
const (
	herdCopies  = 50  // identical statements together, from which a stampede harms
	herdAtOnce  = 30  // of them at once or within a second
	someCopies  = 20  // from which it is told at all, 10 of them logged within a second
	overMean    = 5.0 // times the rate of its class around it
	maxFindings = 10000
)

// stampedes reports HS502: many copies of one identical statement together, also when it happens once.
func (a *analyser) stampedes() {
	for _, c := range a.classes {
		if !c.follower && !c.artefact() {
			a.stampede(c)
		}
	}
}

// stampede reports the bursts of one class.
func (a *analyser) stampede(c *class) {
	var list []Burst
	for _, b := range a.bursts[c] {
		switch {
		case a.times(b.Count) < someCopies, b.Span > time.Duration(maxRunSpan)/2:
		case b.Conns > 0 && b.Conns < 5: // a few connections: one after the other
		case float64(b.Second) < math.Max(10, overMean*a.around(c, b)):
		case a.taken(b.Start):
		default:
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return
	}
	f := Finding{Rule: "HS502", Severity: rule.Warning, Subject: c.shape, Of: c.n, Texts: c.texts.distinct()}
	hosts := map[hostID]uint64{}
	var identical float64
	for i, b := range list {
		if i < maxFindings {
			f.Teeth = append(f.Teeth, comb.Tooth{At: b.Start, Width: max(b.Span, time.Duration(a.bin)), Count: b.Count})
		}
		f.Count += b.Count
		f.Avoidable += b.Count - 1
		f.AtOnce = max(f.AtOnce, b.Peak)
		f.Second = max(f.Second, b.Second)
		f.HostsATooth = max(f.HostsATooth, b.Hosts)
		f.ConnsATooth = max(f.ConnsATooth, b.Conns)
		identical = max(identical, float64(b.Count))
		for _, x := range c.in(window{b.Start.UnixNano() - a.bin, b.Start.Add(b.Span).UnixNano() + a.bin}) {
			if x.host() != noHost {
				hosts[x.host()] += x.n()
			}
		}
	}
	f.Hosts, f.HostTotal = a.hostList(hosts)
	f.Members = []Class{a.member(c, f.Count)}
	f.Identical = 1
	slices.SortFunc(list, compareBursts)
	f.Bursts = list[:min(len(list), MaxBursts)]
	a.scale(&f)
	if top := f.Bursts[0]; top.Count < herdCopies || top.Count <= 3*uint64(top.Hosts) || max(f.AtOnce, f.Second) < herdAtOnce {
		f.note(fmt.Sprintf("at most %d copies together, %d within a second", top.Count, f.Second))
	}
	f.Causes = a.stampedeCauses(&f, c, list)
	f.Fix = fixStampede(&f)
	a.add(f)
}

// around returns the rate of a class, in statements a second, in the half
// minutes before and after a burst.
func (a *analyser) around(c *class, b Burst) float64 {
	const reach, edge = int64(30 * time.Second), int64(time.Second)
	from, to := b.Start.UnixNano(), b.Start.Add(b.Span).UnixNano()
	before := window{max(from-edge-reach, a.s.from), from - edge}
	after := window{to + edge, min(to+edge+reach, a.s.to)}
	var n uint64
	var seconds float64
	for _, w := range []window{before, after} {
		if w.to > w.from {
			n += count(c.in(w))
			seconds += float64(w.to-w.from) / 1e9
		}
	}
	return float64(n) / math.Max(seconds, 1)
}
