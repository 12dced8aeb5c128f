package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS147 = rule.Rule{
	ID: "HS147", Name: "wait-longer-than-period", Severity: rule.Warning,
	Title: "The random wait can be longer than the time to the next start",
	Why:   "Waits of two runs overlap, so the runs may come in pairs or on top of each other.",
	Decided: "The longest random sleep that can be read from the command is at least as long as the shortest time " +
		"between two starts.",
	Before: "3-59/10 * * * * root sleep $(shuf -i 0-899 -n 1); /usr/local/bin/poll\n",
	After:  "3-59/10 * * * * root sleep $(shuf -i 0-299 -n 1); /usr/local/bin/poll\n",
	See:    []string{"HS157"},
}

func checkHS147(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS147, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			period := s.period(p.Options.Time())
			if period > 0 && s.script.wait >= period {
				p.Report(s.problem(&ruleHS147, "the random wait is up to %s, but the next start comes after %s", lasts(s.script.wait), lasts(period)))
			}
		}
	}}
}
