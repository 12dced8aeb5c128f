package timing

import (
	"cmp"
	"slices"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A Minute is a minute of the year in which several jobs start together.
type Minute struct {
	At     time.Time // the next such minute after now, in UTC
	Starts float64   // weights of the jobs
	Times  int       // minutes of the year in which exactly these start
	Jobs   []*lint.Entry
}

// A Load is what the jobs of one group start over the year of now. A job that
// waits a random time, or that only wakes a scheduler of its own, is not part
// of it.
type Load struct {
	Group         string
	Jobs          int
	LeftOut       int // jobs of the group that are not part of the load
	OwnClock      bool
	Before, After Peak
	// GridBefore and GridAfter hold the most that starts in each hour and
	// minute of a day, on any day.
	GridBefore, GridAfter [24][60]float64
	Worst                 []Minute // the fullest first
	Moves                 []Move
}

// Loads computes the load of each group, before and after the moves of a plan,
// and its worst minutes, at most worst of them. OwnClock is set where no job
// names a time zone: the times are then those of the machine's own clock,
// otherwise those of UTC.
func Loads(p *lint.Pass, plan *Plan, worst int) []Load {
	var all []Load
	now := p.Options.Time()
	for _, group := range groups(subjects(p)) {
		kept := startsTogether(group)
		l := Load{Group: group[0].Group, Jobs: len(kept), LeftOut: len(group) - len(kept), OwnClock: ownClock(kept)}
		before := newCalendar(kept, now.Year())
		l.Before.Starts, l.Before.At = before.busiest()
		l.GridBefore, l.Worst = before.grid(), before.worst(worst, now)
		after := newCalendar(plan.carriedOut(kept, &l), now.Year())
		l.After.Starts, l.After.At = after.busiest()
		l.GridAfter = after.grid()
		all = append(all, l)
	}
	return all
}

// Name is how a job is called.
func Name(e *lint.Entry) string { return (&subject{Entry: e}).name() }

func ownClock(group []*subject) bool {
	return !slices.ContainsFunc(group, func(s *subject) bool { return s.Zone != nil || s.Schedule.Zone != nil })
}

// carriedOut is the group as it would be after the plan; the moves made go
// into l.
func (p *Plan) carriedOut(group []*subject, l *Load) []*subject {
	after := slices.Clone(group)
	for i, s := range group {
		m := p.move(s.Entry)
		if m == nil {
			continue
		}
		moved, entry := *s, *s.Entry
		entry.Raw, entry.Schedule = m.To, proved(s.Schedule, m.To)
		if entry.Schedule == nil {
			continue
		}
		moved.Entry = &entry
		after[i] = &moved
		l.Moves = append(l.Moves, *m)
	}
	return after
}

// worst are the fullest sets of jobs that start together.
func (c *calendar) worst(limit int, now time.Time) (minutes []Minute) {
	weight := func(t *tooth) (sum float64) {
		for _, j := range c.jobs(t) {
			sum += c.group[j].weight()
		}
		return sum
	}
	teeth := slices.Clone(c.teeth())
	slices.SortStableFunc(teeth, func(a, b tooth) int {
		return cmp.Or(cmp.Compare(weight(&b), weight(&a)), cmp.Compare(b.times, a.times), a.first.Compare(b.first))
	})
	for i := range teeth[:min(limit, len(teeth))] {
		t := &teeth[i]
		m := Minute{Starts: weight(t), Times: t.times, At: cmp.Or(c.next(c.jobs(t), now), t.first)}
		for _, j := range c.jobs(t) {
			m.Jobs = append(m.Jobs, c.group[j].Entry)
		}
		minutes = append(minutes, m)
	}
	return minutes
}

// next is the next minute after now in which all jobs start, within five
// years; zero if there is none.
func (c *calendar) next(jobs []int, now time.Time) time.Time {
	for year := now.UTC().Year(); year < now.UTC().Year()+5; year++ {
		var all schedule.Year
		for i, j := range jobs {
			s := c.group[j]
			y := s.Schedule.Year(year, s.location())
			if i > 0 {
				y = all.Intersect(&y)
			}
			all = y
		}
		if at := all.First(now.UTC()); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}
