package schedule

import "time"

const (
	firstYear = 1970
	lastYear  = 2199

	everyDom = 1<<32 - 2
	everyDow = 1<<7 - 1
)

// dayRule says on which days a schedule fires.
type dayRule struct {
	months   uint16    // bits 1 to 12
	doms     uint32    // bits 1 to 31
	dows     uint8     // bits 0 (Sunday) to 6
	fromLast uint32    // bit n: n days before the last day of the month
	workdays uint32    // bit n: the weekday nearest to day n
	lastWork bool      // the last weekday (Monday to Friday) of the month
	nth      [7]uint8  // per weekday, bits 1 to 5
	lastDows uint8     // the last such weekday of the month
	either   bool      // one of day-of-month and day-of-week is enough
	years    []yearRun // nil: every year
	date     *civilDay // a single day instead of all the above
}

// yearRun is a range of years with a step.
type yearRun struct{ lo, hi, step int }

type civilDay struct {
	year  int
	month time.Month
	day   int
}

func (r *dayRule) hasYear(y int) bool {
	if r.years == nil {
		return true
	}
	for _, run := range r.years {
		if y >= run.lo && y <= run.hi && (y-run.lo)%run.step == 0 {
			return true
		}
	}
	return false
}

// matches reports whether the rule holds on a day of one of its months, which
// has last days.
func (r *dayRule) matches(day int, dow time.Weekday, last int) bool {
	dom, wd := r.matchesDom(day, dow, last), r.matchesDow(day, dow, last)
	if r.either {
		return dom || wd
	}
	return dom && wd
}

func (r *dayRule) matchesDom(day int, dow time.Weekday, last int) bool {
	if r.doms&(1<<day) != 0 || r.fromLast&(1<<(last-day)) != 0 {
		return true
	}
	if dow == time.Saturday || dow == time.Sunday {
		return false
	}
	first := (int(dow) - (day - 1) + 35) % 7 // weekday of the 1st
	if r.lastWork && day == nearestWorkday(last, last, first) {
		return true
	}
	for n := max(1, day-2); r.workdays != 0 && n <= min(last, day+2); n++ {
		if r.workdays&(1<<n) != 0 && nearestWorkday(n, last, first) == day {
			return true
		}
	}
	return false
}

func (r *dayRule) matchesDow(day int, dow time.Weekday, last int) bool {
	return r.dows&(1<<dow) != 0 ||
		r.nth[dow]&(1<<((day+6)/7)) != 0 ||
		r.lastDows&(1<<dow) != 0 && day+7 > last
}

// nearestWorkday is the day from Monday to Friday nearest to day n, within a
// month of last days whose first day is weekday first.
func nearestWorkday(n, last, first int) int {
	switch (first + n - 1) % 7 {
	case 6: // Saturday
		if n == 1 {
			return 3
		}
		return n - 1
	case 0: // Sunday
		if n == last {
			return n - 2
		}
		return n + 1
	}
	return n
}

// days returns the days of year y that the rule holds.
func (r *dayRule) days(y int) (set Days) {
	if r.date != nil {
		if r.date.year == y {
			set.Add(time.Date(y, r.date.month, r.date.day, 0, 0, 0, 0, time.UTC).YearDay() - 1)
		}
		return set
	}
	if !r.hasYear(y) {
		return set
	}
	dow := time.Date(y, time.January, 1, 0, 0, 0, 0, time.UTC).Weekday()
	daily := r.doms&everyDom == everyDom && r.dows == everyDow
	yday := 0
	for m := time.January; m <= time.December; m++ {
		last := monthLength(y, m)
		if r.months&(1<<m) == 0 {
			yday += last
			dow = (dow + time.Weekday(last)) % 7
			continue
		}
		if daily {
			set.addRange(yday, yday+last)
			yday += last
			continue
		}
		for d := 1; d <= last; d++ {
			if r.matches(d, dow, last) {
				set.Add(yday)
			}
			yday++
			dow = (dow + 1) % 7
		}
	}
	return set
}

func monthLength(y int, m time.Month) int {
	switch m {
	case time.February:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

func yearLength(y int) int { return 337 + monthLength(y, time.February) }
