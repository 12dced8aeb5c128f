package conf

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	isoDuration  = regexp.MustCompile(`^P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
	timeSpan     = regexp.MustCompile(`^(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2}(?:\.\d+)?))?$`)
	unitDuration = regexp.MustCompile(`^(\d+(?:\.\d+)?|\.\d+)\s*([a-zA-Zµ]*)`)
)

var durationUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour,
}

// ParseDuration reads a length of time as Go, Java (ISO 8601), .NET and most
// configuration files write it; a bare number counts in unit. ok is false for
// anything else, for negative and for overlong ones.
func ParseDuration(s string, unit time.Duration) (d time.Duration, ok bool) {
	s = strings.TrimSpace(s)
	if m := isoDuration.FindStringSubmatch(strings.ToUpper(s)); m != nil && len(s) > 2 {
		return sum(m[1:], []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second})
	}
	if m := timeSpan.FindStringSubmatch(s); m != nil {
		return sum(m[1:], []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second})
	}
	if s == "" {
		return 0, false
	}
	var total time.Duration
	for rest := s; rest != ""; {
		m := unitDuration.FindStringSubmatch(rest)
		if m == nil {
			return 0, false
		}
		factor, known := durationUnits[m[2]]
		if m[2] == "" && m[0] == s {
			factor, known = unit, true
		}
		part, fits := times(m[1], factor)
		if !known || !fits || total > math.MaxInt64-part {
			return 0, false
		}
		total += part
		rest = strings.TrimLeft(rest[len(m[0]):], " ")
	}
	return total, true
}

// sum adds counts of the given units; an empty count is 0.
func sum(counts []string, units []time.Duration) (total time.Duration, ok bool) {
	for i, c := range counts {
		if c == "" {
			continue
		}
		part, fits := times(c, units[i])
		if !fits || total > math.MaxInt64-part {
			return 0, false
		}
		total += part
	}
	return total, true
}

func times(count string, unit time.Duration) (time.Duration, bool) {
	v, err := strconv.ParseFloat(count, 64)
	if err != nil || v < 0 || v*float64(unit) >= math.MaxInt64/2 {
		return 0, false
	}
	return time.Duration(math.Round(v * float64(unit))), true
}
