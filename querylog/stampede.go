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
		case a.times(b.Count, c, b.Start) < someCopies, b.Span > time.Duration(maxRunSpan)/2:
		case b.Conns > 0 && b.Conns < 5: // a few connections: one after the other
		case float64(b.Second) < math.Max(10, overMean*a.around(c, b)):
		case a.taken(b.Start):
		default:
			list = append(list, b)
		}
	}
	head, list := a.headOf(c, list)
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
		if isRead(c.shape) {
			f.Avoidable += b.Count - 1
		}
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
	if !f.Crowded() {
		f.note(fmt.Sprintf("at most %d copies together, %d within a second", f.Bursts[0].Count, f.Second))
	}
	if head != nil {
		f.belong(head)
	}
	f.Causes = a.stampedeCauses(&f, c, list)
	f.Fix = fixStampede(&f)
	a.add(f)
}

// Crowded says whether the copies of a stampede are so many that they harm,
// also where it is told as a part of another finding.
func (f *Finding) Crowded() bool {
	if len(f.Bursts) == 0 {
		return false
	}
	top := f.Bursts[0]
	return top.Count >= herdCopies && top.Count > 3*uint64(top.Hosts) && max(f.AtOnce, f.Second) >= herdAtOnce
}

// headOf finds the herd of whose teeth the bursts of a class are a part. If
// that herd is the one statement and others harm beside it, only those are left.
func (a *analyser) headOf(c *class, list []Burst) (*Finding, []Burst) {
	for i := range a.out.Findings {
		f := &a.out.Findings[i]
		if f.Rule != "HS501" && f.Rule != "HS504" && f.Rule != "HS505" || !f.has(c) {
			continue
		}
		inside := func(b Burst) bool { return inTooth(f.Teeth, b) || f.Comb != nil && onLine(f, b) }
		apart := slices.DeleteFunc(slices.Clone(list), inside)
		switch {
		case len(apart) == len(list):
			continue
		case f.alone() && slices.ContainsFunc(apart, func(b Burst) bool { return a.times(b.Count, c, b.Start) >= herdCopies }):
			return nil, apart
		case 2*len(apart) <= len(list):
			return f, list
		}
	}
	return nil, list
}

// has says whether a class takes part in a finding, not as its follower.
func (f *Finding) has(c *class) bool {
	return slices.ContainsFunc(f.Members, func(m Class) bool { return m.Hash == c.hash && !m.Follower })
}

// alone says whether one text makes most of each tooth of a finding.
func (f *Finding) alone() bool { return f.Identical >= 0.5 }

// inTooth says whether a burst lies in a tooth, whose edges are rounded.
func inTooth(teeth []comb.Tooth, b Burst) bool {
	const edge = time.Second
	return slices.ContainsFunc(teeth, func(t comb.Tooth) bool {
		return b.Start.Before(t.At.Add(t.Width+edge)) && b.Start.Add(b.Span).After(t.At.Add(-edge))
	})
}

// onLine says whether a burst lies where a comb would have a tooth, one period
// from one it has: the first fill, or a tooth that was too small to be seen.
func onLine(f *Finding, b Burst) bool {
	slack := max(f.Comb.Width, time.Second)
	t := nearest(f.Teeth, b.Start)
	return (b.Start.Sub(t.At).Abs() - f.Comb.Period).Abs() <= slack
}

// belong makes a stampede a part of the herd in whose teeth its copies come. It
// warns no second time about what that herd is already told for.
func (f *Finding) belong(head *Finding) {
	f.PartOf, f.PartOfRule = head.fingerprint(), head.Rule
	if head.alone() && head.Subject == f.Subject && head.Severity >= rule.Warning && f.Severity >= rule.Warning {
		f.note("the copies are the teeth of the herd that " + head.Rule + " tells: one thing, counted once")
		head.Also = append(head.Also, f.Rule)
	}
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
