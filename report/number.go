package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Clock says how a document writes times: in UTC by RFC 3339 for pipes and
// machines, in the local zone with its name on a terminal.
type Clock struct {
	Zone *time.Location // nil means UTC, RFC 3339
}

func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// Time writes t to the second.
func (c Clock) Time(t time.Time) string {
	if c.Zone == nil {
		return t.UTC().Format(time.RFC3339)
	}
	return t.In(c.Zone).Format("2006-01-02 15:04:05 MST")
}

// Span writes from–to, leaving out of "to" what it shares with "from".
func (c Clock) Span(from, to time.Time) string {
	if c.Zone == nil {
		return c.Time(from) + "/" + c.Time(to)
	}
	a, b := from.In(c.Zone), to.In(c.Zone)
	if a.Format(time.DateOnly) == b.Format(time.DateOnly) {
		return a.Format("2006-01-02 15:04:05") + "–" + b.Format("15:04:05 MST")
	}
	return a.Format("2006-01-02 15:04:05") + "–" + b.Format("2006-01-02 15:04:05 MST")
}

// Int writes a whole number with thousands separated.
func Int[T ~int | ~int64 | ~uint64](n T) string {
	if n >= 0 && uint64(n) > math.MaxInt64 {
		return strconv.FormatUint(uint64(n), 10)
	}
	return humanize.Comma(int64(n))
}

// Count writes a number with its unit, given in the plural.
func Count[T ~int | ~int64 | ~uint64](n T, plural string) string {
	if n == 1 {
		return "1 " + singular(plural)
	}
	return Int(n) + " " + plural
}

// singular undoes the plural of the unit names that herdscan uses.
func singular(plural string) string {
	head, rest, found := strings.Cut(plural, " ")
	switch {
	case strings.HasSuffix(head, "queries"):
		head = strings.TrimSuffix(head, "ies") + "y"
	case head == "teeth":
		head = "tooth"
	case head == "policies" || head == "entries":
		head = strings.TrimSuffix(head, "ies") + "y"
	case head == "more":
		return head + " " + singular(rest)
	default:
		head = strings.TrimSuffix(head, "s")
	}
	if found {
		return head + " " + rest
	}
	return head
}

// Float writes a rate or a ratio: whole above 10, else two figures.
func Float(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "—"
	case math.Abs(x) >= 9.95:
		return humanize.Comma(int64(math.Round(x)))
	case x == 0:
		return "0"
	case math.Abs(x) < 0.095:
		return strconv.FormatFloat(x, 'g', 1, 64)
	default:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	}
}

// Percent writes a share between 0 and 1. It never rounds to 0 or 100 what
// is neither.
func Percent(x float64) string {
	switch {
	case x > 0 && x < 0.01:
		return "<1 %"
	case x < 1 && x > 0.99:
		return ">99 %"
	default:
		return strconv.Itoa(int(math.Round(x*100))) + " %"
	}
}

// Dur writes a duration for humans, to about three figures: "1.2 s", "45 ms",
// "5m", "60m 1.2s", "1h", "3d 4h". Whole minutes up to two hours stay minutes.
func Dur(d time.Duration) string {
	if d < 0 {
		return "−" + Dur(-d)
	}
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return trimFloat(float64(d)/1e3) + " µs"
	case d < time.Second:
		return trimFloat(float64(d)/1e6) + " ms"
	case d < time.Minute:
		return trimFloat(d.Seconds()) + " s"
	case d < 2*time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < 48*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	default:
		return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	// Round first, so that 59.96 s never shows as "60s".
	step := small
	if small == time.Second {
		step = 100 * time.Millisecond
	}
	d = d.Round(step)
	n := d / big
	rest := float64(d%big) / float64(small)
	out := fmt.Sprintf("%d%s", n, bigName)
	if rest > 0 {
		out += " " + trimFloat(rest) + smallName
	}
	return out
}

func trimFloat(x float64) string {
	prec := 1
	if x >= 100 {
		prec = 0
	}
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', prec, 64), ".0")
}

// Seconds writes a TTL as programs take it.
func Seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// Probability writes 10^log10p as a bound.
func Probability(log10p float64) string {
	switch {
	case log10p >= -1:
		return fmt.Sprintf("p ≤ %.2g", math.Pow(10, log10p))
	case log10p < -300:
		return "p < 1e-300"
	default:
		return fmt.Sprintf("p ≤ 1e%d", int(math.Ceil(log10p)))
	}
}

func joinCounts(s Summary) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, Count(n, what))
		}
	}
	add(s.Error, "errors")
	add(s.Warning, "warnings")
	add(s.Note, "notes")
	add(s.Suppressed, "suppressed")
	return strings.Join(parts, ", ")
}
