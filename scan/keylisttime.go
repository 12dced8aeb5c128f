package scan

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"time"
)

// errVanished marks a key that was gone when its expiry was asked for.
var errVanished = errors.New("the key had vanished")

var errExpiry = errors.New("not a time or a time to live")

// The first and last Unix second that a number is taken for as an absolute time: 2001-09-09 and 2103. The ranges of
// seconds, milliseconds, microseconds and nanoseconds do not touch.
const (
	firstSecond = 1e9
	lastSecond  = 4.2e9
)

// absoluteUnit returns the unit in which v is a plausible absolute time.
func absoluteUnit(v float64) (time.Duration, bool) {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if s := v / float64(time.Second/unit); s >= firstSecond && s <= lastSecond {
			return unit, true
		}
	}
	return 0, false
}

// A timeUnit is how the numbers of a column are read.
type timeUnit struct {
	unit     time.Duration
	absolute bool
}

// String completes "read as".
func (u timeUnit) String() string {
	names := map[time.Duration]string{
		time.Second: "seconds", time.Millisecond: "milliseconds",
		time.Microsecond: "microseconds", time.Nanosecond: "nanoseconds",
	}
	if u.absolute {
		return "absolute Unix times in " + names[u.unit]
	}
	return "times to live in " + names[u.unit]
}

// tenYears in seconds: a longer time to live is taken for milliseconds.
const tenYears = 10 * 365 * 86400

// guessUnit concludes from sample values how a column without a unit is to be read. Values of a kind that an expiry
// can't mix, such as seconds and milliseconds since 1970, are refused.
func guessUnit(values []float64, relative time.Duration) (timeUnit, error) {
	var abs timeUnit
	absolute, longest := 0, 0.0
	for _, v := range values {
		longest = max(longest, v)
		unit, ok := absoluteUnit(v)
		if !ok {
			continue
		}
		if absolute > 0 && unit != abs.unit {
			return timeUnit{}, errors.New("the expiries mix units: name the column by its unit, such as pttl_ms or expire_at")
		}
		abs = timeUnit{unit: unit, absolute: true}
		absolute++
	}
	switch {
	case absolute > 0 && absolute == len(values):
		return abs, nil
	case absolute > 0 && abs.unit != time.Second:
		return timeUnit{}, errors.New("the expiries mix absolute and relative times: name the column by its unit, such as pttl_ms or expire_at")
	case relative > 0:
		return timeUnit{unit: relative}, nil
	case longest > tenYears:
		return timeUnit{unit: time.Millisecond}, nil
	}
	return timeUnit{unit: time.Second}, nil
}

// parseNumber parses an integer or a decimal number.
func parseNumber(s []byte) (float64, bool) {
	if n, ok := parseInt(s); ok {
		return float64(n), true
	}
	v, err := strconv.ParseFloat(string(s), 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// timeLayouts are the forms of written times. Those without a zone are taken as UTC.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04:05"}

// writtenTime parses a time such as "2026-11-03T14:00:00Z" into Unix milliseconds.
func writtenTime(s []byte) (int64, bool) {
	if len(s) < len("2006-01-02") || s[4] != '-' {
		return 0, false
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, string(s)); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

// instant reads an absolute time of any form as Unix milliseconds.
func instant(s []byte) (int64, bool) {
	if ms, ok := writtenTime(s); ok {
		return ms, true
	}
	v, ok := parseNumber(s)
	if !ok {
		return 0, false
	}
	unit, ok := absoluteUnit(v)
	return millis(v, unit), ok
}

// millis turns v units into whole milliseconds, cut off as Redis does. Half a microsecond is added for
// decimal seconds, which a float64 may hold a little too low.
func millis(v float64, unit time.Duration) int64 {
	return int64(math.Floor(v*(float64(unit)/float64(time.Millisecond)) + 5e-4))
}

// noExpiryWords stand for a key that never expires.
var noExpiryWords = [][]byte{nil, []byte("null"), []byte("none"), []byte("never"), []byte("nil"), []byte(`\N`)}

func meansNoExpiry(s []byte) bool {
	for _, w := range noExpiryWords {
		if bytes.EqualFold(s, w) {
			return true
		}
	}
	return false
}
