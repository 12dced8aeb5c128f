package timing

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS161 = rule.Rule{
	ID: "HS161", Name: "concurrency-allowed", Severity: rule.Note,
	Title: "A frequent CronJob may run beside itself",
	Why: "concurrencyPolicy is Allow unless said. When a run of a frequent job hangs, its next runs pile up, each " +
		"with a pod of its own, until the cluster is full.",
	Decided: "concurrencyPolicy is absent or Allow and the job starts every ten minutes or more often.",
	Before:  "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec:\n  schedule: \"3-59/5 * * * *\"\n",
	After: "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec:\n  schedule: \"3-59/5 * * * *\"\n" +
		"  concurrencyPolicy: Forbid\n",
	See: []string{"HS113", "HS162"},
}

func checkHS161(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS161, ExampleFile: "cronjob.yaml", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			d, ok := s.Detail.(*job.CronJob)
			if !ok || d.Concurrency != "" && d.Concurrency != "Allow" {
				continue
			}
			if period := s.period(p.Options.Time()); period > 0 && period <= 10*time.Minute {
				problem := s.problem(&ruleHS161, "a run that takes longer than %s runs beside the next one", lasts(period))
				problem.Advice = "concurrencyPolicy: Forbid"
				if d.Concurrency == "" {
					problem.Fix = besideSchedule(s.Entry, d, problem.Advice, "skips a run while the one before still runs")
				}
				p.Report(problem)
			}
		}
	}}
}

// besideSchedule adds a key below the schedule of a CronJob. It changes what the
// cluster does, so it is never called safe.
func besideSchedule(e *lint.Entry, d *job.CronJob, line, why string) *lint.Edit {
	if d.Beside == (lint.Span{}) {
		return nil
	}
	newline := "\n"
	if e.File.CRLF() {
		newline = "\r\n"
	}
	return &lint.Edit{File: e.File.Path, Span: d.Beside, New: newline + d.Indent + line, Text: line, Why: why}
}
