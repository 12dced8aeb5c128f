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
	now, known := p.Options.Time(), years{}
	for _, group := range groups(subjects(p)) {
		kept := startsTogether(group)
		l := Load{Group: group[0].Group, Jobs: len(kept), LeftOut: len(group) - len(kept), OwnClock: ownClock(kept)}
		before := newCalendar(kept, now.Year(), known)
		l.Before.Starts, l.Before.At = before.busiest()
		l.GridBefore, l.Worst = before.grid(), before.worst(worst, now)
		for _, s := range kept {
			if m := plan.move(s.Entry); m != nil {
				l.Moves = append(l.Moves, *m)
			}
		}
		after := newCalendar(plan.placed(kept), now.Year(), known)
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

// placed is the group as it would be after the plan.
func (p *Plan) placed(group []*subject) []*subject {
	after := slices.Clone(group)
	for i, s := range group {
		if m := p.move(s.Entry); m != nil {
			after[i] = s.at(m.To, m.schedule)
		}
	}
	return after
}

// at is the job as it would be with another schedule.
func (s *subject) at(text string, to *schedule.Schedule) *subject {
	moved, entry := *s, *s.Entry
	entry.Raw, entry.Schedule = text, to
	moved.Entry, moved.planned = &entry, true
	return &moved
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
	teeth = teeth[:min(limit, len(teeth))]
	soon := c.upcoming(teeth, now)
	for i := range teeth {
		t := &teeth[i]
		m := Minute{Starts: weight(t), Times: t.times, At: soon[i]}
		for _, j := range c.jobs(t) {
			m.Jobs = append(m.Jobs, c.group[j].Entry)
		}
		minutes = append(minutes, m)
	}
	return minutes
}

// upcoming are the next minutes after now in which exactly the jobs of each
// tooth start; where there is none until the end of next year, the first.
func (c *calendar) upcoming(teeth []tooth, now time.Time) []time.Time {
	at := make([]time.Time, len(teeth))
	c.search(teeth, now, at)
	if slices.ContainsFunc(at, time.Time.IsZero) {
		// The slots of a group have the same numbers in every year.
		newCalendar(c.group, c.year+1, c.years).search(teeth, now, at)
	}
	for i := range at {
		at[i] = cmp.Or(at[i], teeth[i].first)
	}
	return at
}

// search looks through the year for the teeth that have no minute yet.
func (c *calendar) search(teeth []tooth, now time.Time, at []time.Time) {
	index := map[uint64]int{}
	for i := range teeth {
		if at[i].IsZero() {
			index[slotsHash(teeth[i].slots)] = i
		}
	}
	for i := range c.classes {
		class := &c.classes[i]
		for m, slots := range class.starts() {
			k, ok := index[slotsHash(slots)]
			if !ok {
				continue
			}
			for _, day := range class.days {
				t := c.minute(day, m)
				if t.After(now) {
					if at[k].IsZero() || t.Before(at[k]) {
						at[k] = t
					}
					break
				}
			}
		}
	}
}
