package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS140 = rule.Rule{
	ID: "HS140", Name: "no-final-newline", Severity: rule.Error,
	Title: "The crontab does not end with a newline",
	Why:   "Debian's cron ignores the whole file, cronie drops the last job. Neither says so where anybody looks.",
	Decided: "The last byte of a crontab with jobs is no newline. Supercronic and busybox read such files, so " +
		"nothing is said for them.",
	Before: "17 3 * * * root /usr/local/bin/a",
	After:  "17 3 * * * root /usr/local/bin/a\n",
}

func checkHS140() lint.Check {
	return lint.Check{Rule: &ruleHS140, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, jobs := range tables(p) {
			t := jobs[0].Table
			if !t.NoNewline || t.Dialect == schedule.Supercronic || t.Dialect == schedule.Busybox {
				continue
			}
			message := "no newline at the end of the file: Debian's cron ignores the whole file"
			if t.Dialect == schedule.Cronie {
				message = "no newline at the end of the file: cronie drops the last line"
			}
			end := len(t.File.Data)
			problem := tableProblem(&ruleHS140, t, t.File.LineSpan(t.File.Lines()), "final newline", message)
			problem.Fix = &lint.Edit{
				File: t.File.Path, Span: lint.Span{Start: end, End: end}, New: "\n", Safe: true,
				Text: t.File.Line(t.File.Lines()),
			}
			problem.Advice = "add a newline at the end of the file"
			p.Report(problem)
		}
	}}
}
