package querylog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// oneOffs reports HS504: bursts beyond all others that belong to no comb.
func (a *analyser) oneOffs() {
	groups := a.spikes()
	for _, g := range groups {
		a.oneOff(g)
	}
}

// spikeGroup is one moment at which statements rose.
type spikeGroup struct {
	window
	classes []*class
}

// spikes collects the one-off teeth of single statements, and the moments at
// which reads rose together.
func (a *analyser) spikes() []spikeGroup {
	var found []spikeGroup
	var reads []*class
	for _, c := range a.classes {
		if c.follower || c.artefact() || c.partial {
			continue // what begins where the memory of it begins is no rise
		}
		if isRead(c.shape) {
			reads = append(reads, c)
		}
		for _, sp := range a.results[c].Spikes {
			found = append(found, spikeGroup{a.windowOf(sp.Tooth), []*class{c}})
		}
	}
	found = append(found, a.surges(reads)...)
	found = slices.DeleteFunc(found, func(g spikeGroup) bool {
		return len(g.classes) == 0 || a.taken(time.Unix(0, g.from)) || a.inTeeth(g.window)
	})
	return mergeSpikes(found)
}

// surges are the moments at which the largest bursts of several reads coincide,
// each perhaps too small to stand out alone, and from more than one connection.
func (a *analyser) surges(reads []*class) []spikeGroup {
	if a.span < time.Minute || len(reads) < 2 {
		return nil
	}
	named, each := make([]comb.Named, len(reads)), make([]comb.Result, len(reads))
	for i, c := range reads {
		named[i] = comb.Named{Name: c.shape, Fill: func(s *comb.Series) { c.series(s, time.Duration(a.bin)) }}
		each[i] = a.results[c]
	}
	var out []spikeGroup
	for _, s := range comb.Surges(named, each, a.options(len(a.classes))) {
		w := a.windowOf(s.Tooth)
		g := spikeGroup{w, a.risen(reads, w)}
		for _, m := range s.Members {
			if c := reads[m.Index]; !slices.Contains(g.classes, c) {
				g.classes = append(g.classes, c)
			}
		}
		if cr := a.crowdOf(g.classes, w); cr.n >= surgeCount && (cr.hosts() > 1 || cr.connections() > 1) {
			out = append(out, g)
		}
	}
	return out
}

// surgeCount is how many reads a surge has at least that is told.
const surgeCount = 50

// risen returns the classes that take part in a spike of their sum.
func (a *analyser) risen(set []*class, w window) []*class {
	var out []*class
	for _, c := range set {
		n := float64(count(c.in(w)))
		mean := float64(c.n) / max(a.span.Seconds(), 1) * float64(w.to-w.from) / 1e9
		if n >= 3 && n >= 4*mean {
			out = append(out, c)
		}
	}
	return out
}

// inTeeth says whether a window is a tooth of a comb already reported.
func (a *analyser) inTeeth(w window) bool {
	for i := range a.out.Findings {
		f := &a.out.Findings[i]
		if f.Comb == nil {
			continue
		}
		for _, t := range f.Teeth {
			tw := a.windowOf(t)
			if w.from < tw.to && tw.from < w.to {
				return true
			}
		}
	}
	return false
}

// mergeSpikes puts spikes at the same moment together.
func mergeSpikes(list []spikeGroup) []spikeGroup {
	slices.SortStableFunc(list, func(x, y spikeGroup) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to)) })
	var out []spikeGroup
	for _, g := range list {
		k := len(out) - 1
		if k < 0 || g.from > out[k].to {
			out = append(out, g)
			continue
		}
		out[k].to = max(out[k].to, g.to)
		for _, c := range g.classes {
			if !slices.Contains(out[k].classes, c) {
				out[k].classes = append(out[k].classes, c)
			}
		}
	}
	return out
}

// harmlessSecond is up to how many statements a second a one-off harms nobody.
const harmlessSecond = 20

// oneOff reports one moment.
func (a *analyser) oneOff(g spikeGroup) {
	slices.SortStableFunc(g.classes, func(x, y *class) int {
		return cmp.Or(cmp.Compare(count(y.in(g.window)), count(x.in(g.window))), cmp.Compare(x.shape, y.shape))
	})
	f := Finding{Rule: "HS504", Severity: rule.Warning, Subject: g.classes[0].shape}
	tooth := comb.Tooth{At: time.Unix(0, g.from+a.bin/2).UTC(), Width: time.Duration(g.to - g.from - a.bin)}
	crowds := a.gather(&f, g.classes, []comb.Tooth{tooth})
	tooth.Count = f.Count
	f.Teeth = []comb.Tooth{tooth}
	for _, c := range g.classes {
		f.Members = append(f.Members, a.member(c, count(c.in(g.window))))
		f.Of += c.n
	}
	_, f.Second = a.peakIn(g.classes, g.window)
	for _, o := range a.outages {
		if g.to >= o.from && g.from-o.to < int64(time.Minute) {
			f.Outage = time.Unix(0, o.to).UTC()
		}
	}
	if f.Outage.IsZero() {
		f.Avoidable = crowds[0].repeats // after an outage it is demand that waited
	}
	a.scale(&f)
	switch conns := crowds[0].connections(); {
	case f.HostsATooth <= 1 && conns == 1:
		f.note("one batch from one client over one connection")
	case len(g.classes) < 2 && f.Count < 50:
		f.note("one statement only, and few of it")
	case f.Second < harmlessSecond:
		f.note(fmt.Sprintf("at most %d within a second: too few to harm", f.Second))
	}
	f.Causes = a.oneOffCauses(&f)
	f.Fix = fixOneOff(&f)
	a.add(f)
}
