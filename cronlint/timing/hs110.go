package timing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// crowd is the number of jobs in one minute from which a collision is a
// warning; at throng it is an error.
const (
	crowd  = 3
	throng = 8
)

var ruleHS110 = rule.Rule{
	ID: "HS110", Name: "start-together", Severity: rule.Warning,
	Title: "Several jobs start in the same minute on one resource",
	Why: "They compete for the same processor, disk, database or runners, each takes longer than alone, and what " +
		"they ask for is asked for at once. Spread over their hour they do the same work one after another.",
	Decided: "The starts of a whole year are computed for all jobs of one resource group (by default one tree of " +
		"crontabs and timers, one cluster, one CI system; see groups in the configuration) and intersected to the " +
		"minute. Reported is each set of jobs that meets on at least half of the starts of its rarest member: 2 jobs " +
		"are a note, 3 a warning, 8, or weights above the budget, an error. Jobs that run every minute are told of on " +
		"their own: for them the second counts, and a constant sleep is a remedy. Jobs that wait a random time, that a " +
		"timer has replaced, or that are the tick of another scheduler don't count.",
	Before: "0 * * * * root /usr/local/bin/a\n0 * * * * root /usr/local/bin/b\n0 2 * * * root /usr/local/bin/c\n",
	After:  "7 * * * * root /usr/local/bin/a\n22 * * * * root /usr/local/bin/b\n41 2 * * * root /usr/local/bin/c\n",
	See:    []string{"HS101", "HS102", "HS111", "HS112"},
}

func checkHS110(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS110, CrossFile: true, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		a := a.of(p)
		for _, c := range a.calendars {
			for _, problem := range a.collisions(c) {
				p.Report(problem)
			}
		}
	}}
}

// collisions are the problems of one calendar. The first of them also moves the
// jobs that only smaller sets hold, so that all is mended at once.
func (a *analysis) collisions(c *calendar) (problems []lint.Problem) {
	if jobs := c.ticks(); len(jobs) > 1 {
		problems = append(problems, a.everyMinuteTogether(c, jobs))
	}
	told := map[int]bool{}
	for _, t := range gatherings(c) {
		for _, j := range c.jobs(&t.tooth) {
			told[j] = true
		}
		problems = append(problems, a.collision(c, &t))
	}
	for j, s := range c.group {
		if len(problems) > 0 && !told[j] && !violates(s) {
			a.moveToo(&problems[0], s)
		}
	}
	return problems
}

// A gathering is a tooth to report, at the first of its jobs that no other
// one tells of.
type gathering struct {
	tooth
	first int
}

// gatherings picks the sets to report: the largest first, and a further one
// only if at least two of its jobs are in none reported yet.
func gatherings(c *calendar) (picked []gathering) {
	teeth := slices.DeleteFunc(slices.Clone(c.gather()), func(t tooth) bool { return len(movers(c, &t)) < 2 })
	slices.SortStableFunc(teeth, func(a, b tooth) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(b.times, a.times), a.first.Compare(b.first))
	})
	told := make([]bool, len(c.group))
	if jobs := c.ticks(); len(jobs) > 1 { // they have a problem of their own
		for _, j := range jobs {
			told[j] = true
		}
	}
	for _, t := range teeth {
		fresh := slices.DeleteFunc(movers(c, &t), func(j int) bool { return told[j] })
		if len(fresh) < 2 {
			continue
		}
		for _, j := range c.jobs(&t) {
			told[j] = true
		}
		picked = append(picked, gathering{t, fresh[0]})
	}
	return picked
}

// movers are the jobs of a tooth that do not start every minute anyway.
func movers(c *calendar, t *tooth) (jobs []int) {
	for _, j := range c.jobs(t) {
		if !everyMinute(c.group[j]) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// maxRelated bounds the other places that a problem names.
const maxRelated = 50

func (a *analysis) collision(c *calendar, t *gathering) lint.Problem {
	jobs := c.jobs(&t.tooth)
	first := c.group[t.first]
	problem := first.problem(&ruleHS110, "%s start in the same minute, %s", count(t.n, "job"), often(t.times))
	a.grade(&problem, c, jobs, first)
	a.proposeAll(&problem, c, jobs, first)
	return problem
}

// grade sets the severity by the number and the weight of the jobs, and names
// the other places.
func (a *analysis) grade(problem *lint.Problem, c *calendar, jobs []int, first *subject) {
	switch budget := a.pass.Options.Budget; {
	case len(jobs) >= throng || budget > 0 && weights(c, jobs) > budget:
		problem.Severity = rule.Error
	case len(jobs) < crowd:
		problem.Severity = rule.Note
	}
	for _, j := range jobs {
		if s := c.group[j]; s != first && len(problem.Related) < maxRelated {
			at := s.Location()
			at.Note = s.Raw + "  " + s.name()
			problem.Related = append(problem.Related, at)
		}
	}
}

// maxAdvice bounds the lines that are proposed to paste.
const maxAdvice = 12

// everyMinuteTogether tells of jobs that start in every minute, all at the same
// second. No other minute helps them; a constant sleep does.
func (a *analysis) everyMinuteTogether(c *calendar, jobs []int) lint.Problem {
	first := c.group[jobs[0]]
	problem := first.problem(&ruleHS110, "%s start at the same second of every minute", count(len(jobs), "job"))
	a.grade(&problem, c, jobs, first)
	var lines []string
	for i, j := range jobs[:min(len(jobs), maxAdvice)] {
		s := c.group[j]
		if _, ok := s.Detail.(*job.CrontabJob); ok && i > 0 {
			lines = append(lines, fmt.Sprintf("%s sleep %d; %s", s.Raw, i*60/len(jobs), s.Command))
		}
	}
	problem.Advice = strings.Join(lines, "\n")
	if len(lines) > 0 {
		problem.Effect = fmt.Sprintf("busiest second %d → %d starts", len(jobs), (len(jobs)+59)/60)
	}
	return problem
}

// proposeAll adds the moves of all jobs of a collision.
func (a *analysis) proposeAll(problem *lint.Problem, c *calendar, jobs []int, first *subject) {
	a.moveToo(problem, first)
	for _, j := range jobs {
		if s := c.group[j]; s != first {
			a.moveToo(problem, s)
		}
	}
	if problem.Fix == nil {
		return
	}
	for _, g := range a.plan().Groups {
		if g.Group == first.Group {
			problem.Effect = fmt.Sprintf("busiest minute %g → %g starts", g.Before.Starts, g.After.Starts)
		}
	}
}

// moveToo adds the planned move of a job to a problem's fix.
func (a *analysis) moveToo(problem *lint.Problem, s *subject) {
	m := a.plan().move(s.Entry)
	if m == nil {
		return
	}
	if problem.Fix == nil {
		whole := *m.Edit
		whole.With = slices.Clip(whole.With)
		problem.Fix, problem.Advice = &whole, cmp.Or(problem.Advice, whole.Text)
		return
	}
	one := *m.Edit
	one.With = nil
	problem.Fix.With = append(append(problem.Fix.With, one), m.Edit.With...)
}

// often says how many times a year something happens, in the words people use.
func often(times int) string {
	for _, unit := range []struct {
		name  string
		count float64 // how many there are in a year
	}{{"hour", 8766}, {"day", 365.25}, {"week", 52.18}} {
		n := float64(times) / unit.count
		whole := math.Round(n)
		switch {
		case n < 0.98:
		case math.Abs(n-whole) > 0.02*n:
			return fmt.Sprintf("about %.1f times %s %s", n, article(unit.name), unit.name)
		case whole == 1:
			return "every " + unit.name
		default:
			return fmt.Sprintf("%.0f times %s %s", whole, article(unit.name), unit.name)
		}
	}
	return count(times, "time") + " a year"
}

func article(noun string) string {
	if noun == "hour" {
		return "an"
	}
	return "a"
}
