package schedule

import (
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

// wallDay knows how the seconds of one day's wall clock map to instants.
// Wall clock readings are seconds since 1970-01-01 00:00 read as if in UTC.
type wallDay struct {
	start   int64 // the reading at midnight
	offsets []int // offsets east of UTC around that day, oldest first
	changes []int64
	zone    *time.Location
}

// newWallDay looks at the day whose midnight reads start.
func newWallDay(start int64, zone *time.Location) wallDay {
	d := wallDay{start: start, zone: zone}
	if zone == time.UTC {
		d.offsets = []int{0}
		return d
	}
	// Offsets lie within 16 hours of UTC, so this range covers every instant
	// that can show a reading of the day, and a gap that touches it.
	from, to := start-16*3600, start+daySeconds+16*3600
	for at := from; ; {
		t := time.Unix(at, 0).In(zone)
		_, offset := t.Zone()
		d.offsets = append(d.offsets, offset)
		_, end := t.ZoneBounds()
		if end.IsZero() || end.Unix() > to {
			return d
		}
		at = end.Unix()
		d.changes = append(d.changes, at)
	}
}

// steady reports whether the whole day has one offset.
func (d *wallDay) steady() bool {
	if len(d.changes) == 0 {
		return true
	}
	for i, at := range d.changes {
		before, after := at+int64(d.offsets[i]), at+int64(d.offsets[i+1])
		if max(before, after) > d.start && min(before, after) < d.start+daySeconds {
			return false
		}
	}
	return true
}

// offset is the one offset of a steady day.
func (d *wallDay) offset() int {
	for i, at := range d.changes {
		if at+int64(d.offsets[i]) >= d.start+daySeconds {
			return d.offsets[i]
		}
	}
	return d.offsets[len(d.offsets)-1]
}

// instants returns every instant at which the wall clock shows reading, oldest first.
func (d *wallDay) instants(reading int64) (at []int64) {
	for i, offset := range d.offsets {
		t := reading - int64(offset)
		if (i == 0 || t >= d.changes[i-1]) && (i == len(d.changes) || t < d.changes[i]) {
			at = append(at, t)
		}
	}
	return at
}

// gap returns the change that skips reading, and the offset before it.
func (d *wallDay) gap(reading int64) (change int64, before, after int, ok bool) {
	for i, at := range d.changes {
		if reading >= at+int64(d.offsets[i]) && reading < at+int64(d.offsets[i+1]) {
			return at, d.offsets[i], d.offsets[i+1], true
		}
	}
	return 0, 0, 0, false
}

// catchUpLimit is the longest change of the clocks that cron makes up for.
const catchUpLimit = 3 * 3600

// fires returns the instants at which a schedule set to reading fires.
func (s *Schedule) fires(d *wallDay, reading int64) []int64 {
	at := d.instants(reading)
	if len(at) == 0 {
		return s.gapFires(d, reading)
	}
	if len(at) == 1 {
		return at
	}
	switch s.clock {
	case First, GapEnd:
		return at[:1]
	case Second:
		return at[len(at)-1:]
	case CatchUp:
		if s.fixedTime && at[1]-at[0] < catchUpLimit {
			return at[:1]
		}
	}
	return at
}

func (s *Schedule) gapFires(d *wallDay, reading int64) []int64 {
	change, before, after, ok := d.gap(reading)
	switch {
	case !ok:
	case s.clock == CatchUp && s.fixedTime && after-before < catchUpLimit, s.clock == GapEnd:
		return []int64{change}
	case s.clock == Forward:
		return []int64{reading - int64(before)}
	}
	return nil
}

// dayFires returns every instant of one unsteady day that the schedule fires
// at, sorted, each once.
func (s *Schedule) dayFires(d *wallDay) (at []int64) {
	for m := s.Minutes.Next(0); m >= 0; m = s.Minutes.Next(m + 1) {
		for sec := nextBit([]uint64{s.Seconds}, 0); sec >= 0; sec = nextBit([]uint64{s.Seconds}, sec+1) {
			at = append(at, s.fires(d, d.start+int64(m*60+sec))...)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}
