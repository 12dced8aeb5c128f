package schedule

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The three forms of App Engine's cron.yaml text ("groc").
var (
	grocEvery = regexp.MustCompile(`^every (\d+) (minutes?|mins?|hours?)( synchronized| from (\d\d?:\d\d) to (\d\d?:\d\d))?$`)
	grocDay   = regexp.MustCompile(`^(?:(every day|every [a-z, ]*?|[0-9a-z, ]+?))(?: of ([a-z, ]+?))? (\d\d?:\d\d)$`)
	grocOrd   = regexp.MustCompile(`^(\d+)(?:st|nd|rd|th)?$`)
)

// parseAppEngine reads the text of an App Engine schedule. "every 24 hours"
// counts from the end of the last run unless it says synchronized or from-to.
func parseAppEngine(text string) (*Schedule, *ParseError) {
	norm := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	if m := grocEvery.FindStringSubmatch(norm); m != nil {
		return grocInterval(m, len(text))
	}
	if m := grocDay.FindStringSubmatch(norm); m != nil {
		return grocDays(m, len(text))
	}
	return nil, errorAt(0, len(text), "write for example: every 24 hours, every monday 09:00, or 1,15 of month 12:00")
}

func grocInterval(m []string, end int) (*Schedule, *ParseError) {
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 || n > 1_000_000 {
		return nil, errorAt(0, end, "%q is not a number of minutes or hours", m[1])
	}
	step := n
	if strings.HasPrefix(m[2], "h") {
		step = n * 60
	}
	if m[3] == "" {
		return &Schedule{Interval: time.Duration(step) * time.Minute}, nil
	}
	from, to := 0, minutesPerDay-1
	if m[4] != "" {
		var ok, ok2 bool
		from, ok = clockMinute(m[4])
		to, ok2 = clockMinute(m[5])
		if !ok || !ok2 {
			return nil, errorAt(0, end, "%q is not a range of times", strings.TrimSpace(m[3]))
		}
	}
	s := &Schedule{Seconds: 1, days: everyDay()}
	if to < from {
		to += minutesPerDay
	}
	for v := from; v <= to; v += step {
		s.Minutes.Add(v % minutesPerDay)
	}
	return s, nil
}

func everyDay() dayRule { return dayRule{months: 0x1ffe, doms: ^uint32(0), dows: 0x7f} }

func clockMinute(text string) (int, bool) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

func grocDays(m []string, end int) (*Schedule, *ParseError) {
	s := &Schedule{Seconds: 1, days: everyDay()}
	minute, ok := clockMinute(m[3])
	if !ok {
		return nil, errorAt(0, end, "%q is not a time", m[3])
	}
	s.Minutes.Add(minute)
	if err := grocMonths(&s.days, m[2], end); err != nil {
		return nil, err
	}
	return s, grocWhich(&s.days, m[1], end)
}

func grocMonths(r *dayRule, text string, end int) *ParseError {
	if text == "" || text == "month" || text == "every month" {
		return nil
	}
	r.months = 0
	for _, name := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		m, ok := lookup(name, shortMonths[:], longMonths[:], true, 1)
		if !ok {
			return errorAt(0, end, "%q is not a month", name)
		}
		r.months |= 1 << m
	}
	return nil
}

// grocWhich reads "every day", "every monday,friday", "1,15", "2nd,third mon".
func grocWhich(r *dayRule, text string, end int) *ParseError {
	words := strings.FieldsFunc(strings.TrimPrefix(text, "every "), func(c rune) bool { return c == ',' || c == ' ' })
	var doms uint32
	var dows, nths uint8
	for _, w := range words {
		if w == "day" {
			return nil
		}
		if d, ok := lookup(w, shortDays[:], longDays[:], true, 0); ok {
			dows |= 1 << d
			continue
		}
		n, ok := grocOrdinal(w)
		if !ok || n < 1 || n > 31 {
			return errorAt(0, end, "%q is not a day", w)
		}
		doms |= 1 << n
		if n <= 5 {
			nths |= 1 << n
		}
	}
	switch {
	case dows == 0 && doms == 0:
		return errorAt(0, end, "no day in %q", text)
	case dows == 0:
		r.doms = doms
	case doms == 0:
		r.dows = dows
	default:
		r.dows = 0
		for d := range r.nth {
			if dows&(1<<d) != 0 {
				r.nth[d] = nths
			}
		}
	}
	return nil
}

func grocOrdinal(w string) (int, bool) {
	for i, name := range [...]string{"first", "second", "third", "fourth", "fifth"} {
		if w == name {
			return i + 1, true
		}
	}
	m := grocOrd.FindStringSubmatch(w)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
