package attribute

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
)

// join finds the herds that are one: a stampede inside the teeth of a comb, a
// job's HS503 beside its HS501, and statements of one herd whose rebuild times
// differ so much that the log shows two combs.
func (a *analyser) join() {
	vs := a.out.Verdicts
	about := a.byStatement()
	for i := range vs {
		if a.subjects[i].cache >= 0 {
			a.joinKeys(i)
			continue
		}
		for _, m := range a.subjects[i].log.Members {
			for _, j := range about[m.Hash] {
				if j != i && a.leads(j, i) && a.oneHerd(i, j) && a.nearer(i, j, vs[i].Same) {
					vs[i].Same = j
				}
			}
		}
	}
	for i := range vs { // a chain leads to its head
		for n := 0; vs[i].Same >= 0 && vs[vs[i].Same].Same >= 0 && n < len(vs); n++ {
			vs[i].Same = vs[vs[i].Same].Same
		}
	}
	for i := range vs {
		if vs[i].Same >= 0 && vs[i].Cache < 0 {
			a.agree(i, vs[i].Same)
			vs[i].Missing = nil // the head asks
		}
	}
	for i := range vs {
		vs[i].Layers = a.layers(i)
	}
}

// byStatement lists the herds of the log by the statements that take part and are
// no followers.
func (a *analyser) byStatement() map[uint64][]int {
	out := map[uint64][]int{}
	for i := range a.subjects {
		if a.subjects[i].cache >= 0 || a.subjects[i].missing {
			continue
		}
		for _, m := range a.subjects[i].log.Members {
			if !m.Follower {
				out[m.Hash] = append(out[m.Hash], i)
			}
		}
	}
	return out
}

// nearer says whether herd i is rather a part of j than of another: of one with
// the same texture, then of the one named first.
func (a *analyser) nearer(i, j, other int) bool {
	if other < 0 {
		return true
	}
	like, otherLike := a.subjects[j].hot == a.subjects[i].hot, a.subjects[other].hot == a.subjects[i].hot
	if like != otherLike {
		return like
	}
	return a.subjects[j].finding < a.subjects[other].finding
}

// joinKeys takes a herd of keys for the cause of the herd of the log that names
// them, and that of one pattern for a part of that across patterns.
func (a *analyser) joinKeys(i int) {
	s := &a.subjects[i]
	for j := range a.subjects {
		if a.subjects[j].cache >= 0 {
			continue
		}
		best := a.out.Verdicts[j].Best()
		if best.Cache == s.cache && slices.ContainsFunc(s.keys.Patterns, func(p string) bool { return slices.Contains(best.Patterns, p) }) {
			a.out.Verdicts[i].Same = j
			a.felt(&a.out.Verdicts[i], &a.out.Verdicts[j])
			return
		}
	}
	a.unfelt(i)
	within := s.keys.Herd.Within
	if within < 0 {
		return
	}
	for j := range a.subjects {
		if a.subjects[j].cache == a.subjects[i].cache && a.subjects[j].finding == within {
			a.out.Verdicts[i].Same = j
		}
	}
}

// felt tells a herd of keys what the log knows of it: its TTL, and how sure that
// is.
func (a *analyser) felt(keys, log *Verdict) {
	best, known := keys.Best(), log.Best()
	if best.TTL == 0 {
		best.TTL = known.TTL
	}
	if known.fits {
		best.say(4, "the query log has a tooth when they expire")
	} else {
		best.say(1, "the query log has a herd that such keys would make")
	}
	best.finish()
	keys.Suspects = keys.Suspects[:1]
	keys.Confidence, keys.Doubts, keys.Tied, keys.Missing = log.Confidence, log.Doubts, false, nil
}

// unfelt says why the log may not show a herd of keys.
func (a *analyser) unfelt(i int) {
	s, v := &a.subjects[i], &a.out.Verdicts[i]
	if a.Log == nil || s.severity < rule.Warning {
		return
	}
	next := s.keys.Herd.Next.From
	switch {
	case next.After(a.Log.To):
		v.Doubts = append(v.Doubts, fmt.Sprintf("the log ends at %s, before these keys expire: it can't show what they do", a.when(a.Log.To)))
	case s.keys.Herd.Largest.To.Before(a.Log.From):
		v.Doubts = append(v.Doubts, "the log begins after these keys expired")
	default:
		v.Doubts = append(v.Doubts, "the log shows no tooth when these keys expire: nobody asks for them at once, or something protects them")
	}
}

// leads says whether herd j may stand for herd i: combs stand for what has no
// period, the taller for the smaller.
func (a *analyser) leads(j, i int) bool {
	x, y := &a.subjects[j], &a.subjects[i]
	switch {
	case (x.comb != nil) != (y.comb != nil):
		return x.comb != nil
	case x.log.Rule != y.log.Rule:
		return x.log.Rule < y.log.Rule && x.comb != nil || x.log.Rule == "HS504" && y.log.Rule == "HS502"
	}
	return x.log.Count > y.log.Count || x.log.Count == y.log.Count && j < i
}

// oneHerd says whether two herds of the log that share a statement share their
// moments too.
func (a *analyser) oneHerd(i, j int) bool {
	x, y := &a.subjects[i], &a.subjects[j]
	if x.missing || y.missing {
		return false
	}
	if x.comb != nil && y.comb != nil && x.hot != y.hot {
		return false // many keys and one hot key: two forms, two cures
	}
	if x.comb != nil && y.comb != nil && math.Abs(x.period/y.period-1) > 0.04 {
		return false
	}
	return 2*x.inTeeth(y) >= len(x.onsets)
}

// inTeeth counts the teeth of s that lie in teeth of o. Statements of one herd
// that take different times to rebuild drift apart, by the difference of the
// periods a tooth.
func (s *subject) inTeeth(o *subject) (n int) {
	apart := 0.0
	if p := s.pace(); p > 0 && o.comb != nil && math.Abs(p/o.period-1) < 0.04 {
		apart = math.Abs(p-o.period) * o.steps
	}
	slack := 2*s.res + apart
	for _, t := range s.onsets {
		i, _ := slices.BinarySearch(o.onsets, t-o.width-slack)
		if i < len(o.onsets) && o.onsets[i] <= t+s.width+slack {
			n++
		}
	}
	return n
}

// pace is the period of the teeth, or about it where they have none that the
// detector vouches for; 0 for fewer than three.
func (s *subject) pace() float64 {
	if s.comb != nil {
		return s.period
	}
	var gaps []float64
	for i := 1; i < len(s.onsets); i++ {
		gaps = append(gaps, s.onsets[i]-s.onsets[i-1])
	}
	if len(gaps) < 2 {
		return 0
	}
	return median(gaps)
}

// agree gives the parts of one herd the same cause: the weaker part takes the
// first kind of the stronger one, unless it is another layer of the herd.
func (a *analyser) agree(i, head int) {
	part, whole := &a.out.Verdicts[i], &a.out.Verdicts[head]
	if a.subjects[i].comb == nil || a.subjects[head].comb == nil {
		part.comesBack()
		if c := part.Best(); c.Kind == HotKey && whole.Best().Kind == HotKey && whole.Best().Name != "" {
			part.Suspects = append([]Suspect{*whole.Best()}, part.Suspects...)
		}
		return
	}
	if part.Best().Kind == whole.Best().Kind || part.Cache >= 0 {
		return
	}
	from, to := whole, part
	if part.Best().Nats > whole.Best().Nats && part.Confidence > whole.Confidence {
		from, to = part, whole
	}
	kind := from.Best().Kind
	at := slices.IndexFunc(to.Suspects, func(c Suspect) bool { return c.Kind == kind })
	c := *from.Best()
	if at >= 0 {
		c = to.Suspects[at]
		to.Suspects = slices.Delete(to.Suspects, at, at+1)
	}
	c.For = append(c.For, "it is one herd with the comb that shares its statements and moments")
	to.Suspects = slices.Insert(to.Suspects, 0, c)
	to.Tied = false
}

// comesBack takes the cold start from what is a part of a herd that comes again
// and again, or of a burst that has its own verdict.
func (v *Verdict) comesBack() {
	left := slices.DeleteFunc(slices.Clone(v.Suspects), func(c Suspect) bool { return c.Kind == ColdStart })
	if len(left) == 0 || len(left) == len(v.Suspects) {
		return
	}
	v.Suspects = left
	if v.Tied {
		v.Tied, v.Confidence = false, max(v.Confidence, Fair)
		v.Doubts = slices.DeleteFunc(v.Doubts, func(d string) bool { return strings.HasSuffix(d, nearlyAsWell) })
	}
}

// layers tells the two forms of a comb apart: many keys that die together, and
// one hot key that dies with them.
func (a *analyser) layers(i int) []Layer {
	s := &a.subjects[i]
	if s.comb == nil || a.out.Verdicts[i].Same >= 0 {
		return nil
	}
	if k := a.out.Verdicts[i].Best().Kind; k != TTL && k != HotKey && k != WarmUp {
		return nil
	}
	hot, one := a.hotLayers(s)
	many := s.manyLayers(hot, a.out.Verdicts[i].Best().Kind == HotKey)
	if len(one) == 0 || len(many) == 0 {
		return nil // one form only
	}
	if s.hot {
		return append(one, many...)
	}
	return append(many, one...)
}

// hotLayers lists the stampedes on one text that come with the teeth of s.
func (a *analyser) hotLayers(s *subject) (hot map[uint64]bool, out []Layer) {
	hot = map[uint64]bool{}
	for j := range a.subjects {
		o := &a.subjects[j]
		if o.log == nil || o.log.Rule != "HS502" || !o.log.Crowded() || len(o.onsets) < 2 || 2*o.inTeeth(s) < len(o.onsets) {
			continue
		}
		m := &o.log.Members[0]
		hot[m.Hash] = true
		copies := o.log.Bursts[0].Count
		out = append(out, Layer{
			Kind: HotKey, Subject: m.Shape, Member: member(s, m.Hash), Copies: copies,
			Why: fmt.Sprintf("one hot key: up to %d copies of one text at once, of the statement %s; jitter does not help it", copies, m.Shape),
		})
	}
	return hot, out
}

// manyLayers lists the statements of s that ask for many values.
func (s *subject) manyLayers(hot map[uint64]bool, hotKey bool) (out []Layer) {
	for n := range s.log.Members {
		m := &s.log.Members[n]
		each := float64(m.Count) / float64(s.teeth())
		if hot[m.Hash] || !isRead(m) || each < 7 || hotKey && len(hot) == 0 {
			continue
		}
		l := Layer{
			Kind: TTL, Subject: m.Shape, Member: n,
			Why: fmt.Sprintf("many keys: %.0f statements a tooth and no text that stands out, of the statement %s; one lock does not help them", each, m.Shape),
		}
		if len(s.log.Members) == 1 {
			l.Texts = s.log.Texts
		}
		out = append(out, l)
	}
	return out
}

// member is the position of a statement in a herd, -1 if it is not there.
func member(s *subject, hash uint64) int {
	for i := range s.log.Members {
		if s.log.Members[i].Hash == hash {
			return i
		}
	}
	return -1
}
