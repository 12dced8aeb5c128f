package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS004 = rule.Rule{
	ID: "HS004", Name: "every-minute-of-an-hour", Severity: rule.Warning,
	Title: "A star in the minute field runs the job sixty times in its hour",
	Why: "\"* 3 * * *\" is nearly always meant as \"once at three o'clock\". The job starts sixty times and, if it " +
		"takes longer than a minute, on top of itself.",
	Decided: "The minute is a plain * while the hours are single values. Ranges of hours (* 9-17) are taken as meant.",
	Before:  "* 3 * * * root /usr/local/bin/backup\n",
	After:   "17 3 * * * root /usr/local/bin/backup\n",
}

func checkHS004() lint.Check {
	return lint.Check{Rule: &ruleHS004, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			if e.Disabled || e.Schedule == nil || e.Dialect == schedule.Systemd {
				continue
			}
			minute, hour := e.Schedule.Field(schedule.UnitMinute), e.Schedule.Field(schedule.UnitHour)
			if minute == nil || hour == nil || !minute.Free || !singleValues(hour) {
				continue
			}
			p.Report(entryProblem(&ruleHS004, e, e.Raw, "%q starts %d times a day, in every minute of hour %s",
				e.Raw, e.Schedule.PerDay(), hourText(e.Schedule, hour)))
		}
	}}
}

func singleValues(f *schedule.Field) bool {
	for _, t := range f.Terms {
		if t.Kind != schedule.TermValue {
			return false
		}
	}
	return true
}

func hourText(s *schedule.Schedule, hour *schedule.Field) string {
	if hour.End <= len(s.Text) {
		return s.Text[hour.Start:hour.End]
	}
	return fmt.Sprint(hour.Terms[0].Lo)
}
