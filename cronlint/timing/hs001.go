package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS001 = rule.Rule{
	ID: "HS001", Name: "invalid-schedule", Severity: rule.Error,
	Title: "The schedule is not valid for its scheduler",
	Why: "The job never runs. Debian's cron even ignores the whole file for one bad line, so every other " +
		"job in it stops too.",
	Decided: "The schedule is parsed by the rules of the scheduler that reads the file (see --dialect). " +
		"What one scheduler accepts another may not: 5/15 is an error for cron but not for Kubernetes, " +
		"weekday 7 is an error for Kubernetes but not for cron.",
	Before: "5/15 * * * * root /usr/local/bin/poll\n",
	After:  "5-59/15 * * * * root /usr/local/bin/poll\n",
	See:    []string{"HS002", "HS003"},
}

func checkHS001() lint.Check {
	return lint.Check{Rule: &ruleHS001, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			if e.Err == nil {
				continue
			}
			problem := entryProblem(&ruleHS001, e, e.Raw, "not valid for %s: %s", reader(e.Dialect), e.Err.Msg)
			if e.File.Text(e.Field) == e.Raw && e.Err.End > e.Err.Start {
				problem.Location = e.File.Location(lint.Span{Start: e.Field.Start + e.Err.Start, End: e.Field.Start + e.Err.End})
			}
			if _, ok := e.Detail.(*job.CrontabJob); ok && e.Dialect == schedule.Vixie {
				problem.Message += "; Debian's cron ignores the whole file for it"
			}
			p.Report(problem)
		}
	}}
}
