package attribute

import (
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/ttlhist"
)

// Evidence is all that was given, on one clock. A source that was not given is
// nil, and the verdicts then ask for it where it could decide.
type Evidence struct {
	Log    *querylog.Analysis // nil: no query log
	Caches []Cache            // none: no cache
	Lint   *cronlint.Result   // schedules and configuration; nil: none given
	Events []Event            // what the user knows of, in any order
	Zone   *time.Location     // the wall clock of schedules that name no zone; nil: UTC
}

// A Cache is what one look at a cache found. Several shards that were merged
// are one Cache.
type Cache struct {
	Name     string // as it is shown: "redis://cache-1:6379/0", "dump.rdb"
	Analysis *ttlhist.Analysis
}

// An Event is something that the user says has happened.
type Event struct {
	Kind EventKind
	At   time.Time
	To   time.Time // end of an outage; zero: not known, or it has no length
}

// EventKind is what happened.
type EventKind string

// The events that explain herds.
const (
	Deploy  EventKind = "deploy"  // new code, processes restarted
	Flush   EventKind = "flush"   // the cache was emptied
	Restart EventKind = "restart" // the cache or the database was restarted
	Outage  EventKind = "outage"  // the database or the cache could not be reached
)

// EventKinds returns the kinds of events there are.
func EventKinds() []EventKind { return []EventKind{Deploy, Flush, Restart, Outage} }
