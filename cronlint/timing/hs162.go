package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS162 = rule.Rule{
	ID: "HS162", Name: "no-starting-deadline", Severity: rule.Note,
	Title: "A CronJob without startingDeadlineSeconds",
	Why: "After an outage of the controller every job whose start was missed starts at once. And a job that has missed " +
		"more than 100 starts is not started any more at all.",
	Decided: "startingDeadlineSeconds is absent from a CronJob.",
	Before:  "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec:\n  schedule: \"17 3 * * *\"\n",
	After: "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec:\n  schedule: \"17 3 * * *\"\n" +
		"  startingDeadlineSeconds: 600\n",
	See: []string{"HS161"},
}

func checkHS162() lint.Check {
	return lint.Check{Rule: &ruleHS162, ExampleFile: "cronjob.yaml", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			d, ok := e.Detail.(*job.CronJob)
			if !ok || d.Kind != "CronJob" || d.Deadline != "" || e.Disabled {
				continue
			}
			problem := entryProblem(&ruleHS162, e, "CronJob "+e.Command, "no startingDeadlineSeconds: missed starts are made up for all at once, or never")
			problem.Advice = "startingDeadlineSeconds: 600"
			problem.Fix = besideSchedule(e, d, problem.Advice, "gives up a start that is more than ten minutes late")
			p.Report(problem)
		}
	}}
}
