package schedule

import (
	"reflect"
	"time"
)

// A Schedule says when something fires. It is read-only once parsed.
type Schedule struct {
	Dialect Dialect
	Text    string
	Fields  []Field // of cron dialects, in the order written; nil for a nickname's own text

	// Nickname is the @daily or weekly that Text is, else empty.
	Nickname string
	// Zone is the time zone named in the text, or nil.
	Zone *time.Location
	// Interval is above zero when the schedule counts from a start that is not
	// in the text (@every, rate(), every 24 hours): no wall clock is involved.
	Interval time.Duration
	// Reboot is true of @reboot: it fires at start-up only.
	Reboot bool
	// Drawn is true when the values of a field are not in the text: a random
	// range (~), or H without a job's name. Minutes and days then hold the
	// least values that can be drawn.
	Drawn bool

	// Minutes of the day, and seconds 0 to 59 of such a minute, that it fires at.
	Minutes Minutes
	Seconds uint64

	days      dayRule
	clock     Clock
	fixedTime bool // neither minute nor hour begins with a star
}

// WallClock reports whether the schedule is bound to the wall clock at all.
func (s *Schedule) WallClock() bool { return s.Interval == 0 && !s.Reboot }

// Days returns the days of a year, in the schedule's own zone, that it fires on.
func (s *Schedule) Days(year int) Days {
	if !s.WallClock() {
		return Days{}
	}
	return s.days.days(year)
}

// Field returns the field of unit u, or nil where the schedule has none.
func (s *Schedule) Field(u Unit) *Field {
	for i := range s.Fields {
		if s.Fields[i].Unit == u {
			return &s.Fields[i]
		}
	}
	return nil
}

// Hours returns the set of hours that it fires in, bit 0 to 23.
func (s *Schedule) Hours() (set uint32) {
	for m := s.Minutes.Next(0); m >= 0; m = s.Minutes.Next(m + 1) {
		set |= 1 << (m / 60)
	}
	return set
}

// MinutesOfHour returns the set of minutes 0 to 59 that it fires at in any hour.
func (s *Schedule) MinutesOfHour() (set uint64) {
	for m := s.Minutes.Next(0); m >= 0; m = s.Minutes.Next(m + 1) {
		set |= 1 << (m % 60)
	}
	return set
}

// PerDay is the number of fires on a day that it fires on, without a change of
// the clocks.
func (s *Schedule) PerDay() int {
	return s.Minutes.Count() * countBits([]uint64{s.Seconds})
}

// Never reports whether the schedule doesn't fire after from, until the year
// 2199.
func (s *Schedule) Never(from time.Time) bool {
	if !s.WallClock() {
		return false
	}
	if s.Minutes.Count() == 0 || s.Seconds == 0 {
		return true
	}
	return s.Next(from).IsZero()
}

// SameDays reports whether two schedules fire on the same days of every year.
func (s *Schedule) SameDays(o *Schedule) bool {
	if reflect.DeepEqual(s.days, o.days) && s.WallClock() == o.WallClock() {
		return true
	}
	for y := firstYear; y <= lastYear; y++ {
		if s.Days(y) != o.Days(y) {
			return false
		}
	}
	return true
}
