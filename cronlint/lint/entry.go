package lint

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// An Entry is one schedule found in a file.
type Entry struct {
	File     *File
	Format   string // name of the format that found it
	Span     Span   // the whole entry: a crontab line, a job, a unit file
	Field    Span   // the schedule alone, inside its quotes: what a fix replaces
	Dialect  schedule.Dialect
	Raw      string               // the schedule as written
	Schedule *schedule.Schedule   // nil when it could not be parsed
	Err      *schedule.ParseError // why; nil when Schedule is set
	Zone     *time.Location       // nil is the zone of the machine, not known here
	Command  string               // what runs, as written; "" when the format does not say
	Identity string               // stable: dialect, group and the job's own name; never a line number
	Group    string               // the resource it shares: one host's crontabs, one cluster, one CI system
	Notes    Annotations
	Disabled bool // commented out, suspended, or state DISABLED: never fires
	Detail   any  // the format's own findings (a timer's settings, ...), for its own rules
}

// Location returns where the schedule is written.
func (e *Entry) Location() Location { return e.File.Location(e.Field) }

// Annotations are what a comment "# herdscan: ..." beside or above an entry
// says about it. Zero values mean that nothing is said.
type Annotations struct {
	Pin       bool // the time has a reason: never move it
	PinReason string
	Window    string        // "01:00-05:00": may move inside
	After     string        // identity or command of the job it must follow
	Duration  time.Duration // how long a run takes
	Hosts     int           // on how many machines this file is installed
	Weight    float64       // load of one run, 1 when not said
}

// A Setting is one policy that is no schedule: a retry policy, a cache, a
// rollout. Value is one of the types that the format's package documents, and
// that package's checks ask for it by type.
type Setting struct {
	File     *File
	Format   string // name of the format that found it
	Span     Span   // where a problem about the policy as a whole is shown
	Subject  string // for humans: "resilience4j.retry default"
	Identity string // stable: never a line number
	Value    any
}

// Problem makes a problem about the setting. At the zero Span it is shown at
// the setting's own place.
func (s *Setting) Problem(r *rule.Rule, span Span, message string) Problem {
	if span == (Span{}) {
		span = s.Span
	}
	p := NewProblem(r, s.File, span, s.Subject, message)
	p.Identity = s.Identity
	return p
}
