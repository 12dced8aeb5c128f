package ttlhist

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// groupHerds finds a herd in each group that has teeth (HS401).
func (a *analyser) groupHerds() {
	for i := range a.Groups {
		g := &a.Groups[i]
		if len(g.Teeth) == 0 || len(ahead(g.Teeth, a.Analysis.Now)) == 0 {
			continue
		}
		h := a.herd(g)
		f := Finding{
			Rule: "HS401", Severity: herdSeverity(g, h), Subject: g.Pattern, Patterns: []string{g.Pattern},
			Count: h.Keys, Herd: h, Confidence: herdConfidence(h),
			Refutes: "a second look some TTLs later that finds these keys spread out, or no rise of the cache's misses at the tooth",
		}
		f.Why, f.Fix = a.herdWords(g, h)
		f.Facts = a.herdFacts(g, h)
		a.found(f)
	}
}

// ahead returns the teeth that end after now.
func ahead(teeth []Tooth, now time.Time) []Tooth {
	i := slices.IndexFunc(teeth, func(t Tooth) bool { return !t.To.Before(now) })
	if i < 0 {
		return nil
	}
	return teeth[i:]
}

// herd describes the teeth of a group.
func (a *analyser) herd(g *Group) *Herd {
	h := &Herd{
		Teeth: g.Teeth, Keys: keysIn(g.Teeth), Share: g.InTeeth, Spacing: g.Spacing, Base: g.Base,
		Within: -1, Pinned: g.pin(a.Location),
	}
	if next := ahead(g.Teeth, a.Analysis.Now); len(next) > 0 {
		h.Next = next[0]
		h.NextIn = max(0, h.Next.From.Sub(a.Analysis.Now))
	}
	for _, t := range g.Teeth {
		if t.Busiest > h.Busiest {
			h.Busiest, h.BusiestAt, h.Largest = t.Busiest, t.BusiestAt, t
		}
		h.Log10P = min(h.Log10P, t.Log10P)
	}
	h.bear()
	h.Jitter = a.jitter(g, h)
	return h
}

// bear concludes the births from the TTL.
func (h *Herd) bear() {
	if h.Base.TTL > 0 && h.Pinned == NotPinned { // a deadline set as a time of day says nothing about the birth
		h.BornFrom, h.BornTo = h.Largest.From.Add(-h.Base.TTL), h.Largest.To.Add(-h.Base.TTL)
	}
}

// WithTTL returns the herd with a TTL that something else than the cache has
// told, and the births that follow from it.
func (h *Herd) WithTTL(ttl time.Duration, from TTLEvidence) *Herd {
	out := *h
	out.Base.TTL, out.Base.From = ttl, from
	out.Jitter.TTL, out.Jitter.Assumed = ttl, false
	out.bear()
	return &out
}

// herdSeverity judges a herd by what its death does. Nothing is computed again
// for locks, queues and counters; a fixed window that ends on the full minute
// is a counter, whatever its name.
func herdSeverity(g *Group, h *Herd) rule.Severity {
	if !g.refills() {
		return rule.Note
	}
	return rule.Warning
}

func herdConfidence(h *Herd) Confidence {
	if h.Log10P < -6 {
		return Certain
	}
	return Likely
}

// moment is the longest tooth whose keys die in what people call one moment.
const moment = time.Minute

// herdWords says what a herd is and what to do.
func (a *analyser) herdWords(g *Group, h *Herd) (why, fix string) {
	why = fmt.Sprintf("%s of its %s keys with a TTL expire within %s.", thousands(h.Keys), thousands(g.WithTTL), span(h.Largest))
	if len(h.Teeth) > 1 {
		why = fmt.Sprintf("%s of its %s keys with a TTL expire in %d teeth of about %s each.", thousands(h.Keys), thousands(g.WithTTL), len(h.Teeth), shortest(g.Width))
	}
	switch {
	case g.Kind == Counter || g.Kind == Data && !g.refills():
		return why + " They look like counters of a fixed window, which nothing computes again: no load follows.", ""
	case g.Kind == LockKey:
		return why + " Locks that end together are not computed again; their waiters may wake together.", ""
	case g.Kind == Queue:
		return why + " They look like entries of a queue, which nothing computes again.", ""
	case g.Kind == Session:
		why += " Their users are logged out in that moment, and whatever rebuilds a session is asked for all of them at once."
	default:
		why += " Each one read after that is a cache miss"
		if h.Largest.To.Sub(h.Largest.From) < moment {
			why += " in the same moment"
		}
		why += " for whatever refills it."
	}
	return why, h.remedy()
}

// remedy says what to do about the refills of a herd.
func (h *Herd) remedy() string {
	const coalesce = "let one caller refill each key (single-flight or a lock), or serve the old value while one refreshes"
	j := &h.Jitter
	switch {
	case h.Largest.Keys < fewHot || !j.Helps && !j.Assumed:
		return coalesce
	case !j.Helps:
		return fmt.Sprintf("write them with a TTL that is random by several times the %s of the tooth, and %s", span(h.Largest), coalesce)
	case j.Assumed:
		return fmt.Sprintf("write them with a random TTL: ±15 %% of the one they have, which is at least %s", seconds(j.TTL))
	default:
		return fmt.Sprintf("write them with a random TTL of %s to %s instead of one fixed TTL", seconds(j.Shortest), seconds(j.Longest))
	}
}

// thousands writes a number with its thousands separated.
func thousands(n uint64) string { return humanize.Comma(int64(min(n, math.MaxInt64))) }

// span writes how long a tooth takes; one instant is within a second.
func span(t Tooth) string { return shortest(t.To.Sub(t.From)) }

func shortest(d time.Duration) string {
	if d < time.Second {
		return "1 s"
	}
	if d >= time.Minute {
		return seconds(d)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func (a *analyser) herdFacts(g *Group, h *Herd) []string {
	var facts []string
	if h.Spacing > 0 {
		facts = append(facts, fmt.Sprintf("%d teeth, one each %s: something writes these keys at that interval", len(h.Teeth), seconds(h.Spacing)))
	}
	if h.Pinned != NotPinned {
		facts = append(facts, fmt.Sprintf("the deadlines sit on %s: they were set as a time of day, not as a time to live", h.Pinned))
	}
	if h.Largest.Newest && h.Base.TTL == 0 {
		facts = append(facts, "the tooth holds the longest remaining time: its keys were just written, or are still being written")
	}
	if g.BusiestEstimate {
		facts = append(facts, fmt.Sprintf("counted in bins of %s: the busiest second is an estimate", g.Bin))
	}
	return facts
}

// fewHot is the number of keys in a tooth below which spreading them does
// nothing: then it is their readers that are many.
const fewHot = 5

// jitter predicts what a jitter does to the largest tooth of a herd.
func (a *analyser) jitter(g *Group, h *Herd) JitterEffect {
	j := JitterEffect{TTL: h.Base.TTL, Try: comb.Jitter{Fraction: 0.15}}
	if j.TTL == 0 {
		j.TTL, j.Assumed = h.Base.AtLeast, true
	}
	w := comb.Wave{Keys: float64(h.Largest.Keys) / a.Sampled, Width: h.Largest.To.Sub(h.Largest.From), TTL: j.TTL}
	busiest := float64(h.Busiest) / a.Sampled
	j.First, j.Second = comb.Predict(w, j.Try, 1), comb.Predict(w, j.Try, 2)
	for _, e := range []*comb.Effect{&j.First, &j.Second} {
		e.PeakBefore = busiest
		e.PeakAfter = min(e.PeakAfter, busiest)
	}
	j.Shortest, j.Longest = j.Try.Range(j.TTL)
	j.Target = cmp.Or(a.Target, max(2*g.Mean/a.Sampled, busiest/10))
	j.Smallest, j.Enough = comb.SmallestJitter(w, j.Target, false)
	j.Helps, j.Why = j.judge(h)
	return j
}

func (j *JitterEffect) judge(h *Herd) (helps bool, why string) {
	const little = 0.7
	switch {
	case h.Largest.Keys < fewHot:
		return false, "only a few keys: jitter does not help hot keys, each of which is asked for by many readers at once"
	case j.First.PeakAfter > little*j.First.PeakBefore && j.Assumed:
		return false, fmt.Sprintf("the TTL is not known (at least %s): what ±15 %% of it does to a tooth of %s can't be predicted", seconds(j.TTL), span(h.Largest))
	case j.First.PeakAfter > little*j.First.PeakBefore:
		return false, fmt.Sprintf("±15 %% spreads the tooth over %s, which is hardly wider than it is", seconds(j.Longest-j.Shortest))
	default:
		return true, "it spreads the misses; the server's own work of deleting expired keys may still come in bursts"
	}
}

// crossHerds finds herds across patterns: in the whole keyspace, and among the
// groups that are too small to be judged alone.
func (a *analyser) crossHerds() {
	a.crossHerd(&a.Total, func(*Group) bool { return true })
	small := a.smallOnes()
	if !a.coveredByCross(small) {
		a.crossHerd(small, func(g *Group) bool { return !g.Judged })
	}
}

// smallOnes sums up the groups that are too small to be judged.
func (a *analyser) smallOnes() *Group {
	u := &Group{Pattern: "small patterns together"}
	var all histogram
	for i := range a.Groups {
		if g := &a.Groups[i]; !g.Judged && g.refills() && g.WithTTL > 0 {
			all.raise(g.row.expiry.level)
			all.merge(&g.row.expiry)
			u.Keys += g.Keys
			u.WithTTL += g.WithTTL
			u.Merged++
		}
	}
	u.series, u.Bin = all.sorted(), all.width()
	a.measure(u)
	return u
}

// coveredByCross tells whether a herd across patterns has all teeth of u.
func (a *analyser) coveredByCross(u *Group) bool {
	for _, t := range u.Teeth {
		if !slices.ContainsFunc(a.Findings, func(f Finding) bool {
			return len(f.Patterns) > 1 && slices.ContainsFunc(f.Herd.Teeth, t.meets)
		}) {
			return false
		}
	}
	return true
}

// meets tells whether two teeth overlap in time.
func (t Tooth) meets(other Tooth) bool {
	return !t.From.After(other.To) && !other.From.After(t.To)
}

// crossHerd reports the teeth of a union of groups that no single group
// accounts for.
func (a *analyser) crossHerd(u *Group, belongs func(*Group) bool) {
	var teeth []Tooth
	members := make(map[string]*Member)
	var patterns []string
	for _, t := range ahead(u.Teeth, a.Analysis.Now) {
		parts := a.parts(t, belongs)
		if !a.crosses(t, parts) {
			continue
		}
		teeth = append(teeth, t)
		for _, m := range parts {
			if members[m.Pattern] == nil {
				members[m.Pattern] = &Member{Pattern: m.Pattern, Of: m.Of}
				patterns = append(patterns, m.Pattern)
			}
			members[m.Pattern].Keys += m.Keys
		}
	}
	if len(teeth) == 0 {
		return
	}
	g := *u
	g.Teeth, g.Spacing, g.Width = teeth, spacing(teeth), medianWidth(teeth)
	g.InTeeth = float64(keysIn(teeth)) / float64(max(1, u.WithTTL))
	g.Base = a.commonBase(members, teeth)
	h := a.herd(&g)
	h.Pinned = NotPinned
	for _, m := range members {
		h.Members = append(h.Members, *m)
	}
	slices.SortFunc(h.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Pattern, b.Pattern))
	})
	slices.Sort(patterns)
	f := Finding{
		Rule: "HS401", Severity: rule.Warning, Subject: u.Pattern, Patterns: patterns, Count: h.Keys, Herd: h,
		Confidence: herdConfidence(h),
		Refutes:    "a second look some TTLs later that finds these keys spread out, or no rise of the cache's misses at the tooth",
	}
	f.Why = fmt.Sprintf("%s keys of %d patterns expire within %s: they were written together, as after a deploy, a flush or a warm-up.",
		thousands(h.Largest.Keys), len(a.parts(h.Largest, belongs)), span(h.Largest))
	if len(teeth) > 1 {
		f.Why += fmt.Sprintf(" There are %d such teeth, of %d patterns in all.", len(teeth), len(patterns))
	}
	_, f.Fix = a.herdWords(&g, h)
	f.Facts = a.herdFacts(&g, h)
	a.found(f)
	a.nest(len(a.Findings)-1, teeth)
}

// nest marks the herds of single patterns that are part of a herd across
// patterns.
func (a *analyser) nest(cross int, teeth []Tooth) {
	for i := range cross {
		f := &a.Findings[i]
		if f.Herd == nil || len(f.Patterns) != 1 || !slices.Contains(a.Findings[cross].Patterns, f.Patterns[0]) {
			continue
		}
		inside := func(t Tooth) bool { return slices.ContainsFunc(teeth, t.meets) }
		if !slices.ContainsFunc(f.Herd.Teeth, func(t Tooth) bool { return !inside(t) }) {
			f.Herd.Within = cross
		}
	}
}

// parts returns the groups that belong to a tooth.
func (a *analyser) parts(t Tooth, belongs func(*Group) bool) []Member {
	var parts []Member
	for i := range a.Groups {
		g := &a.Groups[i]
		if !g.refills() || !belongs(g) || g.WithTTL == 0 {
			continue
		}
		if n := g.near(t); g.takesPart(t, n, a.nowMS) {
			parts = append(parts, Member{Pattern: g.Pattern, Keys: n, Of: g.WithTTL})
		}
	}
	return parts
}

// near counts the group's keys in a tooth that was found in wider bins perhaps.
func (g *Group) near(t Tooth) (n uint64) {
	for _, b := range between(g.series, t.From.UnixMilli()-g.Bin.Milliseconds()+1, t.To.UnixMilli()) {
		n += b.Count
	}
	return n
}

// takesPart tells whether n keys of a group in a tooth are more than its own
// keys spread over their own time to live would give: because the group has a
// tooth there itself, or is far denser there, or has most of its keys there
// and is too small to be judged alone.
func (g *Group) takesPart(t Tooth, n uint64, now int64) bool {
	const denser = 3
	if n == 0 {
		return false
	}
	if slices.ContainsFunc(g.Teeth, t.meets) {
		return true
	}
	if !g.Judged && n*2 > g.WithTTL {
		return true
	}
	left := max(1, g.MaxLeft.Seconds())
	from, to := float64(t.From.UnixMilli()-now)/1000, float64(t.To.UnixMilli()-now)/1000
	width := max(min(to, left)-max(from, 0), g.Bin.Seconds(), 1)
	return float64(n) > max(1, denser*float64(g.WithTTL)*min(1, width/left))
}

// crosses tells whether a tooth belongs to several patterns, and not to one
// with a few strangers, nor to a block of keys that are spread evenly over a
// short time to live of their own.
func (a *analyser) crosses(t Tooth, parts []Member) bool {
	const (
		most = 0.9 // of the parts that one pattern may have
		half = 0.5 // of the tooth that the parts must have
	)
	var sum, largest uint64
	for _, m := range parts {
		sum += m.Keys
		largest = max(largest, m.Keys)
	}
	return len(parts) > 1 && sum >= uint64(a.MinKeys) &&
		float64(sum) >= half*float64(t.Keys) && float64(largest) < most*float64(sum)
}

// commonBase is the base TTL of several patterns: the one that is known of
// all that have one, if these hold at least half of the keys.
func (a *analyser) commonBase(members map[string]*Member, teeth []Tooth) BaseTTL {
	b := BaseTTL{AtLeast: a.left(teeth[len(teeth)-1].To.UnixMilli())}
	b.Next = comb.NextHuman(b.AtLeast)
	unknown := b
	var known, all uint64
	for i := range a.Groups {
		g := &a.Groups[i]
		m := members[g.Pattern]
		if m == nil {
			continue
		}
		all += m.Keys
		if g.Base.TTL == 0 {
			continue
		}
		if b.TTL != 0 && b.TTL != g.Base.TTL {
			return unknown
		}
		known += m.Keys
		b.TTL, b.Jitter, b.From = g.Base.TTL, g.Base.Jitter, g.Base.From
	}
	if 2*known < all {
		return unknown
	}
	return b
}
