// Package remedy weighs what can be done about a herd: which fixes help this
// one and which don't, what each does to the busiest second at the database,
// what it would run into, and the code to paste.
//
// It is pure: a Case of numbers in, a list of remedies out. The predictions
// are those of package comb. A number that is not known stays unknown in what
// follows from it: there is no effect without the numbers that it rests on.
package remedy

import (
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// A Name names a remedy, as in the JSON contract.
type Name string

// The remedies.
const (
	Nothing      Name = "none"           // nothing: it is harmless
	NoCache      Name = "no_cache"       // the value must not be old
	Jitter       Name = "ttl_jitter"     // random times to live
	Outlive      Name = "outlive"        // times to live longer than the period of the job that writes
	Coalesce     Name = "coalesce"       // one load a key and process
	Lock         Name = "lock"           // one load a key of all processes
	ServeStale   Name = "serve_stale"    // the old value while one caller refreshes
	EarlyRefresh Name = "early_refresh"  // XFetch
	WarmUp       Name = "warm_up"        // fill the cache at a limited rate, before traffic
	Stagger      Name = "stagger"        // restart one process after the other
	Negative     Name = "negative_cache" // cache what does not exist
	Backoff      Name = "backoff"        // pauses that grow, with full jitter
	RetryBudget  Name = "retry_budget"   // few attempts, and few of them at a time
	Spread       Name = "cron_minutes"   // jobs at different times
	RunOnce      Name = "run_once"       // one replica claims the job
)

// Words names a remedy in a list: "random TTLs".
func (n Name) Words() string {
	switch n {
	case Nothing:
		return "nothing"
	case NoCache:
		return "no cache"
	case Jitter:
		return "random TTLs"
	case Outlive:
		return "longer TTLs"
	case Coalesce:
		return "one load a process"
	case Lock:
		return "a lock across processes"
	case ServeStale:
		return "serving the old value meanwhile"
	case EarlyRefresh:
		return "early refresh (XFetch)"
	case WarmUp:
		return "warming up"
	case Stagger:
		return "restarts apart"
	case Negative:
		return "cached absence"
	case Backoff:
		return "backoff with full jitter"
	case RetryBudget:
		return "a retry budget"
	case Spread:
		return "starts apart"
	case RunOnce:
		return "one run of all replicas"
	default:
		return string(n)
	}
}

// Helps says whether a remedy helps in a case.
type Helps string

// The degrees of help.
const (
	Yes    Helps = "yes"    // it takes away at least half of the busiest second, or what makes it
	Partly Helps = "partly" // it takes away some of it, or only what follows
	No     Helps = "no"     // it does not: Why says why
)

// A Remedy is one thing to do, weighed for a case.
type Remedy struct {
	Name   Name
	Helps  Helps
	Text   string       // what to do: one sentence, no full stop
	Why    string       // why it helps or not: no full stop
	Effect *comb.Effect // nil when the numbers for it are not known
	Curve  *Curve       // nil when the shape of the tooth is not known
	Lang   string       // of Code
	Code   string       // ready to paste; "" when no language was asked for, or there is none
	// Caveats are the pitfalls that this case runs into with this remedy, and
	// Conflicts what contradicts the configuration that was seen (HS604).
	Caveats   []string
	Conflicts []Conflict
}

// A Conflict is a setting seen that works against a remedy.
type Conflict struct {
	Remedy  Name
	Setting string // what was seen: "maxmemory-policy allkeys-lru"
	Why     string // one sentence, no full stop
	Instead string // what to do about it: one sentence, no full stop
}

// A Curve compares the expected load of one tooth before and after a remedy,
// step by step from its onset. Random coincidences put single seconds above it:
// see comb.Effect for the busiest.
type Curve struct {
	Step          time.Duration
	Unit          string
	Before, After []float64
}

// Advise returns the remedies for a case, the best first, then those that do
// not help. It is empty when the kind of the cause is not known.
func Advise(c Case) []Remedy {
	var list []Remedy
	for _, weigh := range remediesFor(c) {
		r := weigh(c)
		r.Conflicts = conflicts(c, r)
		r.Caveats = append(r.Caveats, caveats(c, r)...)
		if r.Helps != No && !(r.Name == Jitter && c.PinnedTo != "") {
			r.Lang, r.Code = snippet(c, r.Name)
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Remedy) int { return rank(a.Helps) - rank(b.Helps) })
	return append(first(c), list...)
}

// Best returns the fix to show first. Where many keys and a hot one make the
// tooth together, it is the first remedy for each of them in one. That a value
// should not be cached is a hint from a name, so it becomes a caveat. ok is
// false when nothing in the list helps.
func Best(c Case, list []Remedy) (r Remedy, ok bool) {
	if len(list) > 1 && list[0].Name == NoCache {
		r, ok = Best(c, list[1:])
		r.Caveats = slices.Concat([]string{list[0].Text}, r.Caveats)
		return r, ok
	}
	if len(list) == 0 || list[0].Helps == No {
		return Remedy{}, false
	}
	r = list[0]
	other := slices.IndexFunc(list, func(o Remedy) bool { return o.Name == Coalesce && o.Helps != No })
	if !c.layers() || r.Name != Jitter || other < 0 {
		return r, true
	}
	o := list[other]
	r.Helps, r.Curve = Yes, nil
	r.Text += "; and " + o.Text
	r.Why = "many keys die together, and one of them has many readers: each needs its own remedy"
	r.Effect = c.together()
	if o.Code != "" {
		r.Code += "\n\n" + o.Code
	}
	r.Caveats = slices.Concat(r.Caveats, o.Caveats)
	r.Conflicts = slices.Concat(r.Conflicts, o.Conflicts)
	return r, true
}

// together is what a jitter and one load a key in each process do in one.
func (c Case) together() *comb.Effect {
	if c.TTL <= 0 || c.Processes <= 0 {
		return nil
	}
	j, _ := c.jitterOf()
	return c.effect(c.spreadKeys(j) + c.hotKey().Coalesce().PeakAfter)
}

func rank(h Helps) int {
	return slices.Index([]Helps{Yes, Partly, No}, h)
}

// remediesFor lists what is weighed for the kind of the cause. Among remedies
// that help alike the order stands: first what is cheap and can't do harm.
func remediesFor(c Case) []func(Case) Remedy {
	switch c.Kind {
	case TTLHerd, Budget:
		return []func(Case) Remedy{jitter, coalesce, serveStale, lock, earlyRefresh}
	case WarmUpJob:
		return []func(Case) Remedy{outlive, jitter, coalesce, serveStale, lock, earlyRefresh}
	case HotKey:
		return []func(Case) Remedy{coalesce, serveStale, lock, earlyRefresh, jitter}
	case ColdStart:
		if !c.many() {
			return []func(Case) Remedy{coalesce, lock, warmUp, stagger, jitter, serveStale, earlyRefresh}
		}
		return []func(Case) Remedy{warmUp, coalesce, lock, stagger, jitter, serveStale, earlyRefresh}
	case CronPileUp:
		return []func(Case) Remedy{spread, runOnce, jitter}
	case RetryStorm:
		return []func(Case) Remedy{backoff, retryBudget, coalesce}
	case ReplicaJob:
		return []func(Case) Remedy{runOnce, spread}
	case MissingKey:
		return []func(Case) Remedy{negative, coalesce, jitter}
	default:
		return nil
	}
}

// helps grades an effect.
func helps(e comb.Effect) Helps {
	switch {
	case e.PeakAfter <= 0.5*e.PeakBefore:
		return Yes
	case e.PeakAfter <= 0.85*e.PeakBefore:
		return Partly
	default:
		return No
	}
}
