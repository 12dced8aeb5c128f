package timing

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS112 = rule.Rule{
	ID: "HS112", Name: "run-together", Severity: rule.Warning,
	Title: "Several long jobs run at the same time",
	Why: "Jobs that start minutes apart still share the machine while they run. Three backups of an hour each, " +
		"ten minutes apart, are three backups at once.",
	Decided: "Only jobs whose duration is told by a comment (# herdscan: duration=20m) count. Reported when at " +
		"least three of one group run in the same minute of a day, or weights above the budget.",
	Before: "# herdscan: duration=50m\n5 3 * * * root /usr/local/bin/a\n# herdscan: duration=50m\n15 3 * * * root /usr/local/bin/b\n" +
		"# herdscan: duration=50m\n25 3 * * * root /usr/local/bin/c\n",
	After: "# herdscan: duration=50m\n5 3 * * * root /usr/local/bin/a\n# herdscan: duration=50m\n5 4 * * * root /usr/local/bin/b\n" +
		"# herdscan: duration=50m\n5 5 * * * root /usr/local/bin/c\n",
	See: []string{"HS110", "HS113"},
}

func checkHS112(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS112, CrossFile: true, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, c := range a.of(p).calendars {
			if jobs, at := busiestRun(c); len(jobs) >= crowd || p.Options.Budget > 0 && weights(c, jobs) > p.Options.Budget {
				p.Report(runTogether(c, jobs, at))
			}
		}
	}}
}

// busiestRun is the largest set of jobs of known duration that run in one
// minute of a day of the year, and that minute.
func busiestRun(c *calendar) (jobs []int, at time.Time) {
	most := 0
	for i := range c.classes {
		class := &c.classes[i]
		var load [minutesPerDay]int
		running(c, class, func(_, minute int) { load[minute]++ })
		for m, n := range load {
			if n > most {
				most, at = n, c.minute(class.days[0], m)
				jobs = jobs[:0]
				running(c, class, func(job, minute int) {
					if minute == m {
						jobs = append(jobs, job)
					}
				})
			}
		}
	}
	return jobs, at
}

// running calls visit for each job and each minute of the day it runs in. A
// run that passes midnight is cut there.
func running(c *calendar, class *dayClass, visit func(job, minute int)) {
	for _, a := range class.active {
		for _, j := range c.slots[a.slot].jobs {
			s := c.group[j]
			if s.Notes.Duration == 0 {
				continue
			}
			end := 0 // a job that overlaps itself counts once
			for m := a.minutes.Next(0); m >= 0; m = a.minutes.Next(m + 1) {
				for at := max(m, end); at < min(m+s.minutesLong(), minutesPerDay); at++ {
					visit(j, at)
				}
				end = max(end, m+s.minutesLong())
			}
		}
	}
}

func weights(c *calendar, jobs []int) (sum float64) {
	for _, j := range jobs {
		sum += c.group[j].weight()
	}
	return sum
}

func runTogether(c *calendar, jobs []int, at time.Time) lint.Problem {
	first := c.group[jobs[0]]
	problem := first.problem(&ruleHS112, "%s run at the same time, for instance at %s", count(len(jobs), "job"), at.Format("15:04"))
	problem.Count = len(jobs)
	for _, j := range jobs[1:min(len(jobs), maxRelated)] {
		s := c.group[j]
		where := s.Location()
		where.Note = s.Raw + "  " + lasts(s.Notes.Duration)
		problem.Related = append(problem.Related, where)
	}
	return problem
}
