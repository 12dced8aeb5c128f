package ttlhist

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// locksWithoutTTL finds locks that stay for ever if their holder dies (HS402).
func (a *analyser) locksWithoutTTL() {
	var n Names
	var count uint64
	for i := range a.Groups {
		g := &a.Groups[i]
		held := g.NoTTL - min(g.NoTTL, g.FieldTTL) // a hash whose fields expire is let go of
		if g.Kind != LockKey || held == 0 || !g.heldAsLock() {
			continue
		}
		n.add(g, held)
		count += held
	}
	if count == 0 {
		return
	}
	n.sort()
	a.found(Finding{
		Rule: "HS402", Severity: usual("HS402"), Subject: n.subject(), Patterns: n.patterns(), Count: count,
		Confidence: Likely, Names: &n,
		Why:     fmt.Sprintf("%s keys named as locks have no TTL: if the holder dies, everybody waits for ever.", thousands(count)),
		Facts:   []string{"known by their names: " + n.subject()},
		Refutes: "code that takes these keys for something else than a lock, or that deletes them when a holder dies",
		Fix:     "take the lock and its lease in one command: SET key token NX PX 30000",
	})
}

// heldAsLock tells whether the types of a group allow for locks: strings and
// hashes, and sorted sets for semaphores.
func (g *Group) heldAsLock() bool {
	for _, t := range g.Types {
		if t.Type == "string" || t.Type == "hash" || t.Type == "zset" {
			return true
		}
	}
	return len(g.Types) == 0
}

func (n *Names) add(g *Group, keys uint64) {
	n.Counts = append(n.Counts, Member{Pattern: g.Pattern, Keys: keys, Of: g.Keys})
	if keys == g.Keys { // otherwise the sample may hold others
		n.Examples = append(n.Examples, g.Examples...)
	}
}

func (n *Names) sort() {
	slices.SortFunc(n.Counts, func(a, b Member) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Pattern, b.Pattern))
	})
}

func (n *Names) patterns() []string {
	var all []string
	for _, m := range n.Counts {
		all = append(all, m.Pattern)
	}
	return all
}

// subject names the largest patterns.
func (n *Names) subject() string {
	const most = 3
	all := n.patterns()
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// A policy is an eviction policy that is in force.
type policy struct {
	name     string
	volatile bool // only keys with a TTL may go
}

// policyInForce returns the policy of the first source that evicts.
func (a *analyser) policyInForce() (policy, bool) {
	for _, s := range a.Sources {
		if s.MaxMemory == 0 {
			continue
		}
		switch {
		case strings.HasPrefix(s.Policy, "allkeys-"):
			return policy{name: s.Policy}, true
		case strings.HasPrefix(s.Policy, "volatile-"):
			return policy{name: s.Policy, volatile: true}, true
		}
	}
	return policy{}, false
}

// evictedTogether finds locks, queues and sessions that are evicted by the
// same policy as cache values (HS403).
func (a *analyser) evictedTogether() {
	p, ok := a.policyInForce()
	if !ok {
		return
	}
	blobs := uint64(0)
	n := Names{Policy: p.name}
	var count uint64
	kinds := make(map[Kind]bool)
	for i := range a.Groups {
		g := &a.Groups[i]
		atRisk := g.Keys
		if p.volatile {
			atRisk = g.WithTTL
		}
		switch {
		case g.Kind == Cache || g.Kind == Data && g.WithTTL > 0:
			blobs += g.WithTTL
		case atRisk > 0 && (g.Kind == LockKey || g.Kind == Queue || g.Kind == Session):
			n.add(g, atRisk)
			count += atRisk
			kinds[g.Kind] = true
		}
	}
	if blobs == 0 || count == 0 {
		return
	}
	n.sort()
	f := Finding{
		Rule: "HS403", Severity: rule.Note, Subject: n.subject(), Patterns: n.patterns(), Count: count,
		Confidence: Likely, Names: &n,
		Why:     fmt.Sprintf("maxmemory-policy %s may evict %s sessions when %s cache values fill the memory: users are logged out.", p.name, thousands(count), thousands(blobs)),
		Refutes: "used memory that always stays well below maxmemory (evicted_keys 0)",
		Fix:     "keep cache values in an instance of their own",
	}
	if kinds[LockKey] || kinds[Queue] {
		f.Severity = rule.Warning
		f.Why = fmt.Sprintf("maxmemory-policy %s may evict %s keys of locks, queues or sessions when %s cache values fill the memory: locks open and jobs vanish without an error.", p.name, thousands(count), thousands(blobs))
		f.Fix = "keep locks and queues in an instance of their own with maxmemory-policy noeviction"
	}
	a.found(f)
}

// hotKeys finds frequently read keys that are about to die (HS404). Only
// caches under an LFU policy know the frequency.
func (a *analyser) hotKeys() {
	const (
		hotFreq = 100 // of Redis' logarithmic counter: some 10,000 reads with the default lfu-log-factor
		soon    = 10_000
	)
	for i := range a.Groups {
		g := &a.Groups[i]
		if !g.refills() {
			continue
		}
		var dying uint64
		first := int64(soon)
		for _, k := range g.row.hot {
			if left := k.Expire - k.Now; k.Now > 0 && k.Freq >= hotFreq && left >= 0 && left < soon {
				dying++
				first = min(first, left)
			}
		}
		if dying == 0 {
			continue
		}
		a.found(Finding{
			Rule: "HS404", Severity: rule.Note, Subject: g.Pattern, Patterns: []string{g.Pattern}, Count: dying,
			Confidence: Possible, Names: &Names{Counts: []Member{{g.Pattern, dying, g.Keys}}},
			Why:     fmt.Sprintf("%d of the most often read keys expire within %.1f s and later: each reader that misses may ask the source at once.", dying, float64(first)/1000),
			Refutes: "single flight, a lock or early refresh in the code that reads them; a snapshot can't show it",
			Fix:     "let one caller refill a hot key, or serve the old value meanwhile; jitter does not help one key",
		})
	}
}

// fixedTTLs finds keys that are spread out today only because they were
// written at different times (HS405).
func (a *analyser) fixedTTLs() {
	const fewest = 100
	for i := range a.Groups {
		g := &a.Groups[i]
		if g.WithTTL < fewest || len(g.Teeth) > 0 || g.Base.TTL == 0 || g.Base.Jitter.Fraction > 0 || g.Kind != Data && g.Kind != Cache || !g.refills() {
			continue
		}
		a.found(Finding{
			Rule: "HS405", Severity: rule.Note, Subject: g.Pattern, Patterns: []string{g.Pattern}, Count: g.WithTTL,
			Confidence: Likely, Names: &Names{Counts: []Member{{g.Pattern, g.WithTTL, g.Keys}}},
			Why:     fmt.Sprintf("%s keys with one TTL of %s (from the %s): after a flush or a restart they would all expire together.", thousands(g.WithTTL), seconds(g.Base.TTL), g.Base.From),
			Refutes: "code that adds a random part to this TTL",
			Fix:     fmt.Sprintf("write them with a random TTL of %s to %s", seconds(g.Base.TTL*85/100), seconds(g.Base.TTL*115/100)),
		})
	}
}

// cachedForEver finds cache keys without a TTL (HS406).
func (a *analyser) cachedForEver() {
	p, evicts := a.policyInForce()
	for i := range a.Groups {
		g := &a.Groups[i]
		n := g.NoTTL - min(g.NoTTL, g.FieldTTL)
		if n == 0 || !g.cacheLike(n, uint64(a.MinKeys)) {
			continue
		}
		f := Finding{
			Rule: "HS406", Severity: usual("HS406"), Subject: g.Pattern, Patterns: []string{g.Pattern}, Count: n,
			Confidence: Likely, Names: &Names{Counts: []Member{{g.Pattern, n, g.Keys}}, Policy: p.name},
			Why:     fmt.Sprintf("%s of %s keys have no TTL: they stay until somebody deletes them, stale or not, and take memory.", thousands(n), thousands(g.Keys)),
			Refutes: "values that never change, or that are deleted whenever they do",
			Fix:     "write each value with a TTL (SET key value EX 3600)",
		}
		if evicts && !p.volatile {
			f.Severity = rule.Note
			f.Why += fmt.Sprintf(" maxmemory-policy %s bounds the memory, but not the age.", p.name)
		}
		if g.Kind != Cache {
			f.Severity = rule.Note
			f.Confidence = Possible
			f.Facts = append(f.Facts, "the other keys of this pattern have a TTL: perhaps a write without EX removes it")
		}
		a.found(f)
	}
}

// cacheLike tells whether n keys without a TTL should have one: cache values
// by name, or the few of a pattern whose other keys have one.
func (g *Group) cacheLike(n, minKeys uint64) bool {
	const few = 0.2
	switch g.Kind {
	case Cache:
		return true
	case Data, Session:
		return g.WithTTL >= minKeys && float64(n) <= few*float64(g.Keys)
	}
	return false
}

// overBudget finds the seconds in which more keys expire than the user's
// budget allows (HS408).
func (a *analyser) overBudget() {
	t := &a.Total
	if a.Budget <= 0 || float64(t.Busiest)/a.Sampled <= a.Budget {
		return
	}
	at := t.BusiestAt
	h := a.herd(t)
	h.Busiest, h.BusiestAt = t.Busiest, at
	var inside uint64
	for _, b := range between(t.series, at.UnixMilli(), at.UnixMilli()+999) {
		inside += b.Count
	}
	tooth := Tooth{From: at, To: at.Add(999 * time.Millisecond), Keys: max(inside, t.Busiest), Busiest: t.Busiest, BusiestAt: at, Baseline: t.Mean}
	h.Next, h.Largest, h.NextIn = tooth, tooth, max(0, at.Sub(a.Analysis.Now))
	h.Teeth, h.Keys = []Tooth{tooth}, tooth.Keys
	h.Members = a.parts(tooth, func(*Group) bool { return true })
	h.Jitter = a.jitter(t, h)
	n := Names{Counts: h.Members}
	a.found(Finding{
		Rule: "HS408", Severity: usual("HS408"), Subject: allKeys, Patterns: n.patterns(), Count: t.Busiest,
		Confidence: Certain, Herd: h,
		Why:     fmt.Sprintf("about %s keys expire in one second, more than the budget of %.0f a second.", thousands(uint64(float64(t.Busiest)/a.Sampled)), a.Budget),
		Refutes: "readers that do not ask for these keys again in that second",
		Fix:     "spread these keys with a random TTL, or refill them before they expire at a limited rate",
	})
}

var versionWord = regexp.MustCompile(`(^|[:/|._-])[vV](\d{1,2})($|[:/|._-])`)

// twoVersions finds patterns that differ in a version only, of which the older
// one is not written any more (HS409).
func (a *analyser) twoVersions() {
	type version struct {
		number string
		group  *Group
	}
	families := make(map[string][]version)
	for i := range a.Groups {
		g := &a.Groups[i]
		m := versionWord.FindStringSubmatchIndex(g.Pattern)
		if m == nil || g.WithTTL < uint64(a.MinKeys) || !g.refills() {
			continue
		}
		name := g.Pattern[:m[4]] + "N" + g.Pattern[m[5]:]
		families[name] = append(families[name], version{g.Pattern[m[4]:m[5]], g})
	}
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		vs := families[name]
		slices.SortFunc(vs, func(x, y version) int {
			return cmp.Or(cmp.Compare(len(x.number), len(y.number)), cmp.Compare(x.number, y.number))
		})
		newest := vs[len(vs)-1].group
		for _, v := range vs[:len(vs)-1] {
			if v.group.MaxLeft < newest.MaxLeft*9/10 {
				a.foundVersions(v.group, newest)
			}
		}
	}
}

func (a *analyser) foundVersions(old, newest *Group) {
	n := Names{Counts: []Member{{old.Pattern, old.WithTTL, old.Keys}, {newest.Pattern, newest.WithTTL, newest.Keys}}}
	a.found(Finding{
		Rule: "HS409", Severity: rule.Note, Subject: old.Pattern, Patterns: n.patterns(), Count: old.WithTTL,
		Confidence: Possible, Names: &n,
		Why:     fmt.Sprintf("%s keys of %s live on beside %s and are not written any more: the last of them has %s left, the newest of the other %s.", thousands(old.WithTTL), old.Pattern, newest.Pattern, seconds(old.MaxLeft), seconds(newest.MaxLeft)),
		Refutes: "a program that still reads or writes the old version",
		Fix:     "nothing, if the change is over; the next change of the format is a cold start: make it at low traffic and warm the most read keys first",
	})
}
