package eventlog

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	errNoTime = errors.New("no time understood")
	errRange  = errors.New("time outside the years 1678 to 2262")
)

// A stamp is a parsed time: nanoseconds since 1970, and how fine its text is.
type stamp struct {
	ns         int64
	resolution time.Duration
}

// layouts without a zone are read in Reader's zone.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999Z0700",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 -0700",
	"2006-01-02 15:04:05.999999999 MST",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"02/Jan/2006:15:04:05 -0700",
	"02/Jan/2006:15:04:05.999999999 -0700",
}

// ParseTime reads one time: RFC 3339, a date and a time in zone, or Unix
// seconds (with a fraction), milliseconds, microseconds or nanoseconds,
// told apart by their size.
func ParseTime(text string, zone *time.Location) (time.Time, error) {
	s, err := parseStamp(strings.TrimSpace(text), zone)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, s.ns).In(zone), nil
}

func parseStamp(text string, zone *time.Location) (stamp, error) {
	if text == "" {
		return stamp{}, errNoTime
	}
	if c := text[0]; c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' {
		if s, ok, err := parseUnix(text); ok || err != nil {
			return s, err
		}
	}
	for _, layout := range layouts {
		t, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		if y := t.Year(); y < 1678 || y > 2261 {
			return stamp{}, errRange
		}
		return stamp{t.UnixNano(), resolutionOf(fraction(text))}, nil
	}
	return stamp{}, errNoTime
}

// parseUnix reads a plain decimal number exactly. It is not ok for text that
// is no such number, "2026-11-03" for one.
func parseUnix(text string) (s stamp, ok bool, err error) {
	sign := int64(1)
	digits := text
	if digits[0] == '-' || digits[0] == '+' {
		if digits[0] == '-' {
			sign = -1
		}
		digits = digits[1:]
	}
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "" && frac == "" || !isDigits(whole) || !isDigits(frac) {
		return parseExponent(text)
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if whole == "" {
		n, err = 0, nil
	}
	if err != nil {
		return s, false, errRange
	}
	unit := unitOf(n)
	if n > math.MaxInt64/int64(unit) {
		return s, false, errRange
	}
	s = stamp{ns: sign * (n*int64(unit) + fractionNS(frac, unit)), resolution: unit}
	if frac != "" {
		s.resolution = max(resolutionOf(frac)*unit/time.Second, 1)
	}
	return s, true, nil
}

// parseExponent reads "1.7e9", as some programs print a float.
func parseExponent(text string) (stamp, bool, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return stamp{}, false, nil
	}
	if math.Abs(x) >= math.MaxInt64/1e9 {
		return stamp{}, false, errRange
	}
	return stamp{int64(math.Round(x * 1e9)), time.Second}, true, nil
}

// unitOf tells the unit of a Unix time by its size: seconds reach these
// bounds in the year 5138.
func unitOf(n int64) time.Duration {
	switch {
	case n < 1e11:
		return time.Second
	case n < 1e14:
		return time.Millisecond
	case n < 1e17:
		return time.Microsecond
	default:
		return time.Nanosecond
	}
}

// fractionNS is the value of the digits behind the point, cut to nanoseconds.
func fractionNS(frac string, unit time.Duration) int64 {
	ns, scale := int64(0), int64(unit)
	for i := 0; i < len(frac) && scale >= 10; i++ {
		scale /= 10
		ns += int64(frac[i]-'0') * scale
	}
	return ns
}

// resolutionOf is how fine a fraction of a second is. Digits that are all
// zero say nothing: "1700000000.000000" is a whole second.
func resolutionOf(frac string) time.Duration {
	frac = strings.TrimRight(frac, "0")
	r := time.Second
	for range min(len(frac), 9) {
		r /= 10
	}
	return r
}

// fraction finds the digits behind the seconds of a date and time.
func fraction(text string) string {
	_, rest, ok := strings.Cut(text, ".")
	if !ok {
		return ""
	}
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	return rest[:n]
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
