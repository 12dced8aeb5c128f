package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS005 = rule.Rule{
	ID: "HS005", Name: "uneven-step", Severity: rule.Note,
	Title: "The step does not divide its range, so one interval is short",
	Why: "*/7 runs at 0, 7, … 56 and again at 0: four minutes later. */90 runs once an hour, at minute 0. " +
		"A cron field can't express such a period.",
	Decided: "A step over a whole minute or hour field that does not divide 60 or 24, or is greater than the range.",
	Before:  "*/7 * * * * root /usr/local/bin/poll\n",
	After:   "2-59/6 * * * * root /usr/local/bin/poll\n",
}

// cycle is the length of the fields whose steps must divide it.
var cycle = map[schedule.Unit]int{schedule.UnitSecond: 60, schedule.UnitMinute: 60, schedule.UnitHour: 24}

func checkHS005() lint.Check {
	return lint.Check{Rule: &ruleHS005, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			if e.Disabled || e.Schedule == nil {
				continue
			}
			for _, f := range e.Schedule.Fields {
				if message := uneven(f); message != "" {
					p.Report(entryProblem(&ruleHS005, e, e.Raw, "%q: %s", e.Raw, message))
				}
			}
		}
	}}
}

// uneven describes the short interval of a field's step; "" if there is none.
func uneven(f schedule.Field) string {
	n := cycle[f.Unit]
	if n == 0 || len(f.Terms) != 1 {
		return ""
	}
	t := f.Terms[0]
	whole := t.Kind == schedule.TermStar || t.Kind == schedule.TermRange && t.Lo < t.Step && t.Hi+t.Step >= n
	if t.Step == 1 || !whole || n%t.Step == 0 {
		return ""
	}
	if t.Lo+t.Step >= n {
		return fmt.Sprintf("the step %d is greater than the %ss there are, so only the first is used", t.Step, f.Unit)
	}
	last := t.Lo + (t.Hi-t.Lo)/t.Step*t.Step
	return fmt.Sprintf("every %d %ss, but only %d from %s %d to the next %d", t.Step, f.Unit, n-last+t.Lo, f.Unit, last, t.Lo)
}
