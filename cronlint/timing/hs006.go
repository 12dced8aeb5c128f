package timing

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS006 = rule.Rule{
	ID: "HS006", Name: "clock-change-hour", Severity: rule.Warning,
	Title: "The schedule lies in the hour that the clocks skip or repeat",
	Why: "When the clocks change, a time in that hour does not exist on one day and exists twice on another. " +
		"Schedulers skip the run, run it twice, or run it at another time; none does what was meant.",
	Decided: "Only where the zone is written in the file and the job does not run in every hour: one of its " +
		"times falls into a change of that zone's clocks in the coming two years. The zone of a machine is not known here.",
	Before: "on:\n  schedule:\n    - cron: '30 2 * * *'\n      timezone: Europe/Berlin\njobs: {}\n",
	After:  "on:\n  schedule:\n    - cron: '30 4 * * *'\n      timezone: Europe/Berlin\njobs: {}\n",
}

func checkHS006(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS006, ExampleFile: ".github/workflows/nightly.yml", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			zone := s.writtenZone()
			if zone == nil || s.Schedule.Hours() == 1<<24-1 || s.Schedule.Drawn {
				continue
			}
			if text := clockChange(s.Schedule, zone, p.Options.Time()); text != "" {
				p.Report(s.problem(&ruleHS006, "%s", text))
			}
		}
	}}
}

// writtenZone is the zone that the file names, or nil. UTC never changes its
// clocks and counts as none.
func (s *subject) writtenZone() *time.Location {
	zone := s.Schedule.Zone
	if zone == nil {
		zone = s.Zone
	}
	if zone == time.UTC {
		return nil
	}
	return zone
}

// meetsClockChange reports whether a schedule of the job falls into an hour
// that the clocks of its zone skip or repeat, from the given year on.
func (s *subject) meetsClockChange(o *schedule.Schedule, year int) bool {
	zone := s.writtenZone()
	return zone != nil && clockChange(o, zone, time.Date(year, time.January, 1, 0, 0, 0, 0, zone)) != ""
}

// clockChange finds the first change of the clocks that touches the schedule.
func clockChange(s *schedule.Schedule, zone *time.Location, now time.Time) string {
	at := now.In(zone)
	for end := now.AddDate(2, 0, 0); ; {
		_, change := at.ZoneBounds()
		if change.IsZero() || change.After(end) {
			return ""
		}
		_, before := change.Add(-time.Second).Zone()
		_, after := change.Zone()
		at = change
		length := after - before
		if length == 0 {
			continue
		}
		// The wall-clock readings that are skipped, or shown twice.
		first := change.Unix() + int64(min(before, after))
		last := change.Unix() + int64(max(before, after))
		for reading := first; reading < last; reading += 60 {
			t := time.Unix(reading, 0).UTC()
			days := s.Days(t.Year())
			if days.Has(t.YearDay()-1) && s.Minutes.Has(t.Hour()*60+t.Minute()) {
				return changeText(t, zone, length)
			}
		}
	}
}

func changeText(t time.Time, zone *time.Location, length int) string {
	what := "does not exist"
	if length < 0 {
		what = "exists twice"
	}
	return fmt.Sprintf("%s %s on %s in %s: the clocks change", t.Format("15:04"), what, t.Format("2006-01-02"), zone)
}
