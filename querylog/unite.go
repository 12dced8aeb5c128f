package querylog

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// still is how far apart, in periods, the parts of a tooth may be to be one.
const still = 0.25

// unite puts herds together that are parts of one: values that were filled
// together with one TTL and take different times to rebuild. Each part keeps its
// own pace, so that after some periods their teeth overlap no more and the
// detector takes them for two; they remain one herd, with one cause and one
// remedy, while their teeth come together and lie apart only by what the two
// paces explain.
func (a *analyser) unite(herds []*herd) []*herd {
	for i := 0; i < len(herds); i++ {
		for j := i + 1; j < len(herds); j++ {
			if !a.oneBirth(herds[i], herds[j]) {
				continue
			}
			if both := a.herdOf(a.union(herds[i], herds[j])); both != nil {
				herds[i] = both
				herds = slices.Delete(herds, j, j+1)
				j = i // it may be one with what it was not one with before
			}
		}
	}
	return herds
}

// oneBirth says whether two herds are parts of one.
func (a *analyser) oneBirth(x, y *herd) bool {
	switch {
	case !x.cached() || !y.cached(), x.replica != y.replica, x.hot() != y.hot():
		return false // another cause, or another remedy
	case math.Abs(float64(x.comb.Period)/float64(y.comb.Period)-1) > alike:
		return false
	case !selfTimed(x.comb) || !selfTimed(y.comb):
		return false
	}
	xTTL, xNear := a.ttlOf(x)
	yTTL, yNear := a.ttlOf(y)
	if xNear != yNear || xTTL != yTTL {
		return false
	}
	return partedByPace(x.comb, y.comb)
}

// cached says whether a herd is made of what a cache could answer.
func (h *herd) cached() bool { return !h.main.follower && !h.main.artefact() && h.reads() >= 0.6 }

// hot says whether one text makes a herd.
func (h *herd) hot() bool { return h.f.Identical >= 0.5 }

// selfTimed says whether a comb may keep its own time: its teeth come later and
// later against the wall clock, or nobody can tell.
func selfTimed(c comb.Comb) bool {
	return c.Lock != comb.WallClock || c.DriftErr > 0 && c.Drift > 2*c.DriftErr
}

// fewTogether is how many teeth two herds share at least to be one.
const fewTogether = 3

// partedByPace says whether the teeth of two combs came together at first and
// lie apart, in the time that both last, only by the difference of their
// periods.
func partedByPace(x, y comb.Comb) bool {
	pace := (x.Period - y.Period).Abs() + x.PeriodErr + y.PeriodErr
	slack := max(x.Width, y.Width, 2*time.Second)
	limit := time.Duration(still * float64(min(x.Period, y.Period)))
	begins := []time.Time{x.Teeth[0].At, y.Teeth[0].At}
	ends := []time.Time{x.Teeth[len(x.Teeth)-1].At, y.Teeth[len(y.Teeth)-1].At}
	from := slices.MaxFunc(begins, time.Time.Compare).Add(-limit)
	to := slices.MinFunc(ends, time.Time.Compare).Add(limit)
	n, with := 0, 0
	for _, t := range x.Teeth {
		if t.At.Before(from) || t.At.After(to) {
			continue
		}
		off := nearest(y.Teeth, t.At).At.Sub(t.At).Abs()
		if n == 0 && off > slack {
			return false
		}
		if off <= min(slack+time.Duration(n)*pace, limit) {
			with++
		}
		n++
	}
	return n >= fewTogether && 5*with >= 4*n
}

// nearest returns the tooth that begins nearest to a time.
func nearest(teeth []comb.Tooth, at time.Time) comb.Tooth {
	i, _ := slices.BinarySearchFunc(teeth, at, func(t comb.Tooth, at time.Time) int { return t.At.Compare(at) })
	if i > 0 && (i == len(teeth) || at.Sub(teeth[i-1].At) < teeth[i].At.Sub(at)) {
		i--
	}
	return teeth[i]
}

// union is the family of two herds: the comb of the surer one with the teeth of
// both, measured anew.
func (a *analyser) union(x, y *herd) comb.Family {
	if y.family.Comb.LogP < x.family.Comb.LogP {
		x, y = y, x
	}
	fam := comb.Family{Comb: x.family.Comb}
	c, o := &fam.Comb, &y.family.Comb
	c.Teeth = joinTeeth(c.Teeth, o.Teeth, time.Duration(still*float64(min(c.Period, o.Period))))
	c.Anchor = c.Teeth[0].At
	c.DriftErr, c.PeriodErr = max(c.DriftErr, o.DriftErr), max(c.PeriodErr, o.PeriodErr)
	c.Harm = c.Harm || o.Harm
	if o.Lock == comb.Drifting {
		c.Lock = o.Lock
	}
	var classes []*class
	for _, m := range slices.Concat(x.family.Members, y.family.Members) {
		if i := slices.IndexFunc(fam.Members, func(k comb.Member) bool { return k.Index == m.Index }); i >= 0 {
			fam.Members[i].Own = fam.Members[i].Own || m.Own
			continue
		}
		k := a.classes[m.Index]
		m.Count = 0
		for _, t := range c.Teeth {
			m.Count += count(k.in(a.windowOf(t)))
		}
		fam.Members = append(fam.Members, m)
		if !m.Follower {
			classes = append(classes, k)
		}
	}
	slices.SortStableFunc(fam.Members, func(p, q comb.Member) int {
		return cmp.Or(boolCompare(p.Follower, q.Follower), cmp.Compare(q.Count, p.Count), cmp.Compare(p.Name, q.Name))
	})
	a.remeasure(c, classes)
	return fam
}

// joinTeeth puts the teeth of two combs together where they are at most so far
// apart.
func joinTeeth(x, y []comb.Tooth, apart time.Duration) []comb.Tooth {
	all := slices.Concat(x, y)
	slices.SortFunc(all, func(p, q comb.Tooth) int { return cmp.Or(p.At.Compare(q.At), cmp.Compare(p.Width, q.Width)) })
	var out []comb.Tooth
	for _, t := range all {
		k := len(out) - 1
		if k < 0 || t.At.Sub(out[k].At) > apart {
			out = append(out, t)
			continue
		}
		out[k].Width = max(out[k].Width, t.At.Add(t.Width).Sub(out[k].At))
	}
	return out
}

// remeasure counts the statements of classes in the teeth of a comb and between
// them.
func (a *analyser) remeasure(c *comb.Comb, classes []*class) {
	var all, inside uint64
	for _, k := range classes {
		all += k.n
	}
	var heights, widths []float64
	var wide time.Duration
	c.Peak = 0
	for i := range c.Teeth {
		t := &c.Teeth[i]
		t.Count = 0
		for _, k := range classes {
			t.Count += count(k.in(a.windowOf(*t)))
		}
		_, n := a.peakIn(classes, a.windowOf(*t))
		c.Peak = max(c.Peak, n)
		inside += t.Count
		wide += t.Width
		heights, widths = append(heights, float64(t.Count)), append(widths, float64(t.Width))
	}
	c.Width = time.Duration(median(widths))
	c.Missing = lacking(*c)
	c.Baseline = float64(all-min(inside, all)) / max((a.span-wide).Seconds(), 1)
	c.Height = median(heights) - c.Baseline*c.Width.Seconds()
	c.Share = max(0, float64(inside)-c.Baseline*wide.Seconds()) / float64(max(all, 1))
	c.PeakToBase = min(1e6, float64(c.Peak)/max(c.Baseline, 1e-9))
}
