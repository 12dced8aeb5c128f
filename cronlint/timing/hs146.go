package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS146 = rule.Rule{
	ID: "HS146", Name: "constant-sleep", Severity: rule.Warning,
	Title: "A constant sleep is an offset, not jitter",
	Why: "The job starts the same number of seconds later on every machine: the herd is only moved. And the sleep " +
		"can't be seen in the schedule.",
	Decided: "The command begins with \"sleep N\" and a constant N. A job that runs every minute is left alone: there a " +
		"sleep is the only way to start between minutes.",
	Before: "0 3 * * * root sleep 90; /usr/local/bin/report\n",
	After:  "0 3 * * * root sleep $(shuf -i 0-1799 -n 1); /usr/local/bin/report\n",
	See:    []string{"HS142", "HS147"},
}

func checkHS146(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS146, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			if s.script.fixed == 0 || s.script.random || everyMinute(s) || s.pinned() {
				continue
			}
			problem := s.problem(&ruleHS146, "the job waits exactly %s on every machine: an offset, not jitter", lasts(s.script.fixed))
			problem.Advice = "another minute in the schedule, or sleep $(shuf -i 0-1799 -n 1)"
			p.Report(problem)
		}
	}}
}
