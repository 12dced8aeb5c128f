package html

import (
	"math"
	"time"

	"github.com/herdscan/herdscan/report"
)

// An axis says what the numbers under a chart mean.
type axis string

const (
	clockAxis  axis = "clock"  // times of day
	aheadAxis  axis = "ahead"  // since the start: "now", "+10m"
	offsetAxis axis = "offset" // around the onset of a tooth: "-1m", "0", "+1m"
)

// A tick is a mark under a chart, at a share of its width in percent.
type tick struct {
	X      float64
	Label  string
	Anchor string // of SVG text
}

// roundSteps are the distances between ticks, in milliseconds.
var roundSteps = []float64{
	1, 2, 5, 10, 20, 50, 100, 200, 500,
	1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3,
	3600e3, 2 * 3600e3, 3 * 3600e3, 6 * 3600e3, 12 * 3600e3,
	day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day,
}

const day = 24 * 3600e3

// roundStep is the shortest round distance that gives at most n ticks.
func roundStep(span float64, n int) float64 {
	for _, s := range roundSteps {
		if span <= s*float64(n) {
			return s
		}
	}
	return math.Ceil(span/day/float64(n)) * day
}

// maxTicks is how many ticks fit under a chart on a phone.
const maxTicks = 5

func (c *chart) ticks() []tick {
	if c.span <= 0 {
		return nil
	}
	step := roundStep(c.span, maxTicks)
	var out []tick
	for at := c.firstTick(step); at <= c.span; at += step {
		x := at / c.span * 100
		t := tick{X: round(x, 3), Label: c.tickLabel(at, step), Anchor: "middle"}
		switch {
		case x < 5:
			t.Anchor = "start"
		case x > 95:
			t.Anchor = "end"
		}
		out = append(out, t)
	}
	return out
}

// firstTick is how far from the left the first round place is.
func (c *chart) firstTick(step float64) float64 {
	var origin float64
	switch c.axis {
	case clockAxis:
		_, offset := c.from.In(c.zone).Zone()
		origin = float64(c.from.UnixMilli() + int64(offset)*1000)
	case offsetAxis:
		origin = -c.span / 2
	case aheadAxis:
	}
	return math.Mod(step-math.Mod(origin, step), step)
}

// tickLabel writes a place on the axis, as finely as the distance of the ticks
// needs.
func (c *chart) tickLabel(at, step float64) string {
	switch c.axis {
	case aheadAxis:
		if at == 0 {
			return "now"
		}
		return "+" + shortSpan(at)
	case offsetAxis:
		return signed(at - c.span/2)
	default:
		t := c.from.Add(millis(at)).In(c.zone)
		switch {
		case step >= day, t.Hour() == 0 && t.Minute() == 0 && c.span > 0.5*day:
			return t.Format("01-02")
		case step >= 60e3:
			return t.Format("15:04")
		default:
			return t.Format("15:04:05")
		}
	}
}

// signed writes a time from the onset of a tooth.
func signed(ms float64) string {
	switch {
	case math.Abs(ms) < 0.5:
		return "0"
	case ms < 0:
		return "−" + shortSpan(-ms)
	default:
		return "+" + shortSpan(ms)
	}
}

// shortSpan writes a duration in one unit, to two decimals at most.
func shortSpan(ms float64) string {
	unit, name := 1.0, "ms"
	switch {
	case ms >= 2*day:
		unit, name = day, "d"
	case ms >= 7200e3:
		unit, name = 3600e3, "h"
	case ms >= 120e3:
		unit, name = 60e3, "m"
	case ms >= 1e3:
		unit, name = 1e3, "s"
	}
	return number(round(ms/unit, 2)) + name
}

// An offset is from when on a zone is how far from UTC; the script writes
// times with it.
type offset struct {
	At      int64  `json:"at"` // ms since 1970
	Seconds int    `json:"s"`
	Name    string `json:"name"`
}

// maxOffsets bounds the changes of a zone in a chart: 25 years have 50.
const maxOffsets = 50

func offsets(from, to time.Time, zone *time.Location) []offset {
	var out []offset
	for t := from.In(zone); len(out) < maxOffsets; {
		name, seconds := t.Zone()
		out = append(out, offset{t.UnixMilli(), seconds, name})
		_, end := t.ZoneBounds()
		if end.IsZero() || end.After(to) {
			break
		}
		t = end
	}
	return out
}

func zoneOf(c report.Clock) *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func round(x float64, decimals int) float64 {
	p := math.Pow(10, float64(decimals))
	return math.Round(x*p) / p
}
