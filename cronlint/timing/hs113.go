package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS113 = rule.Rule{
	ID: "HS113", Name: "overlaps-itself", Severity: rule.Warning,
	Title: "The job may still run when it starts again",
	Why: "Two copies of one job do the same work twice and slow each other down, so the third start finds two of " +
		"them: a queue that grows until something breaks.",
	Decided: "Only where a comment tells the duration (# herdscan: duration=20m) and it is longer than the shortest " +
		"time between two starts, and neither a lock (flock) nor the scheduler (Forbid, Replace, prohibit_overlap; " +
		"systemd never starts a running unit) prevents it.",
	Before: "# herdscan: duration=20m\n2-59/10 * * * * root /usr/local/bin/sync\n",
	After:  "# herdscan: duration=20m\n2-59/10 * * * * root flock -n /run/sync.lock /usr/local/bin/sync\n",
	See:    []string{"HS112", "HS161"},
}

func checkHS113(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS113, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			period := s.period(p.Options.Time())
			if s.Notes.Duration == 0 || period == 0 || s.Notes.Duration <= period || exclusive(s) {
				continue
			}
			problem := s.problem(&ruleHS113, "a run takes %s, but the next one starts after %s", lasts(s.Notes.Duration), lasts(period))
			if _, ok := s.Detail.(*job.CrontabJob); ok {
				problem.Advice = "flock -n /run/lock/NAME.lock " + s.Command
			}
			p.Report(problem)
		}
	}}
}

// exclusive reports whether a job can't run twice at a time.
func exclusive(s *subject) bool {
	switch d := s.Detail.(type) {
	case *job.TimerEvent:
		return true
	case *job.CronJob:
		return d.Concurrency == "Forbid" || d.Concurrency == "Replace"
	case *job.Nomad:
		return d.ProhibitOverlap
	}
	return s.script.lock
}
