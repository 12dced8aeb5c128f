package remedy

import (
	"cmp"
	"math"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// A Kind is a kind of cause, as in the JSON contract.
type Kind string

// The kinds.
const (
	TTLHerd    Kind = "ttl"         // keys written together with one TTL
	WarmUpJob  Kind = "warm_up"     // a job writes them together, again and again
	HotKey     Kind = "hot_key"     // one key that many readers ask for
	ColdStart  Kind = "cold_start"  // an empty cache after a flush, a restart or a deploy
	CronPileUp Kind = "cron"        // jobs that start in one minute
	RetryStorm Kind = "retry"       // clients that try again in step
	ReplicaJob Kind = "replica_job" // one job on every replica
	MissingKey Kind = "missing_key" // what does not exist is asked for again and again
	Budget     Kind = "budget"      // more keys expire in one second than the source can take
)

// A Case is what was seen of a herd. A zero is a number that is not known.
type Case struct {
	Kind  Kind
	Lang  string   // language of code, one of Langs; "": no code
	Names []string // patterns, tables or statements: a word like "balance" in one of them is a hint
	Write bool     // the statements change data

	// The tooth.
	Unit     string        // "keys/s" or "queries/s"; "": "queries/s"
	Peak     float64       // measured busiest second
	Total    float64       // measured, in one tooth
	Baseline float64       // per second between the teeth
	Width    time.Duration // from the first to the last
	Period   time.Duration // from tooth to tooth

	// Keys that die together.
	Keys        float64       // different ones in a tooth
	TTL         time.Duration // that they are written with
	TTLAtLeast  bool          // TTL is a lower bound
	PinnedTo    string        // "midnight": the deadlines are set as a time of day
	Budget      float64       // per second, what the source can take
	UsualJitter comb.Jitter   // proposed when nothing tells what is needed; zero: ±15 %

	// The hot key, alone or among the others.
	Reads     float64       // of the hottest key per second, over all processes
	Copies    float64       // of one statement in its busiest second
	AtOnce    float64       // statements in flight at once
	Identical float64       // share of the largest group of identical texts in a tooth, 0..1
	Rebuild   time.Duration // median time to compute a value
	Slowest   time.Duration // longest time to compute a value
	Processes int           // processes that ask, or hosts if only those are known
	Deploy    bool          // a deploy or flush comes before it

	// Schedules, retries, absences.
	Jobs     int           // that start in the same minute
	Largest  float64       // busiest second of the largest job alone
	Minutes  []int         // minutes of the hour at which jobs start now
	Clients  float64       // that retry in the first wave
	Spacing  time.Duration // first pause between waves
	Growth   float64       // factor from pause to pause; 1: constant
	MissRate float64       // questions per second for what does not exist
	Missing  float64       // different ones

	// The configuration of the cache.
	Policy           string // maxmemory-policy
	LocksBesideBlobs bool   // locks and cached values share one store
	LockTTL          time.Duration
}

// Limits that separate the layers of a case.
const (
	manyKeys    = 5   // fewer are not spread: their readers are what is many
	manyCopies  = 5   // fewer copies of one statement are no stampede
	hotShare    = 0.1 // of the busiest second: less is lost among the others
	quick       = 10 * time.Millisecond
	usualSpread = 0.15 // half-width of the TTL that is usual: 10 to 20 %
	widest      = 0.5  // half-width at most: some keys live next to no time
)

func (c Case) unit() string { return cmp.Or(c.Unit, "queries/s") }

// many tells whether different keys make a part of the tooth.
func (c Case) many() bool {
	return c.Keys >= manyKeys && (c.Kind == TTLHerd || c.Kind == WarmUpJob || c.Kind == Budget || c.Kind == ColdStart)
}

// hot tells whether copies of one statement make a part of it.
func (c Case) hot() bool {
	if c.Kind == HotKey {
		return true
	}
	n := c.copies()
	return n >= manyCopies && n >= hotShare*c.Peak
}

// copies returns the copies of the hottest statement in its busiest second, 0
// if not known.
func (c Case) copies() float64 {
	switch {
	case c.Copies > 0:
		return c.Copies
	case c.Kind == HotKey && c.Peak > 0:
		return c.Peak
	case c.Reads > 0 && c.Rebuild > 0:
		return comb.HotKey{Reads: c.Reads, Rebuild: c.Rebuild}.Lock().PeakBefore
	case c.Identical > 0 && c.Peak > 0:
		return c.Identical * c.Peak
	default:
		return 0
	}
}

// hotKey is the mechanism of the hot part. Where the reads are not known, they
// follow from the copies: the first, and those that come until it has finished.
func (c Case) hotKey() comb.HotKey {
	h := comb.HotKey{Reads: c.Reads, Rebuild: c.Rebuild, TTL: c.TTL, Processes: c.Processes}
	if h.Rebuild <= 0 {
		h.Rebuild = time.Second
	}
	if n := c.copies(); h.Reads <= 0 && n > 1 {
		h.Reads = (n - 1) / math.Min(1, h.Rebuild.Seconds())
	}
	return h
}

// wave is the mechanism of the part that is many keys.
func (c Case) wave() comb.Wave { return comb.Wave{Keys: c.Keys, Width: c.Width, TTL: c.TTL} }

// parts splits the busiest second in the keys of the wave and the copies of the
// hottest one.
func (c Case) parts() (wave, hot float64) {
	if c.hot() {
		hot = c.copies()
	}
	switch {
	case !c.many():
		return 0, math.Max(hot, c.Peak)
	case c.Peak > 0:
		hot = math.Min(hot, c.Peak)
		return c.Peak - hot, hot
	default:
		return c.wave().BusiestSecond(comb.Jitter{}, 0), hot
	}
}

// before is the busiest second as it stands, 0 if not known.
func (c Case) before() float64 {
	wave, hot := c.parts()
	return cmp.Or(c.Peak, wave+hot)
}

// effect is what leaves after of the busiest second; nil if that is not known.
func (c Case) effect(after float64) *comb.Effect {
	before := c.before()
	if before <= 0 {
		return nil
	}
	return &comb.Effect{PeakBefore: before, PeakAfter: math.Min(after, before), Unit: c.unit()}
}

// target is the wanted busiest second, 0 if nothing tells it: what the source
// can take, or a tenth of what it takes now and about one value computed at a
// time. It is never below twice an even spread over the TTL, nor below what
// there is between the teeth.
func (c Case) target() float64 {
	switch {
	case c.Budget > 0:
		return c.Budget
	case c.Rebuild <= 0 || c.TTL <= 0:
		return 0
	}
	wave, _ := c.parts()
	return max(min(1/c.Rebuild.Seconds(), wave/10), 2*c.Keys*c.multiplicity()/c.TTL.Seconds(), c.Baseline)
}

// slowest is the longest known time to compute a value.
func (c Case) slowest() time.Duration { return max(c.Slowest, c.Rebuild) }

// lease is how long a lock is held at most: well above the slowest rebuild.
func (c Case) lease() time.Duration {
	if c.slowest() <= 0 {
		return 30 * time.Second
	}
	return max((2*c.slowest()).Truncate(time.Second)+time.Second, 5*time.Second)
}

// bound is how long a value may be served after its logical expiry.
func (c Case) bound() time.Duration {
	b := min(max(c.ttl()/6, time.Minute), time.Hour)
	return max(b, 2*c.lease()).Round(time.Second)
}

// exampleTTL stands in code for a TTL that is not known.
const exampleTTL = time.Hour

// ttl is the time to live, or one to show.
func (c Case) ttl() time.Duration { return cmp.Or(c.TTL, exampleTTL) }
