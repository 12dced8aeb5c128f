package report

import (
	"fmt"
	"math"

	"github.com/herdscan/herdscan/report/remedy"
	"github.com/herdscan/herdscan/ttlhist"
)

// fewKeys is the number of keys in a tooth below which it is their readers that
// are many.
const fewKeys = 5

// TTLCase gathers what a herd of expiries tells about its remedies.
func TTLCase(a *ttlhist.Analysis, f *ttlhist.Finding, lang string) remedy.Case {
	h := f.Herd
	j := &h.Jitter
	all := 1.0 // keys for each that was read
	if a.Sampled > 0 {
		all = 1 / a.Sampled
	}
	c := remedy.Case{
		Kind: remedy.TTLHerd, Lang: lang, Names: f.Patterns, Unit: "keys/s",
		Peak: j.First.PeakBefore, Keys: float64(h.Largest.Keys) * all, Width: h.Largest.To.Sub(h.Largest.From),
		TTL: j.TTL, TTLAtLeast: j.Assumed, Period: h.Spacing, UsualJitter: j.Try,
	}
	configure(&c, a)
	if h.Pinned >= ttlhist.Minute {
		c.PinnedTo = h.Pinned.String()
	}
	if h.Largest.Keys < fewKeys {
		c.Kind, c.Keys, c.Peak = remedy.HotKey, 0, 0 // how many read them is not in a snapshot
	}
	return c
}

// configure adds what a look at a cache tells of its configuration.
func configure(c *remedy.Case, a *ttlhist.Analysis) {
	c.Policy = policyOf(a)
	for i := range a.Groups {
		if g := &a.Groups[i]; g.Kind == ttlhist.LockKey && g.Keys > 0 {
			c.LocksBesideBlobs, c.LockTTL = true, g.Base.TTL
		}
	}
}

// policyOf returns the eviction policy of the first source that evicts, "" if
// none is known to.
func policyOf(a *ttlhist.Analysis) string {
	for _, s := range a.Sources {
		if s.MaxMemory > 0 && s.Policy != "" && s.Policy != "noeviction" {
			return s.Policy
		}
	}
	return ""
}

// advise weighs the remedies for a herd of expiries.
func (r *TTL) advise(out *Finding, f *ttlhist.Finding) {
	j := &f.Herd.Jitter
	list := out.Advise(TTLCase(r.Analysis, f, r.Lang))
	if len(list) == 0 || list[0].Name != remedy.Jitter || list[0].Effect == nil || out.Fix.Effect.PeakAfter != math.Ceil(j.First.PeakAfter-1e-6) {
		return // the words below are about the jitter that the analysis tried
	}
	out.Fix.Effects = []string{fmt.Sprintf("busiest second of one tooth  %s     mean TTL unchanged; one generation later %s",
		out.Fix.Effect.words(), Count(int64(math.Ceil(j.Second.PeakAfter)), "keys"))}
	if j.Enough {
		out.Fix.Effects = append(out.Fix.Effects, fmt.Sprintf("smallest jitter for at most %s a second: ±%s", Count(int64(math.Round(j.Target)), "keys"), percentFine(j.Smallest.Fraction)))
	} else {
		out.Fix.Effects = append(out.Fix.Effects, fmt.Sprintf("no jitter reaches %s a second: a longer TTL, single-flight or serving stale values would", Count(int64(math.Round(j.Target)), "keys")))
	}
	if j.Why != "" {
		out.Fix.Caveats = append(out.Fix.Caveats, Clean(j.Why))
	}
}
