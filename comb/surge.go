package comb

import (
	"cmp"
	"math"
	"slices"
)

// Surge is a one-off in which several series burst at once, as after a deploy,
// a flush or a restart. Each may be too small to be a spike of its own.
type Surge struct {
	Spike
	Members []Member // by falling count, then by name; Own marks those with a spike of their own
}

const (
	surgeEvents = 8.0  // events above the background that a series has at least in a surge
	surgeLead   = 1.25 // times its next largest burst
	surgeSpan   = 2.0  // seconds within which the bursts of a surge begin
)

// crest is the largest burst of a series, if it leads all others.
type crest struct {
	series int
	at     float64 // seconds from the origin of all
	tooth  Tooth
	size   float64
}

// Surges finds the moments at which the largest bursts of several series
// coincide. The null is that each series has its largest burst at its own
// time, anywhere in the log. Followers don't count, nor do series with a comb:
// the teeth of one herd coincide anyway. each are the results of the series, as
// DetectFamilies returns them.
func Surges(series []Named, each []Result, o Options) []Surge {
	var crests []crest
	span := 0.0
	var m workshop
	var memory Series
	for i, n := range series {
		if n.Follower || each[i].Need > 0 || len(each[i].Combs) > 0 {
			continue
		}
		d := m.detector(n.get(&memory), o)
		span = max(span, d.span())
		if c, ok := d.crest(); ok {
			c.series = i
			c.at = float64(c.tooth.At.UnixMilli()) / 1e3
			crests = append(crests, c)
		}
	}
	slices.SortStableFunc(crests, func(a, b crest) int { return cmp.Compare(a.at, b.at) })
	var out []Surge
	for i := 0; i < len(crests); {
		j := i
		for j < len(crests) && crests[j].at-crests[i].at <= surgeSpan {
			j++
		}
		if s, ok := surge(crests[i:j], len(crests), span, series, each); ok {
			out = append(out, s)
			i = j
		} else {
			i++
		}
	}
	return out
}

// crest returns the largest burst at bins of about a second.
func (d *detector) crest() (crest, bool) {
	g, shift := d.base, uint(0)
	for ; g.w < 1; shift++ {
		g = d.memory.coarser(g, shift)
	}
	lv := level{grid: g, shift: shift, bursts: d.memory.findBursts(g, d.base, shift)}
	sizes := lv.declustered()
	if len(sizes) == 0 || sizes[0] < surgeEvents || len(sizes) > 1 && sizes[0] < surgeLead*sizes[1] {
		return crest{}, false
	}
	for _, b := range lv.bursts {
		if b.size == sizes[0] && lv.twoSided(b) {
			run := min(b.b, b.a+maxRun-1) - b.a + 1
			x := d.burstAt(oneOff{a: float64(b.a) * lv.w, b: float64(b.a+run) * lv.w})
			return crest{tooth: d.tooth(x), size: b.size}, true
		}
	}
	return crest{}, false
}

// surge judges crests that coincide: m of n, each of which could be anywhere in the span.
func surge(cs []crest, n int, span float64, series []Named, each []Result) (Surge, bool) {
	m, size := float64(len(cs)), 0.0
	for _, c := range cs {
		size += c.size
	}
	logP := math.Log(float64(n)) + logChoose(n-1, len(cs)-1) + (m-1)*math.Log(min(surgeSpan/span, 1))
	if len(cs) < 2 || size < spikeEvents || logP > math.Log(alpha) {
		return Surge{}, false
	}
	s := Surge{Spike: Spike{Tooth: Tooth{At: cs[0].tooth.At}, LogP: logP / math.Ln10}}
	for _, c := range cs {
		s.Count = addSat(s.Count, c.tooth.Count)
		s.Width = max(s.Width, c.tooth.At.Add(c.tooth.Width).Sub(s.At))
		own := slices.ContainsFunc(each[c.series].Spikes, func(k Spike) bool {
			return k.At.Sub(c.tooth.At).Abs() <= max(k.Width, c.tooth.Width)
		})
		s.Members = append(s.Members, Member{Name: series[c.series].Name, Index: c.series, Count: c.tooth.Count, Own: own})
	}
	slices.SortStableFunc(s.Members, func(a, b Member) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return s, true
}

// logChoose is ln of n over k.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}
