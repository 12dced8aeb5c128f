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
// allowed at once), and at most half the time between two starts.
func spreadWindow(s *subject, hosts int, p *lint.Pass) time.Duration {
	period := s.period(p.Options.Time())
	window := defaultWindow(period)
	if hosts > 1 {
		runs := cmp.Or(s.Notes.Duration, time.Minute)
		window = max(window, time.Duration(float64(hosts)*float64(runs)/budget(p)))
	}
	if period > 0 {
		window = min(window, period/2)
	}
	return max(window.Round(time.Minute), time.Minute)
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
