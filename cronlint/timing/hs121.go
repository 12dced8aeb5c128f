package timing

import (
	"regexp"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS121 = rule.Rule{
	ID: "HS121", Name: "shipped-default", Severity: rule.Warning,
	Title: "A fixed time is shipped to everybody as a default",
	Why: "Every user of the role, chart or package who does not change the default starts at the same minute. " +
		"An installer that wrote \"0 0 * * *\" to tens of thousands of machines has brought down what they call.",
	Decided: "The schedule stands in the defaults of an Ansible role, in a task of a role, or in a Debian package's " +
		"cron.d file, and its minute is a constant.",
	Before: "renew_cron_minute: \"30\"\nrenew_cron_hour: \"3\"\n",
	After:  "renew_cron_minute: \"{{ 60 | random(seed=inventory_hostname) }}\"\nrenew_cron_hour: \"3\"\n",
	See:    []string{"HS120"},
}

// debianPackage is the source of a cron.d file in a Debian package.
var debianPackage = regexp.MustCompile(`(?:^|/)debian/(?:[^/]+\.)?cron\.(?:d|daily)$`)

func checkHS121(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS121, ExampleFile: "roles/renew/defaults/main.yml", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			d, isAnsible := s.Detail.(*job.Ansible)
			if !isAnsible && !debianPackage.MatchString(s.File.Path) || s.spread() || s.pinned() {
				continue
			}
			problem := s.problem(&ruleHS121, "every user of this default starts at the same minute (%s)", s.Raw)
			problem.Advice = "sleep $(shuf -i 0-3599 -n 1); " + s.Command
			if isAnsible {
				if !d.Shared {
					continue
				}
				problem.Advice = ansibleMinute
			}
			p.Report(problem)
		}
	}}
}

// ansibleMinute is a minute of each machine's own, the same every time.
const ansibleMinute = "minute: \"{{ 60 | random(seed=inventory_hostname) }}\""

// sharedRole reports whether a job is part of a role that others use as it is.
func sharedRole(s *subject) bool {
	d, ok := s.Detail.(*job.Ansible)
	return ok && d.Shared
}
