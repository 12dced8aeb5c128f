package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS102 = rule.Rule{
	ID: "HS102", Name: "step-from-zero", Severity: rule.Note,
	Title: "*/n starts at minute 0 with every other */n",
	Why:   "All */5, */10 and */15 jobs meet at minutes 0 and 30. k-59/n runs as often, with its own phase.",
	Decided: "The minute field is */n with n dividing 60. The phase k is chosen from the job's identity and the " +
		"other jobs of its group. It is not said again of a job that regularly starts together with others (HS110).",
	Before: "*/5 * * * * root /usr/local/bin/poll\n",
	After:  "3-59/5 * * * * root /usr/local/bin/poll\n",
	See:    []string{"HS101", "HS110"},
}

func checkHS102(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS102, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		a := a.of(p)
		for _, s := range a.all {
			if !stepZero(s) || s.spread() || s.pinned() || s.script.tick || a.collides(s) {
				continue
			}
			problem := s.problem(&ruleHS102, "%q starts in minute 0 with every other job of this kind", s.Raw)
			a.propose(&problem, s)
			p.Report(problem)
		}
	}}
}
