package ttlhist

import (
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// Options are the settings of an Analysis. The zero value is ready.
type Options struct {
	Now      time.Time      // "next" counts from here; zero: the time of the latest snapshot
	Target   float64        // wanted peak in keys per second, for the smallest jitter; 0: a tenth of the busiest second, at least twice the mean
	Budget   float64        // expiries per second that the store or database can take (HS408); 0: not judged
	Kinds    []KindRule     // the user's own rules, tried before the built-in ones
	MinKeys  int            // fewer keys with a TTL than this are not judged; 0: 20
	Location *time.Location // zone in which a midnight is a midnight (HS407); nil: UTC
}

// An Analysis is all that is known of a Summary.
type Analysis struct {
	Now       time.Time // from where "next" counts
	Snapshot  time.Time // when the keys were read, by the server's clock (the earliest source)
	Sampled   float64   // share of the keys that was read on purpose, 0..1; 1: all. Counts are those of the sample, effects are scaled to all keys
	Keys      uint64
	WithTTL   uint64
	NoTTL     uint64 // keys without a TTL, those with an expiring hash field included
	FieldTTL  uint64 // of NoTTL: hashes of which a field expires
	Groups    []Group
	Total     Group // the whole keyspace as one group
	Findings  []Finding
	Undecided []Undecided
	Sources   []Source
	Folds     []string // what the bounds of memory cost: folded patterns, coarse bins
}

// A Group is one row of the table: the keys of one pattern.
type Group struct {
	Pattern  string
	Kind     Kind
	KindWhy  string // "word \"lock\" in the pattern", "type list", "option --kind"
	Keys     uint64
	WithTTL  uint64
	NoTTL    uint64
	FieldTTL uint64
	Types    []TypeCount // most first; empty if the source gives no types
	Merged   int         // number of stored patterns in this row; 1: not merged

	Bin             time.Duration // width of the histogram's bins
	MinLeft         time.Duration // shortest remaining time at the snapshot
	MaxLeft         time.Duration // longest remaining time
	Mean            float64       // keys per second over the time to the longest remaining time
	Busiest         uint64        // most keys that expire within one second
	BusiestAt       time.Time
	BusiestEstimate bool // the bins are wider than 1 s: Busiest is spread evenly within a bin

	Teeth    []Tooth       // in order of time; empty: none found
	Spacing  time.Duration // constant time between teeth; 0: fewer than 3, or irregular
	Width    time.Duration // median width of the teeth
	InTeeth  float64       // share of the keys with a TTL that are in teeth, 0..1
	Base     BaseTTL
	Judged   bool     // false: too few keys, or no TTL
	Examples []string // a few keys of the group, raw bytes; nil for a Summary loaded without samples

	series []comb.ExpiryBin
	row    *row
}

// A TypeCount is the number of keys of one Redis type.
type TypeCount struct {
	Type string
	Keys uint64
}

// A Tooth is one cluster of expiries.
type Tooth struct {
	From, To  time.Time // first and last expiry
	Keys      uint64    // keys in it
	Baseline  float64   // keys expected there without a herd
	Busiest   uint64    // most keys within one second of it
	BusiestAt time.Time
	Log10P    float64 // log10 of the false-alarm probability, at most 0
	Newest    bool    // it holds the longest remaining time: just written, or still being written
}

// A BaseTTL is what is known of the time to live with which keys are written.
type BaseTTL struct {
	TTL     time.Duration // 0: unknown
	AtLeast time.Duration // the longest remaining time seen: the TTL is no shorter
	Next    time.Duration // the shortest usual TTL from AtLeast on: a guess, not evidence
	Jitter  comb.Jitter   // the jitter that fits; zero: none
	From    TTLEvidence
}

// TTLEvidence says what a base TTL was concluded from.
type TTLEvidence int

// What a base TTL can be concluded from, weakest first.
const (
	NoEvidence      TTLEvidence = iota
	LikelihoodFit               // the shape of the remaining times
	LongestLeft                 // a usual TTL just above the longest remaining time of many keys
	SpacingOfTeeth              // the one usual TTL between the newest tooth and the next
	LeftPlusIdle                // remaining plus idle time of keys not read since they were written
	PeriodOfQueries             // from outside: the database's queries for these keys come at this period
	Original                    // the cache knows it (memcached)
)

// String names the evidence in a few words.
func (e TTLEvidence) String() string {
	switch e {
	case LikelihoodFit:
		return "fit of the remaining times"
	case LongestLeft:
		return "longest remaining time"
	case SpacingOfTeeth:
		return "spacing of the teeth"
	case LeftPlusIdle:
		return "remaining plus idle time"
	case PeriodOfQueries:
		return "period of the queries for them"
	case Original:
		return "times of writing and expiry"
	default:
		return "unknown"
	}
}

// A Finding is one thing found. At most one of the detail pointers is set, by
// rule: Herd for HS401, HS408 and those of HS407 that have a tooth ahead, Names
// for the others.
type Finding struct {
	Rule       string // "HS401"
	Severity   rule.Severity
	Subject    string   // the pattern, or "all keys"
	Patterns   []string // the patterns it is about; one, unless it crosses patterns
	Count      uint64   // keys concerned
	Confidence Confidence
	Why        string   // one sentence: what was seen and what it means
	Facts      []string // further short facts
	Refutes    string   // the observation that would refute it
	Fix        string   // what to do, in one sentence
	Herd       *Herd
	Names      *Names
}

// Confidence says how sure a finding is.
type Confidence int

// The degrees of confidence.
const (
	Possible Confidence = iota // fits, but so does something harmless
	Likely                     // by name or policy: sure about the keys, not about the application
	Certain                    // counted, or a false-alarm probability below 1 in 1000
)

// String returns "possible", "likely" or "certain".
func (c Confidence) String() string {
	switch c {
	case Certain:
		return "certain"
	case Likely:
		return "likely"
	default:
		return "possible"
	}
}

// A Herd is the detail of keys that expire together.
type Herd struct {
	Teeth     []Tooth // all teeth, in order of time
	Next      Tooth   // the first tooth that ends after Now
	NextIn    time.Duration
	Keys      uint64  // keys in all teeth
	Share     float64 // of the group's keys with a TTL, 0..1
	Busiest   uint64  // most keys within one second, over all teeth
	BusiestAt time.Time
	Largest   Tooth // the tooth with the busiest second
	Spacing   time.Duration
	Base      BaseTTL
	BornFrom  time.Time // when the largest tooth was written; zero: not known
	BornTo    time.Time
	Log10P    float64 // of the most certain tooth
	Pinned    Pin     // the deadlines sit on the wall clock
	Members   []Member
	Within    int // index in Findings of the herd across patterns that holds this one; -1: none
	Jitter    JitterEffect
}

// A Member is a pattern's part in a herd across patterns.
type Member struct {
	Pattern string
	Keys    uint64 // its keys in the teeth
	Of      uint64 // its keys with a TTL
}

// A JitterEffect predicts what a jitter would do to a herd.
type JitterEffect struct {
	Helps    bool
	Why      string        // why it does not help, or what it does not mend
	TTL      time.Duration // the TTL that the numbers are for: the base TTL, or AtLeast (then the effect is at least as good)
	Assumed  bool          // TTL is AtLeast, not known
	Try      comb.Jitter   // ±15 %
	First    comb.Effect   // busiest second now and in the first generation
	Second   comb.Effect   // and in the second
	Target   float64       // keys per second
	Smallest comb.Jitter   // smallest jitter for Target
	Enough   bool          // Smallest reaches Target
	Shortest time.Duration // TTL range with Try
	Longest  time.Duration
}

// A Pin is a kind of wall-clock instant that deadlines sit on.
type Pin int

// The instants that deadlines can sit on.
const (
	NotPinned Pin = iota
	WholeSecond
	Minute
	Hour
	Midnight
)

// String returns "the full second", "the full minute", "the full hour" or
// "midnight"; "" for NotPinned.
func (p Pin) String() string {
	return [...]string{"", "the full second", "the full minute", "the full hour", "midnight"}[p]
}

// Names is the detail of a finding about keys rather than times.
type Names struct {
	Counts   []Member // keys concerned per pattern, most first
	Examples []string // a few of the keys, raw bytes; nil for a Summary loaded without samples
	Policy   string   // maxmemory-policy, where it matters
}

// Undecided is a group that can't be judged, and why.
type Undecided struct {
	Pattern string
	Keys    uint64 // keys with a TTL
	Why     string // "too few to judge (8 of 20)"
}
