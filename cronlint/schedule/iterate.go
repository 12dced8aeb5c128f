package schedule

import (
	"iter"
	"time"
)

// location is the zone that the schedule is read in: its own, else loc.
func (s *Schedule) location(loc *time.Location) *time.Location {
	if s.Zone != nil {
		return s.Zone
	}
	return loc
}

// endOfTime is where the search for a next fire gives up, as systemd's does.
var endOfTime = time.Date(lastYear+1, time.January, 1, 0, 0, 0, 0, time.UTC)

// Next returns the first fire after t, or the zero time if there is none in
// the years to 2199. A schedule without a zone of its own is read in t's.
// The result is in t's zone. An interval counts from t.
func (s *Schedule) Next(t time.Time) time.Time {
	for fire := range s.Fires(t, endOfTime) {
		return fire
	}
	return time.Time{}
}

// Fires yields the fires after from and not after to, in order. A schedule
// without a zone of its own is read in from's. An interval counts from from.
func (s *Schedule) Fires(from, to time.Time) iter.Seq[time.Time] {
	loc := from.Location()
	if s.Interval > 0 {
		return s.ticks(from, to)
	}
	return func(yield func(time.Time) bool) {
		lo, hi := from.Unix(), to.Unix()
		for at := range s.unix(lo, hi, s.location(loc)) {
			if at > lo && !yield(time.Unix(at, 0).In(loc)) {
				return
			}
		}
	}
}

func (s *Schedule) ticks(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for t := from.Add(s.Interval); !t.After(to); t = t.Add(s.Interval) {
			if !yield(t) {
				return
			}
		}
	}
}

// unix yields the fires from lo to hi, both included, as Unix seconds.
func (s *Schedule) unix(lo, hi int64, zone *time.Location) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if !s.WallClock() || s.Minutes.Count() == 0 || s.Seconds == 0 {
			return
		}
		for start := range s.midnights(lo, hi, zone) {
			if !s.dayUnix(start, lo, hi, zone, yield) {
				return
			}
		}
	}
}

// midnights yields the wall-clock readings at the start of the days that the
// schedule fires on and that can touch the instants lo to hi.
func (s *Schedule) midnights(lo, hi int64, zone *time.Location) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		first := time.Unix(lo, 0).In(zone).AddDate(0, 0, -1)
		from := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, time.UTC)
		last := time.Unix(hi, 0).In(zone).AddDate(0, 0, 1)
		for y := from.Year(); y <= last.Year(); y++ {
			jan1 := time.Date(y, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
			days := s.Days(y)
			d := 0
			if y == from.Year() {
				d = from.YearDay() - 1
			}
			for d = days.Next(d); d >= 0; d = days.Next(d + 1) {
				if !yield(jan1 + int64(d)*daySeconds) {
					return
				}
			}
		}
	}
}

// dayUnix yields the fires of one day that lie from lo to hi; false stops.
func (s *Schedule) dayUnix(start, lo, hi int64, zone *time.Location, yield func(int64) bool) bool {
	d := newWallDay(start, zone)
	emit := func(at int64) bool { return at < lo || at <= hi && yield(at) }
	if !d.steady() {
		for _, at := range s.dayFires(&d) {
			if !emit(at) {
				return false
			}
		}
		return true
	}
	base := start - int64(d.offset())
	for m := s.Minutes.Next(0); m >= 0; m = s.Minutes.Next(m + 1) {
		for sec := nextBit([]uint64{s.Seconds}, 0); sec >= 0; sec = nextBit([]uint64{s.Seconds}, sec+1) {
			if !emit(base + int64(m*60+sec)) {
				return false
			}
		}
	}
	return true
}
