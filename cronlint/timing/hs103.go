package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS103 = rule.Rule{
	ID: "HS103", Name: "github-minute-zero", Severity: rule.Warning,
	Title: "A GitHub workflow is scheduled at minute 0",
	Why: "GitHub documents the start of every hour as a time of high load, at which scheduled runs are delayed " +
		"and some are dropped. Another minute avoids that queue; it does not promise a run on time.",
	Decided: "Its only minute in the hour is 0.",
	Before:  "on:\n  schedule:\n    - cron: '0 3 * * *'\njobs: {}\n",
	After:   "on:\n  schedule:\n    - cron: '37 3 * * *'\njobs: {}\n",
	See:     []string{"HS101", "HS110"},
}

func checkHS103(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS103, ExampleFile: ".github/workflows/nightly.yml", Run: func(p *lint.Pass) {
		a := a.of(p)
		for _, s := range a.all {
			if _, ok := s.Detail.(*job.Workflow); !ok || !minuteZero(s) {
				continue
			}
			problem := s.problem(&ruleHS103,
				"%q is at the start of an hour, GitHub's documented peak: runs are delayed or dropped", s.Raw)
			a.propose(&problem, s)
			p.Report(problem)
		}
	}}
}
