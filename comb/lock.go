package comb

import (
	"math"
	"slices"
	"time"
)

// wallPeriods are the periods, in seconds and rising, that people write into schedules and TTLs.
var wallPeriods = []float64{
	1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 25, 30, 40, 45, 50, 60, 90, 100, 120, 150, 180, 240, 300, 360, 420, 480, 500, 600, 720, 900, 1000, 1200,
	1500, 1800, 2400, 2700, 3000, 3600, 5400, 7200, 10800, 14400, 18000, 21600, 28800, 36000, 43200, 64800, 86400,
	172800, 259200, 432000, 604800, 1209600, 2592000,
}

// nearestWall returns the wall-clock period nearest by ratio, the shorter of two.
func nearestWall(period float64) float64 {
	i, _ := slices.BinarySearch(wallPeriods, period)
	above := wallPeriods[min(i, len(wallPeriods)-1)]
	below := wallPeriods[max(i-1, 0)]
	if math.Abs(math.Log(period/above)) < math.Abs(math.Log(period/below)) {
		return above
	}
	return below
}

// lostIfUnseen is the drift, seconds a period, that must be excluded before a
// comb is called locked: rebuilding a cache entry takes about that long.
const lostIfUnseen = 0.25

// startDelay is how far, in seconds, the first and the last run of a scheduled
// job may be from its schedule: schedulers and containers start late.
const startDelay = 0.35

// lockOf tells a clock from a timer that starts afresh after each run. Over
// its periods a clock stays within the timing noise of the wall-clock period,
// while a TTL plus the time to rebuild always gains.
func lockOf(l line, teeth int, periods, bin float64) Lock {
	drift := l.b - nearestWall(l.b)
	if math.Abs(drift) > max(0.03*nearestWall(l.b), 3) {
		return Free
	}
	noise := max(1.01*bin/periods, 3.5*l.err*(1+3/float64(teeth)))
	late := max(noise, startDelay/periods)
	switch {
	case drift > late:
		return Drifting
	case drift < -2*late: // twice, for a timer that is early is rare
		return Free
	case drift > noise || drift < -late: // a clock whose jobs start late, or a timer that hardly gains
		return Undetermined
	case noise <= lostIfUnseen:
		return WallClock
	}
	return Undetermined
}

// keepsClock reports whether every jump of the phase is one of the zone's own,
// or of an hour where no zone is known. A timer that was started again jumps
// by anything.
func (d *detector) keepsClock(t *train) bool {
	for i := 1; i < len(t.lines); i++ {
		jump := t.lines[i].jump - t.lines[i-1].jump
		if jump == 0 {
			continue
		}
		moved := math.Copysign(3600, jump)
		if d.zone != nil {
			moved = float64(zoneOffset(d.zone, d.time(t.lines[i-1].at)) - zoneOffset(d.zone, d.time(t.lines[i].at)))
		}
		if math.Abs(jump-moved) > max(3*t.chain.w, 5) {
			return false
		}
	}
	return true
}

// zoneOffset is the zone's offset from UTC in seconds at a time.
func zoneOffset(z *time.Location, at time.Time) int {
	_, offset := at.In(z).Zone()
	return offset
}

// logPrior is -ln of the prior mass of a period: half on the wall-clock
// periods and just above them, half on all others alike.
func logPrior(period, span, w float64) float64 {
	h := nearestWall(period)
	if d := period - h; d > -1.6*w && d < max(1.6*w, min(5, 0.02*h)) {
		return wallPrior()
	}
	return otherPrior(span, w)
}

func wallPrior() float64 { return math.Log(2 * float64(len(wallPeriods))) }

func otherPrior(span, w float64) float64 { return math.Log(max(2*span/(3*w), 2)) }
