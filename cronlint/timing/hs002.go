package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS002 = rule.Rule{
	ID: "HS002", Name: "never-fires", Severity: rule.Error,
	Title: "The schedule never fires",
	Why: "It is accepted without a word, and the job never runs: a day that no month has, a range that runs " +
		"backwards, or a year that is over.",
	Decided: "No fire is found from now to the end of the year 2199.",
	Before:  "0 3 30 2 * root /usr/local/bin/yearly\n",
	After:   "17 3 28 2 * root /usr/local/bin/yearly\n",
	See:     []string{"HS001"},
}

func checkHS002() lint.Check {
	return lint.Check{Rule: &ruleHS002, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		now := p.Options.Time()
		for _, e := range p.Entries {
			if e.Schedule != nil && !e.Disabled && e.Schedule.Never(now.UTC()) {
				p.Report(entryProblem(&ruleHS002, e, e.Raw, "%q never fires for %s", e.Raw, reader(e.Dialect)))
			}
		}
	}}
}
