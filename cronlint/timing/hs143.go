package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS143 = rule.Rule{
	ID: "HS143", Name: "crlf-crontab", Severity: rule.Warning,
	Title: "The crontab has Windows line ends",
	Why: "cron passes the carriage return on as part of the command (\"/usr/local/bin/a\\r: not found\") and of every " +
		"variable; a nickname with one (@daily\\r) is not understood at all.",
	Decided: "A line of a crontab ends in \\r\\n.",
	Before:  "17 3 * * * root /usr/local/bin/a\r\n",
	After:   "17 3 * * * root /usr/local/bin/a\n",
}

func checkHS143() lint.Check {
	return lint.Check{Rule: &ruleHS143, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, jobs := range tables(p) {
			t := jobs[0].Table
			var ends []lint.Edit
			for n := 1; n <= t.File.Lines(); n++ {
				at := t.File.LineSpan(n).End
				if at+1 < len(t.File.Data) && t.File.Data[at] == '\r' && t.File.Data[at+1] == '\n' {
					ends = append(ends, lint.Edit{File: t.File.Path, Span: lint.Span{Start: at, End: at + 1}, Safe: true})
				}
			}
			if len(ends) == 0 {
				continue
			}
			problem := tableProblem(&ruleHS143, t, t.File.LineSpan(jobs[0].Line), "line ends",
				count(len(ends), "line")+" with Windows line ends: cron takes the carriage return as part of the command")
			fix := ends[0]
			fix.With, fix.Text = ends[1:], "dos2unix "+t.File.Path
			problem.Fix, problem.Advice = &fix, fix.Text
			p.Report(problem)
		}
	}}
}
