package timing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS110 = rule.Rule{
	ID: "HS110", Name: "start-together", Severity: rule.Warning,
	Title: "Several jobs start in the same minute on one resource",
	Why: "They compete for the same processor, disk, database or runners, each takes longer than alone, and what " +
		"they ask for is asked for at once. Spread over their hour they do the same work one after another.",
	Decided: "The starts of a whole year are computed for all jobs of one resource group (by default one tree of " +
		"crontabs and timers, one cluster, one CI system; see groups in the configuration) and intersected to the " +
		"minute. Reported are sets of jobs that meet on at least half of the starts of each rarest member, first the set " +
		"that is worst for how often it happens: 2 jobs are a note, 3 that meet once a week a warning (once a month, where " +
		"none of them starts without the others), 8 or weights above the budget an error on three days a week (once a week, " +
		"where none starts without the others). A job that only joins such a set on rarer days " +
		"is named with it and not counted; the fullest day is HS111. Jobs that run every minute are told of on their own: " +
		"for them the second counts, and a constant sleep is a remedy. Jobs that wait a random time, that a timer has " +
		"replaced, or that are the tick of another scheduler don't count.",
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

// collisions are the problems of one calendar. The first that has a fix also moves
// the jobs that none tells of, so that all is mended at once.
func (a *analysis) collisions(c *calendar) (problems []lint.Problem) {
	if jobs := c.everyMinute(); jobs != nil {
		problems = append(problems, a.everyMinuteTogether(c, jobs))
	}
	told := map[int]bool{}
	first := len(problems)
	for _, g := range c.gatherings(a.pass.Options.Budget) {
		for _, j := range slices.Concat(c.jobs(&g.tooth), g.rare) {
			told[j] = true
		}
		problems = append(problems, a.collision(c, &g))
	}
	for j, s := range c.group {
		if first < len(problems) && !told[j] && !violates(s) {
			a.moveToo(&problems[first], s)
		}
	}
	return problems
}

// maxRelated bounds the other places that a problem names; its Count tells of all.
const maxRelated = 20

func (a *analysis) collision(c *calendar, g *gathering) lint.Problem {
	first := a.spokesman(c, g.fresh)
	problem := first.problem(&ruleHS110, "%s start in the same minute, %s", count(g.n, "job"), often(g.times))
	problem.Severity, problem.Count = g.severity, g.n
	if n := len(g.rare); n > 0 {
		problem.Message += fmt.Sprintf("; %d more on some days", n)
	}
	jobs := c.jobs(&g.tooth)
	relate(&problem, c, jobs, first, "")
	for _, j := range g.rare {
		relate(&problem, c, []int{j}, first, ", joins "+often(c.slots[c.slotOf[j]].fires))
	}
	a.proposeAll(&problem, c, jobs, first)
	for _, j := range g.rare {
		a.moveToo(&problem, c.group[j])
	}
	return problem
}

// spokesman is the job at whose line a collision is shown: the first that can be
// moved without asking, else one that can be moved at all.
func (a *analysis) spokesman(c *calendar, jobs []int) *subject {
	best := c.group[jobs[0]]
	movable := false
	for _, j := range jobs {
		e := a.edit(c.group[j])
		switch {
		case e == nil:
		case e.Safe:
			return c.group[j]
		case !movable:
			best, movable = c.group[j], true
		}
	}
	return best
}

// relate names the places of the other jobs, as far as there is room.
func relate(problem *lint.Problem, c *calendar, jobs []int, first *subject, when string) {
	for _, j := range jobs {
		if s := c.group[j]; s != first && len(problem.Related) < maxRelated {
			at := s.Location()
			at.Note = s.Raw + "  " + s.name() + when
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
	all := tooth{n: len(jobs), days: first.Schedule.Days(c.year)}
	for _, j := range jobs {
		all.slots = append(all.slots, int32(c.slotOf[j]))
	}
	slices.Sort(all.slots)
	all.slots = slices.Compact(all.slots)
	problem.Severity, problem.Count = c.severity(&all, a.pass.Options.Budget), len(jobs)
	relate(&problem, c, jobs, first, "")
	var lines []string
	for i, j := range jobs[:min(len(jobs), maxAdvice)] {
		if i > 0 {
			lines = append(lines, afterSleep(c.group[j], fmt.Sprint(i*60/len(jobs)))...)
		}
	}
	problem.Advice = strings.Join(lines, "\n")
	if len(lines) > 0 {
		problem.Effect = startsEffect("second", float64(len(jobs)), float64((len(jobs)+59)/60))
	}
	return problem
}

// afterSleep is the line of a crontab with a sleep before its command; nothing
// for a job of another format.
func afterSleep(s *subject, seconds string) []string {
	d, ok := s.Detail.(*job.CrontabJob)
	if !ok {
		return nil
	}
	row := s.File.LineSpan(d.Line)
	before := s.File.Text(lint.Span{Start: row.Start, End: d.Command.Start})
	return []string{strings.TrimSpace(before + "sleep " + seconds + "; " + s.Command)}
}

// startsEffect is the effect on the busiest second or minute.
func startsEffect(unit string, before, after float64) lint.Effect {
	short := map[string]string{"second": "starts/s", "minute": "starts/min"}[unit]
	return lint.Effect{
		Text: fmt.Sprintf("busiest %s %g → %s", unit, before, starts(after)), Unit: short, Before: before, After: after,
	}
}

// proposeAll adds the moves of all jobs of a collision, and says what they do to
// the jobs that regularly meet these.
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
	after := 0.0
	for _, j := range jobs {
		after = max(after, a.loadsAfter(c)[j])
	}
	problem.Effect = startsEffect("minute", weights(c, jobs), after)
}

// edit is the planned change of a job's minute, nil if there is none. Jenkins
// chooses a minute of its own.
func (a *analysis) edit(s *subject) *lint.Edit {
	if s.Dialect == schedule.Jenkins {
		return hashEdit(s)
	}
	if m := a.plan().move(s.Entry); m != nil {
		return m.Edit
	}
	return nil
}

// moveToo adds the planned move of a job to a problem's fix.
func (a *analysis) moveToo(problem *lint.Problem, s *subject) {
	e := a.edit(s)
	if e == nil {
		return
	}
	if problem.Fix == nil {
		whole := *e
		whole.With = slices.Clip(whole.With)
		problem.Fix, problem.Advice = &whole, whole.Text
		return
	}
	one := *e
	one.With = nil
	problem.Fix.With = append(append(problem.Fix.With, one), e.With...)
}
