package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS105 = rule.Rule{
	ID: "HS105", Name: "eventbridge-window-off", Severity: rule.Warning,
	Title: "EventBridge Scheduler could spread the start, but its window is off",
	Why: "With flexible_time_window OFF every schedule of the account starts in the minute written. FLEXIBLE lets " +
		"EventBridge choose a moment within 1 to 1440 minutes after it.",
	Decided: "The mode of flexible_time_window is OFF and the schedule is a cron expression. rate() counts from " +
		"the creation of the schedule and is left alone.",
	Before: "resource \"aws_scheduler_schedule\" \"a\" {\n  schedule_expression = \"cron(17 3 * * ? *)\"\n" +
		"  flexible_time_window {\n    mode = \"OFF\"\n  }\n}\n",
	After: "resource \"aws_scheduler_schedule\" \"a\" {\n  schedule_expression = \"cron(17 3 * * ? *)\"\n" +
		"  flexible_time_window {\n    mode                      = \"FLEXIBLE\"\n    maximum_window_in_minutes = 15\n  }\n}\n",
	See: []string{"HS101", "HS110"},
}

func checkHS105(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS105, ExampleFile: "main.tf", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			t, ok := s.Detail.(*job.Terraform)
			if !ok || t.Flexible != "OFF" || s.Notes.Pin {
				continue
			}
			problem := lint.NewProblem(&ruleHS105, s.File, t.Mode, t.Name, s.Raw+" starts in the exact minute: its flexible time window is OFF")
			problem.Identity, problem.Key = s.Identity, s.Raw
			problem.Advice = "flexible_time_window {\n  mode                      = \"FLEXIBLE\"\n  maximum_window_in_minutes = 15\n}"
			p.Report(problem)
		}
	}}
}
