package attribute

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint"
)

// A Result is what the evidence says about all herds.
type Result struct {
	Outcome  Outcome
	Why      string    // the outcome in one sentence
	Verdicts []Verdict // one for each herd: of the log in the order of its findings, then of the caches
	Findings []Finding // HS601, HS602 and HS603
}

// Outcome is the answer as a whole.
type Outcome int

// The outcomes.
const (
	NothingGiven Outcome = iota // neither a query log nor a cache was given
	TooShort                    // nothing was found, and there was too little to judge
	NoHerd                      // enough was read, and no herd was found that harms
	Once                        // none that comes back, but a burst that came once
	Herd                        // a herd of warning or above was found
)

// String returns "nothing given", "too short", "no herd", "once" or "herd".
func (o Outcome) String() string {
	return [...]string{"nothing given", "too short", "no herd", "once", "herd"}[o]
}

// A Verdict is the attribution of one herd.
type Verdict struct {
	// Finding is the position of the herd in Evidence.Log.Findings, or, where
	// Cache is 0 or more, in Evidence.Caches[Cache].Analysis.Findings.
	Finding int
	Cache   int // -1: a herd of the query log

	Suspects []Suspect // that fit, best first; never empty: the last resort is of kind Unknown
	Tied     bool      // the second is within 3 nats of the first: the evidence can't tell them apart
	Cleared  []Suspect // that were looked at and do not fit; Against begins with the decisive reason
	Layers   []Layer   // where one herd has two forms inside, each statement's own; else empty
	Missing  []Missing // what was not given and could decide

	Confidence Confidence
	Doubts     []string // why the confidence is no higher
	Same       int      // position in Verdicts of the verdict of which this herd is a part; -1: its own
}

// Best returns the first suspect.
func (v *Verdict) Best() *Suspect { return &v.Suspects[0] }

// A Suspect is one possible cause of a herd.
type Suspect struct {
	Kind      Kind
	Name      string  // whom the evidence points at: "session:*", "deploy/crontab:7"; "" if no source names it
	Nats      float64 // above unexplained; comparable between the suspects of one herd
	Score     float64 // 0..1 for people; not a probability
	Why       string  // what it is, one sentence: it completes "consistent with"
	For       []string
	Against   []string
	RefutedBy string // the observation that would refute it
	LogAlone  bool   // no other source speaks for it
	Locations []cronlint.Location

	// Which source names it; all zero for a suspect without a name.
	Cache    int // position in Evidence.Caches; -1: none
	Patterns []string
	TTL      time.Duration // of the keys; 0: unknown
	Delta    time.Duration // ttl: period minus TTL; cron: from a fire to its tooth; retry: period minus delay
	Entries  []*cronlint.Entry
	Setting  *cronlint.Setting

	reasons     []reason
	fits        bool // a snapshot's expiries lie in the teeth
	spread      bool // they do not
	farSnapshot bool // a snapshot is too far from the teeth to compare phases
}

// Kind names a cause, as in the JSON contract.
type Kind string

// The causes.
const (
	TTL        Kind = "ttl"         // keys written together expire together
	WarmUp     Kind = "warmup"      // a scheduled job refills with one TTL
	HotKey     Kind = "hot_key"     // one key, and many readers that rebuild it
	ColdStart  Kind = "cold_start"  // an empty cache
	Cron       Kind = "cron"        // a schedule
	Retry      Kind = "retry"       // attempts in step
	ReplicaJob Kind = "replica_job" // one job on every replica
	MissingKey Kind = "missing_key" // what does not exist is never cached
	Unknown    Kind = "unknown"     // nothing that was given explains it
)

// A Layer is one statement's own part in a herd: thousands of keys and one hot
// key can die in the same tooth, and need different cures.
type Layer struct {
	Kind    Kind   // TTL or HotKey
	Subject string // shape of the statement
	Member  int    // position among the members of the herd's finding; -1: of another finding
	Copies  uint64 // hot_key: most copies of one text together
	Texts   uint64 // ttl: different texts, about; 0 unknown
	Why     string
}

// Missing is a source that was not given and could decide.
type Missing struct {
	Source SourceKind
	Text   string // what it would tell, and how to give it
}

// SourceKind is a kind of evidence.
type SourceKind string

// The sources.
const (
	SourceLog      SourceKind = "query log"
	SourceCache    SourceKind = "cache"
	SourceSchedule SourceKind = "schedules"
	SourceRetry    SourceKind = "retry settings"
	SourceEvents   SourceKind = "events"
)

// Confidence is how far a verdict may be trusted.
type Confidence int

// The degrees of confidence.
const (
	Weak   Confidence = iota // it fits, and so does much else
	Fair                     // it fits well, from one side
	Strong                   // independent sources agree
)

// String returns "weak", "fair" or "strong".
func (c Confidence) String() string { return [...]string{"weak", "fair", "strong"}[c] }

// A Finding is a statement about the sources rather than about a herd.
type Finding struct {
	Rule      string // "HS601", "HS602", "HS603"
	Severity  rule.Severity
	Subject   string
	Message   string
	Verdict   int // position in Verdicts
	Locations []cronlint.Location
}
