package querylog

import (
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// Analysis is what was found in a Summary. It holds values only: how they are
// told is up to the caller.
type Analysis struct {
	From, To   time.Time // first and last start, UTC; zero when no time is known
	Statements uint64    // that ran
	Classes    int       // shapes of statements, followers left out
	Resolution time.Duration
	Findings   []Finding // the most severe first, then by count
	SampleRate float64   // statements that ran for each one logged, the mean of the log; 1 when all was logged
	MixedRates bool      // that differs: each count of a finding is scaled by the rate of its own time
	Undecided  string    // why nothing can be concluded, "" if something can
	Need       int       // statements needed when there are too few
	Coverage   []Coverage
	Folded     Folded
	Own        uint64 // statements of herdscan itself, left out
	Throttled  uint64 // lines about suppressed statements, left out
}

// Folded says what the bounds of a Summary made it give up.
type Folded struct {
	Classes, Events uint64        // rare classes, about, and their statements
	Hosts           uint64        // statements of clients beyond those told apart
	Missing         uint64        // misses of texts beyond those followed
	Bursts          uint64        // copies of one text at once beyond those kept, the smaller ones
	Bin             time.Duration // starts are rounded to this
	Clients         bool          // the starts no longer tell who sent a statement
}

// Finding is one thing found.
type Finding struct {
	Rule     string // HS501 ... HS507
	Severity rule.Severity
	Reason   string // why this severity, when it is not the usual one of the rule

	Subject string  // shape of the main statement, or the name of a source
	Members []Class // the statements that take part, the main one first
	Count   uint64  // statements in it
	Of      uint64  // statements of the members in all
	Error   uint64  // standard error of Count from sampling, 0 when all was logged
	Source  string  // HS507: the source

	Comb  *comb.Comb   // HS501, HS503, and HS505 with constant spacing
	Teeth []comb.Tooth // its teeth, or the one-off ones

	Hosts       []Host // clients that take part, the busiest first, at most MaxHosts
	HostTotal   int    // how many there are, 0 if the log names none
	HostsATooth int    // clients in the median tooth
	ConnsATooth int    // connections in the median tooth, about, at most 8; 0 if unknown

	Identical float64 // share of the largest group of identical texts in the median tooth, 0..1
	Bursts    []Burst // the largest bursts of identical text in it, at most MaxBursts
	Texts     uint64  // distinct texts of the members, about
	AtOnce    uint64  // most copies or statements in flight at once
	Second    uint64  // statements in its busiest second
	Avoidable uint64  // statements that one refill a tooth or one run a job would have saved

	TTL     time.Duration // HS501: the time to live that the period suggests, 0 if none
	Spacing time.Duration // HS505: first pause between waves
	Growth  float64       // HS505: factor from pause to pause, 1 for constant
	Outage  time.Time     // HS505, HS504: end of the outage before it, zero if none was seen
	Rate    float64       // HS506: repeated misses a second

	PartOf     string   // fingerprint of the finding of which this is a part, "" if it stands alone
	PartOfRule string   // the rule of that finding
	Also       []string // other rules that the same facts meet, told in findings that are a part of this one

	Artefact bool // made by the server, its host or by monitoring: no herd of the application

	Causes []Cause // best first, for herds
	Fix    Fix

	Fingerprint string // the same for the same finding in another run
}

// MaxHosts and MaxBursts bound the lists of a Finding.
const (
	MaxHosts  = 256
	MaxBursts = 10
)

// Class is a statement that takes part in a finding.
type Class struct {
	Hash     uint64
	Shape    string
	Verb     string
	Tables   []string
	Count    uint64 // in the finding
	Total    uint64 // in the log
	DBs      []string
	Sample   []byte // one text, untrusted; nil when the summary has none
	Timed    uint64 // statements with a duration
	Median   time.Duration
	P95      time.Duration
	Longest  time.Duration
	Duration time.Duration // sum
	Follower bool
	Comb     *comb.Comb // its own comb in that of the finding, as it is without the others; nil: none of its own
}

// Host is a client and its statements in a finding.
type Host struct {
	Name  string
	Count uint64
}

// CauseKind names a cause, as in the JSON contract.
type CauseKind string

// The causes.
const (
	CauseTTL        CauseKind = "ttl"
	CauseHotKey     CauseKind = "hot_key"
	CauseColdStart  CauseKind = "cold_start"
	CauseCron       CauseKind = "cron"
	CauseRetry      CauseKind = "retry"
	CauseReplicaJob CauseKind = "replica_job"
	CauseMissingKey CauseKind = "missing_key"
	CauseUnknown    CauseKind = "unknown"
)

// Cause is a cause that the log is consistent with.
type Cause struct {
	Kind      CauseKind
	Score     float64 // 0..1, how well it fits; not a probability
	Why       string
	RefutedBy string // the observation that would refute it
}

// Fix is what to do, with its predicted effect.
type Fix struct {
	Text   string
	Effect *comb.Effect // nil when nothing can be predicted
}

// AnalyseOptions steer Analyse. The zero value is ready.
type AnalyseOptions struct {
	// Zone is the zone whose wall clock counts. Nil means UTC.
	Zone *time.Location
	// SampleRate says that one of so many statements was logged, whatever the
	// log says; 1 that all were. 0 leaves it to the log.
	SampleRate float64
}
