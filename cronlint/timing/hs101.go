package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS101 = rule.Rule{
	ID: "HS101", Name: "minute-zero", Severity: rule.Note,
	Title: "The job starts at minute 0, like everybody's",
	Why: "Minute 0 is where people, nicknames (@daily) and other systems put their jobs. Whatever this job asks " +
		"(a database, a certificate authority, a mirror) is busiest then.",
	Decided: "Its only minute in the hour is 0. It is not said again of a job that also starts together with others " +
		"(HS110) or on many machines at once (HS120): those say it. Jobs that wait a random time are left alone.",
	Before: "0 3 * * * root /usr/local/bin/refresh\n",
	After:  "37 3 * * * root /usr/local/bin/refresh\n",
	See:    []string{"HS102", "HS103", "HS110", "HS120", "HS150"},
}

func checkHS101(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS101, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		a := a.of(p)
		for _, s := range a.all {
			if !minuteZero(s) || hasOwnRule(s) {
				continue
			}
			if a.collides(s) || a.inStep(s) {
				continue // one problem at a line says it
			}
			problem := s.problem(&ruleHS101, "%q starts at minute 0, where everybody's jobs start", s.Raw)
			a.propose(&problem, s)
			p.Report(problem)
		}
	}}
}

// minuteZero reports whether a job's only minute in the hour is 0.
func minuteZero(s *subject) bool {
	return s.Schedule.MinutesOfHour() == 1 && !s.spread() && !s.pinned()
}

// hasOwnRule reports whether a rule of its own speaks about the job's minute.
func hasOwnRule(s *subject) bool {
	switch s.Detail.(type) {
	case *job.Workflow, *job.Dependabot, *job.TimerEvent:
		return true
	}
	return false
}

// propose adds the planned minute of a job to a problem, as advice and as fix.
func (a *analysis) propose(problem *lint.Problem, s *subject) {
	if problem.Fix = a.edit(s); problem.Fix != nil {
		problem.Advice = problem.Fix.Text
	}
}

// hashEdit replaces the minute of a Jenkins job by H, which Jenkins turns into a
// minute of the job's own.
func hashEdit(s *subject) *lint.Edit {
	f := s.Schedule.Field(schedule.UnitMinute)
	sh := minuteShape(s.Schedule)
	if f == nil || sh.period < 2 || s.File.Text(s.Field) != s.Raw {
		return nil
	}
	text := "H"
	if sh.period < 60 {
		text = fmt.Sprintf("H/%d", sh.period)
	}
	return s.replaceField(f, text)
}

// stepZero reports whether a job steps over the whole hour from minute 0.
func stepZero(s *subject) bool {
	sh := minuteShape(s.Schedule)
	f := s.Schedule.Field(schedule.UnitMinute)
	return f != nil && f.Terms[0].Step > 1 && sh.period == f.Terms[0].Step && sh.phase == 0
}
