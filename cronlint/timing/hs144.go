package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS144 = rule.Rule{
	ID: "HS144", Name: "unknown-to-this-cron", Severity: rule.Warning,
	Title: "CRON_TZ or RANDOM_DELAY is not known to this cron",
	Why: "Only cronie reads them. Other crons take them as variables for the command and go on in the machine's " +
		"zone and at the exact minute, without a word.",
	Decided: "The dialect is given (--dialect) and is not cronie. Without one, a crontab that uses these variables is " +
		"taken for cronie's.",
	Before: "CRON_TZ=UTC\n17 3 * * * root /usr/local/bin/a\n",
	After:  "17 3 * * * root /usr/local/bin/a\n",
	See:    []string{"HS145"},
}

func checkHS144() lint.Check {
	return lint.Check{
		Rule: &ruleHS144, ExampleFile: "etc/crontab", ExampleOptions: lint.Options{Dialect: "debian"},
		Run: func(p *lint.Pass) {
			for _, jobs := range tables(p) {
				t := jobs[0].Table
				if t.Dialect == schedule.Cronie {
					continue
				}
				for _, v := range t.Vars {
					if v.Name == "CRON_TZ" || v.Name == "RANDOM_DELAY" {
						p.Report(tableProblem(&ruleHS144, t, v.Span, v.Name,
							v.Name+" has no effect: only cronie knows it, and this is read by "+reader(t.Dialect)))
					}
				}
			}
		},
	}
}
