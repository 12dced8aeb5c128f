package timing

import (
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS141 = rule.Rule{
	ID: "HS141", Name: "unescaped-percent", Severity: rule.Error,
	Title: "An unescaped % cuts the command off",
	Why: "cron ends the command at the first % and gives the rest to its standard input. " +
		"\"sleep $(( RANDOM % 600 ))\" becomes \"sleep $(( RANDOM\": a syntax error, and the job never runs.",
	Decided: "A % without a backslash before it. An error where the command in front of it is no whole shell " +
		"command, or where the % belongs to a date format; otherwise a warning, as cron's way of feeding standard input " +
		"may be meant. Supercronic and busybox don't treat % specially.",
	Before: "17 3 * * * root tar czf /backup/$(date +%F).tgz /etc\n",
	After:  "17 3 * * * root tar czf /backup/$(date +\\%F).tgz /etc\n",
	See:    []string{"HS142"},
}

func checkHS141() lint.Check {
	return lint.Check{Rule: &ruleHS141, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, jobs := range tables(p) {
			for _, j := range jobs {
				if d := j.Table.Dialect; d == schedule.Supercronic || d == schedule.Busybox {
					continue
				}
				if at := percent(j.Entry.Command); at >= 0 {
					p.Report(cutOff(j, at))
				}
			}
		}
	}}
}

func cutOff(j cronJob, at int) lint.Problem {
	command := j.Entry.Command
	head := strings.TrimSpace(command[:at])
	span := lint.Span{Start: j.CrontabJob.Command.Start + at, End: j.CrontabJob.Command.Start + at + 1}
	problem := lint.NewProblem(&ruleHS141, j.File, span, shorten(command, 60),
		"cron cuts the command at this %: it runs "+shorten(head, 50))
	problem.Identity, problem.Key = j.Identity, "%"
	if complete(head) && !strings.HasSuffix(head, "+") && !strings.HasSuffix(head, `+"`) && !strings.HasSuffix(head, "+'") {
		problem.Severity = rule.Warning
	}
	escaped := escapePercent(command)
	problem.Fix = &lint.Edit{
		File: j.File.Path, Span: j.CrontabJob.Command, New: escaped, Text: escaped,
		Safe: problem.Severity == rule.Error,
	}
	if !problem.Fix.Safe {
		problem.Fix.Why = "the text after % may be meant as standard input"
	}
	problem.Advice = escaped
	return problem
}

// escapePercent puts a backslash before every % that has none.
func escapePercent(command string) string {
	var b strings.Builder
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && i+1 < len(command):
			b.WriteByte(command[i])
			i++
		case command[i] == '%':
			b.WriteByte('\\')
		}
		b.WriteByte(command[i])
	}
	return b.String()
}
