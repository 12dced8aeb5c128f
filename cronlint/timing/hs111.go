package timing

import (
	"cmp"
	"slices"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS111 = rule.Rule{
	ID: "HS111", Name: "rare-coincidence", Severity: rule.Note,
	Title: "A rare day of the calendar brings more jobs together than usual",
	Why: "A weekly and a monthly job meet some times a year. On that day the machine does more than was ever " +
		"tested, and nobody remembers why.",
	Decided: "At least three jobs of one group meet in a minute by coincidence of the calendar, and they are more " +
		"than HS110 tells of. The largest such set of a group is told, with its next date.",
	Before: "17 3 * * 1 root /usr/local/bin/weekly\n17 3 10 * * root /usr/local/bin/monthly\n17 3 */9 * * root /usr/local/bin/ninth\n",
	After:  "17 3 * * 1 root /usr/local/bin/weekly\n29 3 10 * * root /usr/local/bin/monthly\n48 3 */9 * * root /usr/local/bin/ninth\n",
	See:    []string{"HS110"},
}

func checkHS111(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS111, CrossFile: true, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, c := range a.of(p).calendars {
			if t := largestCoincidence(c, p.Options.Budget); t != nil {
				p.Report(coincidence(p, c, t))
			}
		}
	}}
}

// largestCoincidence is the largest tooth that is more than what any of its
// jobs regularly meets.
func largestCoincidence(c *calendar, budget float64) (best *tooth) {
	usual := make([]int, len(c.slots)) // the most that HS110 says start with it
	ticks := c.everyMinute()
	for _, j := range ticks {
		usual[c.slotOf[j]] = len(ticks)
	}
	for _, g := range c.gatherings(budget) {
		for _, j := range slices.Concat(c.jobs(&g.tooth), g.rare) {
			usual[c.slotOf[j]] = max(usual[c.slotOf[j]], g.n)
		}
	}
	teeth := c.teeth()
	for i := range teeth {
		t := &teeth[i]
		if t.n < crowd || best != nil && t.n <= best.n || t.days.Count() >= mostDays {
			continue
		}
		if !slices.ContainsFunc(t.slots, func(s int32) bool { return usual[s] >= t.n }) {
			best = t
		}
	}
	return best
}

func coincidence(p *lint.Pass, c *calendar, t *tooth) lint.Problem {
	jobs := c.jobs(t)
	// The rarest job makes the coincidence: it is the one to look at.
	first := c.group[slices.MinFunc(jobs, func(a, b int) int {
		return cmp.Compare(c.slots[c.slotOf[a]].fires, c.slots[c.slotOf[b]].fires)
	})]
	problem := first.problem(&ruleHS111, "%s meet in one minute %s, next on %s", count(t.n, "job"), often(c.meetings(t)),
		nextMeeting(p, c, jobs))
	problem.Count = t.n
	relate(&problem, c, jobs, first, "")
	return problem
}

// nextMeeting is the next minute in which all jobs start, within five years.
func nextMeeting(p *lint.Pass, c *calendar, jobs []int) string {
	now := p.Options.Time().UTC()
	for year := now.Year(); year < now.Year()+5; year++ {
		var all schedule.Year
		for i, j := range jobs {
			s := c.group[j]
			y := s.Schedule.Year(year, s.location())
			if i == 0 {
				all = y
			} else {
				all = all.Intersect(&y)
			}
		}
		if at := all.First(now); !at.IsZero() {
			return at.Format("2006-01-02 15:04 MST")
		}
	}
	return "a day more than five years ahead"
}
