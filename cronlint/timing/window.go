package timing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// startsBudget is the number of starts a minute that a fleet's shared service
// is taken to bear, where no budget is given.
const startsBudget = 10

func budget(p *lint.Pass) float64 { return cmp.Or(p.Options.Budget, startsBudget) }

// spreadWindow is how long a random wait should be: long enough that no more
// machines start in a minute than the budget allows (W >= hosts x duration /
// allowed at once), at most half the time between two starts, and over before the
// day ends.
func spreadWindow(s *subject, hosts int, p *lint.Pass) time.Duration {
	period := s.period(p.Options.Time())
	window := defaultWindow(period)
	if hosts > 1 {
		runs := cmp.Or(s.Notes.Duration, time.Minute)
		window = max(window, time.Duration(float64(hosts)*float64(runs)/budget(p)))
	}
	if period > 0 {
		window = min(window, (period / 2).Truncate(time.Minute))
	}
	return max(min(window, untilMidnight(s)).Round(time.Minute), time.Minute)
}

// leastWindow is the shortest wait that is worth proposing.
const leastWindow = 5 * time.Minute

// untilMidnight is the time from the last start of a day to the end of the day:
// a job that waits longer runs on another day than meant. One that runs all day
// long means none.
func untilMidnight(s *subject) time.Duration {
	if s.Schedule.PerDay() >= 24 {
		return 24 * time.Hour
	}
	last := 0
	for m := s.Schedule.Minutes.Next(0); m >= 0; m = s.Schedule.Minutes.Next(m + 1) {
		last = m
	}
	return time.Duration(minutesPerDay-last) * time.Minute
}

// defaultWindow suits a job that runs every period.
func defaultWindow(period time.Duration) time.Duration {
	switch {
	case period == 0 || period >= 7*24*time.Hour:
		return 4 * time.Hour
	case period >= 24*time.Hour:
		return time.Hour
	case period >= time.Hour:
		return 15 * time.Minute
	}
	return period / 3
}

// spanText writes a whole number of minutes as systemd reads it.
func spanText(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dmin", d/time.Minute)
}
