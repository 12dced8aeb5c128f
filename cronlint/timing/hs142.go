package timing

import (
	"path"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS142 = rule.Rule{
	ID: "HS142", Name: "random-in-posix-shell", Severity: rule.Error,
	Title: "$RANDOM is always empty in a POSIX shell",
	Why: "cron runs commands with /bin/sh. On Debian that is dash, which has no $RANDOM: the wait is 0 on every " +
		"machine, and the herd that it should spread starts together.",
	Decided: "The command itself expands RANDOM (not inside single quotes, which go to another program) and SHELL " +
		"is not set to bash, zsh or ksh before the line. A warning for cronie, where /bin/sh is often bash; nothing for " +
		"busybox and supercronic, whose usual shell has RANDOM.",
	Before: "25 6 * * * root sleep $((RANDOM \\% 600)); /usr/local/bin/report\n",
	After:  "25 6 * * * root sleep $(shuf -i 0-599 -n 1); /usr/local/bin/report\n",
	See:    []string{"HS141", "HS147"},
}

func checkHS142(*analysis) lint.Check {
	return lint.Check{Rule: &ruleHS142, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			d, ok := e.Detail.(*job.CrontabJob)
			if !ok || d.Table.Dialect == schedule.Supercronic || d.Table.Dialect == schedule.Busybox {
				continue
			}
			if !posixShell(d.Shell()) || !expandsRandom(unescaped(e.Command)) {
				continue
			}
			problem := entryProblem(&ruleHS142, e, shorten(e.Command, 60), "%s has no $RANDOM: the wait is the same on every machine", d.Shell())
			problem.Location = e.File.Location(d.Command)
			if d.Table.Dialect == schedule.Cronie {
				problem.Severity = rule.Warning
			}
			problem.Advice = "SHELL=/bin/bash   (before the first job), or sleep $(shuf -i 0-599 -n 1)"
			p.Report(problem)
		}
	}}
}

func posixShell(shell string) bool {
	switch path.Base(shell) {
	case "sh", "dash", "posh":
		return true
	}
	return false
}
