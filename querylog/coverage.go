package querylog

import "time"

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
	SampleRate    uint64        // one of so many was logged, 0 if the log does not say so
	SampleKind    string        // "query", "session" or SampledProcesses
	Truncated     uint64        // statements longer than MaxStatement
	Notes         []string      `json:",omitempty"` // what else limits it, in words: of live sources
}

// SampledProcesses marks a source that was looked at from time to time only.
const SampledProcesses = "process list"

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
	if e.Has&HasDuration != 0 {
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
