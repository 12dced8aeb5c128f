// Package comb finds herds in event counts over time: combs (narrow teeth at
// one period over any background) and one-off teeth, and says how sure it is.
//
// It is pure mathematics: no I/O, no clock, no randomness. The same counts
// give the same answer, whatever the order in which they were added or merged.
// docs/detector.md explains the method, its sources, scores and limits.
package comb

import "time"

// Lock says how a comb's period relates to the wall clock.
type Lock int

const (
	// Undetermined means that the data can't tell: too few teeth, or teeth too wide.
	Undetermined Lock = iota
	// WallClock means that the teeth keep a fixed phase of a period people
	// write into schedules (1 min, 5 min, 1 h, 1 day ...).
	WallClock
	// Drifting means that each period is a little longer than such a period,
	// as a TTL plus the time to rebuild is.
	Drifting
	// Free means that the period is near none of them, or shorter than one.
	Free
)

// String returns the name used in JSON: undetermined, wall_clock, drifting or free.
func (l Lock) String() string {
	switch l {
	case WallClock:
		return "wall_clock"
	case Drifting:
		return "drifting"
	case Free:
		return "free"
	}
	return "undetermined"
}

// Tooth is one narrow burst of events.
type Tooth struct {
	At    time.Time     // onset, UTC
	Width time.Duration // from onset to the end of the burst, at least one bin
	Count uint64        // events in it, the background not subtracted
}

// Comb is a train of teeth at one period.
type Comb struct {
	Period    time.Duration // least-squares spacing of the tooth onsets
	PeriodErr time.Duration // its standard error (1 sigma)
	Width     time.Duration // width of the mean tooth at a tenth of its height
	Anchor    time.Time     // onset of the first tooth on the fitted line, UTC
	Lock      Lock
	Drift     time.Duration // Period minus the nearest wall-clock period
	DriftErr  time.Duration // standard error of Drift (1 sigma)

	Teeth   []Tooth // every tooth seen, in time order
	Missing int     // expected teeth, between the first and the last, that are not there

	Share      float64 // share of the series' events that lie in teeth, background subtracted, 0..1
	Height     float64 // events a tooth above the background, median
	Peak       uint64  // events in the busiest second of the busiest tooth
	Baseline   float64 // events a second between the teeth
	PeakToBase float64 // Peak over Baseline; at most 1e6
	LogP       float64 // log10 of a bound on the false-alarm probability, corrected for Options.Tried
	Harm       bool    // large enough to warn: at least 7 events a tooth, and half the background in its window (all of it from 1 min on)
}

// Spike is a one-off tooth: a burst far beyond all others that belongs to no comb.
type Spike struct {
	Tooth
	LogP float64 // log10 of the false-alarm probability in this series, not corrected for Options.Tried
}

// Options describe the record that a series was counted from.
type Options struct {
	// From and To are the coverage of the whole log, not of this series: a
	// silent start is information. Zero values mean the series' own span, and
	// events outside of the coverage widen it.
	From, To time.Time
	// Resolution of the time stamps, one second or finer. Zero means as found:
	// one second when all events are at whole seconds, else the bin of the series.
	Resolution time.Duration
	// Tried is the number of series tested together, at least 1: the
	// threshold is divided by it (Bonferroni).
	Tried int
	// Zone is the zone whose wall clock schedules follow: a jump of the phase
	// keeps the lock only when this zone's clock was set then. Nil means not
	// known: any jump of an hour may be such a one.
	Zone *time.Location
}

// Result is what Detect found.
type Result struct {
	Combs  []Comb  // strongest first
	Spikes []Spike // in time order
	// Undecided says why nothing can be concluded ("12 events: too few to
	// judge, 20 needed"); empty when the series could be judged.
	Undecided string
	// Need is the number of events needed when there are too few, else 0.
	Need int
}

// Named is one of many series tested together.
type Named struct {
	Name   string
	Series *Series
	// Fill makes the series where Series is nil: it resets the one given to
	// its bin and adds the events. It is called each time the series is needed
	// and perhaps on several goroutines, so that many long series are not in
	// memory together. It must always make the same one.
	Fill func(*Series)
	// Follower marks shapes that only accompany others (BEGIN, COMMIT, SET
	// NAMES, Connect): they may be members of a family but never its cause.
	Follower bool
}

// get returns the series, ready to be read, made in the given memory if it has to be.
func (n *Named) get(memory *Series) *Series {
	s := n.Series
	if s == nil {
		s = memory
		n.Fill(s)
	}
	s.settle()
	return s
}

// Member is one series of a family.
type Member struct {
	Name     string
	Index    int    // position in the slice given to DetectFamilies
	Count    uint64 // events of this series in the family's teeth
	Follower bool
	Own      bool // its comb was found in this series alone
}

// Family is one herd seen in several series: same period and phase.
type Family struct {
	Comb    Comb     // of the sum of the members that are no followers
	Members []Member // causes first, each by falling Count, then by name
}
