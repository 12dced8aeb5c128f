package timing

import (
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS160 = rule.Rule{
	ID: "HS160", Name: "zone-in-schedule", Severity: rule.Warning,
	Title: "Kubernetes refuses a time zone inside the schedule",
	Why: "A new CronJob with TZ= or CRON_TZ= in its schedule is rejected by the API (\"use the timeZone field " +
		"instead\"), and in older clusters the result is not supported.",
	Decided: "The schedule of a CronJob begins with TZ= or CRON_TZ=.",
	Before:  "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec:\n  schedule: CRON_TZ=Europe/Berlin 17 4 * * *\n",
	After:   "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec:\n  timeZone: Europe/Berlin\n  schedule: 17 4 * * *\n",
}

func checkHS160() lint.Check {
	return lint.Check{Rule: &ruleHS160, ExampleFile: "cronjob.yaml", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			d, ok := e.Detail.(*job.CronJob)
			raw := strings.TrimSpace(e.Raw)
			if !ok || d.Kind != "CronJob" || !strings.HasPrefix(raw, "TZ=") && !strings.HasPrefix(raw, "CRON_TZ=") {
				continue
			}
			_, zone, _ := strings.Cut(raw, "=")
			zone, rest, _ := strings.Cut(zone, " ")
			problem := entryProblem(&ruleHS160, e, "CronJob "+e.Command, "the API refuses a time zone in the schedule; there is timeZone for it")
			problem.Advice = "timeZone: " + zone + "\nschedule: \"" + strings.TrimSpace(rest) + "\""
			p.Report(problem)
		}
	}}
}
