package timing

import (
	"fmt"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS003 = rule.Rule{
	ID: "HS003", Name: "ambiguous-days", Severity: rule.Warning,
	Title: "Day-of-month and day-of-week together mean different days elsewhere",
	Why: "Some schedulers run the job when both fields match, most when one does, and some look whether a " +
		"field begins with a star. Readers guess, and a move to another scheduler changes the days in silence.",
	Decided: "The days of a year are computed as this scheduler, cron, Kubernetes and Jenkins would read the " +
		"same text. Reported when they are not all the same.",
	Before: "0 0 13 * 5 root /usr/local/bin/friday-13\n",
	After:  "0 0 * * 5 root [ \"$(date +\\%d)\" = 13 ] && /usr/local/bin/friday-13\n",
	See:    []string{"HS001"},
}

// comparedDialects are the three ways to read two restricted day fields.
var comparedDialects = []schedule.Dialect{schedule.Vixie, schedule.Robfig, schedule.Jenkins}

func checkHS003() lint.Check {
	return lint.Check{Rule: &ruleHS003, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		year := p.Options.Time().Year()
		for _, e := range p.Entries {
			if e.Disabled || e.Schedule == nil || e.Schedule.Drawn || !bothDays(e.Schedule) {
				continue
			}
			if other := differingReadings(e.Schedule, year); len(other) > 0 {
				days := e.Schedule.Days(year)
				p.Report(entryProblem(&ruleHS003, e, e.Raw, "%s runs this on %s of %d, %s",
					reader(e.Dialect), count(days.Count(), "day"), year, strings.Join(other, ", ")))
			}
		}
	}}
}

// bothDays reports whether day-of-month and day-of-week are both restricted.
func bothDays(s *schedule.Schedule) bool {
	dom, dow := s.Field(schedule.UnitDom), s.Field(schedule.UnitDow)
	return dom != nil && dow != nil && !dom.Free && !dow.Free && s.Dialect != schedule.Systemd
}

func differingReadings(s *schedule.Schedule, year int) (texts []string) {
	var days []string
	for _, u := range []schedule.Unit{schedule.UnitDom, schedule.UnitMonth, schedule.UnitDow} {
		f := s.Field(u)
		days = append(days, s.Text[f.Start:f.End])
	}
	own := s.Days(year)
	for _, d := range comparedDialects {
		o, err := schedule.Parse(d, "0 0 "+strings.Join(days, " "))
		if err != nil || d == s.Dialect {
			continue
		}
		if theirs := o.Days(year); theirs != own {
			texts = append(texts, fmt.Sprintf("%s on %s", reader(d), count(theirs.Count(), "day")))
		}
	}
	return texts
}
