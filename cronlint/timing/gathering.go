package timing

import (
	"cmp"
	"slices"

	"github.com/herdscan/herdscan/comb/rule"
)

// How many jobs in one minute make a collision a warning and an error, and on
// how many days of the year they must at least meet for that, if they never start
// without each other.
const (
	crowd, crowdDays   = 3, 12 // monthly
	throng, throngDays = 8, 50 // weekly
)

// mostDays is the number of days a year, about three a week, from which something
// is what happens on a usual day.
const mostDays = 150

// A gathering is a set of jobs to report: those that regularly meet, and apart
// from them those that only join on their own, rarer days.
type gathering struct {
	tooth
	fresh    []int // members that no other gathering reported before tells of; at least two
	rare     []int // jobs in no gathering, that always meet members of this one
	severity rule.Severity
}

// gatherings picks the sets to report, first the one that is worst for how often
// it happens; a further one only if at least two of its jobs are in none yet.
func (c *calendar) gatherings(budget float64) []gathering {
	if c.picked != nil {
		return c.picked
	}
	c.picked = []gathering{}
	var all []gathering
	for _, t := range c.gather() {
		if g := (gathering{tooth: t, fresh: movers(c, &t)}); len(g.fresh) >= 2 {
			g.severity = c.severity(&t, budget)
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b gathering) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(habit(&b.tooth), habit(&a.tooth)),
			cmp.Compare(b.n, a.n), cmp.Compare(b.times, a.times), a.first.Compare(b.first))
	})
	told := make([]int, len(c.group)) // by job: the number of its gathering, from 1
	for _, j := range c.everyMinute() {
		told[j] = -1 // they have a problem of their own
	}
	for _, g := range all {
		g.fresh = slices.DeleteFunc(g.fresh, func(j int) bool { return told[j] != 0 })
		if len(g.fresh) < 2 {
			continue
		}
		c.picked = append(c.picked, g)
		for _, j := range c.jobs(&g.tooth) {
			told[j] = cmp.Or(told[j], len(c.picked))
		}
	}
	c.joinRare(told)
	return c.picked
}

// joinRare gives the jobs that are in no gathering to the one whose members they
// always meet.
func (c *calendar) joinRare(told []int) {
	for s := range c.slots {
		jobs := c.slots[s].jobs
		if c.own[s] < 0 || told[jobs[0]] != 0 {
			continue
		}
		for _, k := range c.regular[c.own[s]].slots {
			if n := told[c.slots[k].jobs[0]]; n > 0 {
				c.picked[n-1].rare = append(c.picked[n-1].rare, jobs...)
				break
			}
		}
	}
}

// everyMinute are the jobs that start in every minute of the year, if there are
// several.
func (c *calendar) everyMinute() []int {
	if jobs := c.ticks(); len(jobs) > 1 {
		return jobs
	}
	return nil
}

// severity weighs a collision by the number and the weight of its jobs, and by
// how often it happens: jobs that mostly start without the rarest of them count
// less on its rare days than jobs that start on those days alone.
func (c *calendar) severity(t *tooth, budget float64) rule.Severity {
	days := t.days.Count()
	mutual := !slices.ContainsFunc(t.slots, func(s int32) bool { return c.slots[s].fires > 2*t.times })
	switch {
	case t.n >= throng || budget > 0 && weights(c, c.jobs(t)) > budget:
		if days >= mostDays || mutual && days >= throngDays {
			return rule.Error
		}
		if days >= crowdDays {
			return rule.Warning
		}
	case t.n >= crowd && (days >= throngDays || mutual && days >= crowdDays):
		return rule.Warning
	}
	return rule.Note
}

// habit sorts sets by how usual they are: on usual days, weekly, monthly, rarer.
func habit(t *tooth) (n int) {
	days := t.days.Count()
	for _, least := range []int{crowdDays, throngDays, mostDays} {
		if days >= least {
			n++
		}
	}
	return n
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
