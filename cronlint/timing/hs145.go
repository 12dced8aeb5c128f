package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS145 = rule.Rule{
	ID: "HS145", Name: "random-delay-misused", Severity: rule.Warning,
	Title: "RANDOM_DELAY does not spread these jobs",
	Why: "cronie draws one random factor when its daemon starts, so all jobs of a machine with the same " +
		"RANDOM_DELAY move together: it spreads machines, never the jobs of one. And it only counts for lines below it.",
	Decided: "RANDOM_DELAY stands below the jobs, or at least two jobs under one RANDOM_DELAY start in the same minute.",
	Before:  "17 3 * * * root /usr/local/bin/a\nRANDOM_DELAY=45\n",
	After:   "RANDOM_DELAY=45\n17 3 * * * root /usr/local/bin/a\n",
	See:     []string{"HS144", "HS120"},
}

func checkHS145() lint.Check {
	return lint.Check{Rule: &ruleHS145, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, jobs := range tables(p) {
			t := jobs[0].Table
			if t.Dialect != schedule.Cronie {
				continue
			}
			for i := range t.Vars {
				v := &t.Vars[i]
				if v.Name != "RANDOM_DELAY" || v.Value == "0" {
					continue
				}
				if message := delayFault(t, jobs, v); message != "" {
					p.Report(tableProblem(&ruleHS145, t, v.Span, v.Name, message))
				}
			}
		}
	}}
}

// delayFault says why a RANDOM_DELAY does not do what it seems to.
func delayFault(t *job.Crontab, jobs []cronJob, v *job.Variable) string {
	under := 0
	minutes := map[schedule.Minutes]int{}
	for _, j := range jobs {
		if t.Var("RANDOM_DELAY", j.Line) != v || j.Schedule == nil || !j.Schedule.WallClock() {
			continue
		}
		under++
		minutes[j.Schedule.Minutes]++
	}
	if under == 0 {
		return "RANDOM_DELAY stands below every job it should delay and has no effect"
	}
	for _, n := range minutes {
		if n > 1 {
			return fmt.Sprintf("RANDOM_DELAY delays all jobs of a machine by the same time: %d of them still start together", n)
		}
	}
	return ""
}
