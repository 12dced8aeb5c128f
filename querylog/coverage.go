package querylog

import (
	"slices"
	"time"
)

// Coverage says what of one source was read, and how far its counts can be trusted.
type Coverage struct {
	Source  string
	Format  Format
	Server  Server
	Version string // as the server prints it, "" if the log has no banner

	Bytes    int64  // of decompressed log
	Read     uint64 // records
	Counted  uint64 // of them inside the asked time window
	Skipped  uint64 // places that could not be read as records
	Complete bool   // read to its end
	From, To time.Time

	Errors  []ParseError // the first places, at most MaxErrors
	Stopped string       // why the source was not read to its end

	Untimed       uint64        // records before the first time of the log
	Falsified     uint64        // records whose time was set by the session and not believed
	Repeated      uint64        // stamps in an hour that the clock showed twice, put in order by guess
	ZoneAssumed   bool          // stamps name no zone: Options.Zone or UTC was taken
	Zone          string        // that zone
	Offset        time.Duration // of the log's own clock from UTC, where its stamps show it; see HasOffset
	HasOffset     bool
	ServerGuessed bool          // start times rest on a guess of the server
	Fine          bool          // stamps are finer than a second
	MinDuration   time.Duration // the shortest Query_time, 0 if the log gives none
	Timed         uint64        // records with a duration
	MinIdle       time.Duration // the shortest Query_time of those that read no rows
	TimedIdle     uint64        // how many those are
	SampleRate    uint64        // one of so many was logged: the rate of most records that say so, 0 if none does
	SampleKind    string        // "query", "session" or SampledProcesses
	Rates         []SampledPart `json:",omitempty"` // by rate and kind, in the order of their first records
	Always        uint64        // records that were logged for their duration, whatever the rate; see AlwaysWritten
	Truncated     uint64        // statements longer than MaxStatement
	Notes         []string      `json:",omitempty"` // what else limits it, in words: of live sources
}

// SampledProcesses marks a source that was looked at from time to time only.
const SampledProcesses = "process list"

// SampledPart is what of a source was logged at one rate.
type SampledPart struct {
	Rate     uint64 // one of so many statements, or connections
	Kind     string // "query", "session", "" if the log does not say
	Count    uint64 // records
	From, To time.Time
}

// maxParts is how many rates a Coverage tells apart; the last one takes the rest.
const maxParts = 16

// AlwaysWritten is the duration from which Percona Server logs every statement
// whatever its rate: the default of slow_query_log_always_write_time. The log
// does not say what it was set to.
const AlwaysWritten = 10 * time.Second

// sampled gives an event the weight of its rate and notes it.
func (c *Coverage) sampled(e *Event, rate uint64, kind string) {
	e.rate = min(rate, maxWeight)
	if kind != "" && e.Has&HasDuration != 0 && e.Duration >= AlwaysWritten {
		e.rate = 1
		c.Always++
		return
	}
	i := slices.IndexFunc(c.Rates, func(p SampledPart) bool { return p.Rate == rate && p.Kind == kind })
	if i < 0 {
		if i = len(c.Rates); i == maxParts {
			i--
		} else {
			c.Rates = append(c.Rates, SampledPart{Rate: rate, Kind: kind, From: e.Time, To: e.Time})
		}
	}
	p := &c.Rates[i]
	p.Count++
	if e.Has&HasTime != 0 {
		if p.From.IsZero() || e.Time.Before(p.From) {
			p.From = e.Time
		}
		if e.Time.After(p.To) {
			p.To = e.Time
		}
	}
	if c.SampleRate == 0 || p.Rate == c.SampleRate || p.Count > c.most() {
		c.SampleRate, c.SampleKind = p.Rate, p.Kind
	}
}

// most returns how many records the rate of the source has.
func (c *Coverage) most() (n uint64) {
	for _, p := range c.Rates {
		if p.Rate == c.SampleRate && p.Kind == c.SampleKind {
			n = p.Count
		}
	}
	return n
}

// MaxErrors is how many places a Coverage lists.
const MaxErrors = 20

// observe notes an event of the source.
func (c *Coverage) observe(e *Event) {
	c.Read++
	if e.Has&HasTime == 0 {
		c.Untimed++
	} else {
		if c.From.IsZero() || e.Time.Before(c.From) {
			c.From = e.Time
		}
		if e.Time.After(c.To) {
			c.To = e.Time
		}
	}
	if e.Has&HasDuration != 0 && !e.throttle { // the duration of such a line is a sum
		if e.Has&HasRowsExamined != 0 && e.RowsExamined == 0 {
			if c.TimedIdle == 0 || e.Duration < c.MinIdle {
				c.MinIdle = e.Duration
			}
			c.TimedIdle++
		}
		if c.Timed == 0 || e.Duration < c.MinDuration {
			c.MinDuration = e.Duration
		}
		c.Timed++
	}
	if e.Size > MaxStatement {
		c.Truncated++
	}
}

// fault notes a place that could not be read.
func (c *Coverage) fault(e *ParseError) {
	c.Skipped++
	if len(c.Errors) < MaxErrors {
		c.Errors = append(c.Errors, *e)
	}
}
