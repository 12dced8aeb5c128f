package timing

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A tooth is a set of jobs that start in the same minute, and how often they do.
type tooth struct {
	slots []int32 // ascending
	n     int     // number of jobs
	times int     // minutes of the year in which exactly these start together
	days  schedule.Days
	first time.Time
}

// slot is one schedule in one zone, and the jobs that have it.
type slot struct {
	jobs  []int // indices into the group, ascending
	parts []schedule.Part
	fires int // minutes of the year
}

// dayClass is a set of days of the year on which the same parts are active.
type dayClass struct {
	days   []int // of the year, from 0, ascending
	active []activePart
}

type activePart struct {
	slot    int32
	minutes *schedule.Minutes
}

// maxStarts bounds the work on one group: starts on all its kinds of days
// together. Beyond it the rarest kinds of days are left out.
const maxStarts = 30_000_000

// A calendar is all starts of a group of jobs in one year of UTC, ordered by
// what starts together.
type calendar struct {
	group   []*subject
	year    int
	years   years
	slots   []slot
	slotOf  []int // by job
	classes []dayClass
	found   []tooth // by teeth, once
	regular []tooth // by gather, once
	own     []int   // by slot: the regular tooth that was found around it, or -1
	picked  []gathering
}

// slotKey is what makes jobs start at the same times of one year.
type slotKey struct {
	year int
	d    schedule.Dialect
	raw  string
	zone string
}

// years are the schedules laid out so far: most of them are in several calendars.
type years map[slotKey]schedule.Year

func (known years) of(k slotKey, s *subject) schedule.Year {
	y, ok := known[k]
	if !ok {
		y = s.Schedule.Year(k.year, s.location())
		known[k] = y
	}
	return y
}

// newCalendar lays out the year of a group.
func newCalendar(group []*subject, year int, known years) *calendar {
	c := &calendar{group: group, year: year, slotOf: make([]int, len(group)), years: known}
	c.makeSlots()
	c.makeClasses()
	return c
}

func (c *calendar) makeSlots() {
	index := map[slotKey]int{}
	for i, s := range c.group {
		k := slotKey{c.year, s.Dialect, s.Raw, s.location().String()}
		at, ok := index[k]
		if !ok {
			y := c.years.of(k, s)
			at = len(c.slots)
			index[k] = at
			c.slots = append(c.slots, slot{parts: y.Parts, fires: y.Count()})
		}
		c.slots[at].jobs = append(c.slots[at].jobs, i)
		c.slotOf[i] = at
	}
}

// makeClasses sorts the days of the year by the parts that are active on them.
// Many parts have the same days: each set of days counts once.
func (c *calendar) makeClasses() {
	var signature [366]uint64
	sets := map[schedule.Days]bool{}
	c.eachPart(func(_ int, p *schedule.Part) {
		if sets[p.Days] {
			return
		}
		sets[p.Days] = true
		name := mix(uint64(len(sets)))
		for d := p.Days.Next(0); d >= 0; d = p.Days.Next(d + 1) {
			signature[d] += name
		}
	})
	index := map[uint64]int{}
	for d, k := range signature {
		if k == 0 {
			continue
		}
		at, ok := index[k]
		if !ok {
			at = len(c.classes)
			index[k] = at
			c.classes = append(c.classes, dayClass{})
		}
		c.classes[at].days = append(c.classes[at].days, d)
	}
	c.eachPart(func(slot int, p *schedule.Part) {
		for i := range c.classes {
			if class := &c.classes[i]; p.Days.Has(class.days[0]) {
				class.active = append(class.active, activePart{int32(slot), &p.Minutes})
			}
		}
	})
	slices.SortStableFunc(c.classes, func(a, b dayClass) int { return cmp.Compare(len(b.days), len(a.days)) })
}

func (c *calendar) eachPart(visit func(slot int, p *schedule.Part)) {
	for i := range c.slots {
		for j := range c.slots[i].parts {
			visit(i, &c.slots[i].parts[j])
		}
	}
}

// mix spreads a number over 64 bits (the finisher of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// teeth returns every set of at least two jobs that start in one minute.
func (c *calendar) teeth() []tooth {
	if c.found == nil {
		c.found = c.findTeeth()
	}
	return c.found
}

func (c *calendar) findTeeth() []tooth {
	index := map[uint64]int{}
	all := []tooth{}
	work := 0
	for i := range c.classes {
		class := &c.classes[i]
		var days schedule.Days
		for _, d := range class.days {
			days.Add(d)
		}
		for m, slots := range class.starts() {
			work += len(slots)
			n := c.jobsIn(slots)
			if n < 2 {
				continue
			}
			k := slotsHash(slots)
			at, ok := index[k]
			if !ok {
				at = len(all)
				index[k] = at
				all = append(all, tooth{slots: slots, n: n, first: c.minute(class.days[0], m)})
			}
			all[at].times += len(class.days)
			all[at].days = all[at].days.Or(&days)
		}
		if work > maxStarts {
			break
		}
	}
	return all
}

func (c *calendar) minute(day, m int) time.Time {
	return time.Date(c.year, time.January, 1+day, 0, m, 0, 0, time.UTC)
}

// starts lists, for each minute of a day of the class, the slots that fire.
func (d *dayClass) starts() *[minutesPerDay][]int32 {
	var minutes [minutesPerDay][]int32
	for _, a := range d.active {
		for m := a.minutes.Next(0); m >= 0; m = a.minutes.Next(m + 1) {
			minutes[m] = append(minutes[m], a.slot)
		}
	}
	return &minutes
}

func slotsHash(slots []int32) (h uint64) {
	for _, s := range slots {
		h = mix(h ^ uint64(s))
	}
	return h
}

func (c *calendar) jobsIn(slots []int32) (n int) {
	for _, s := range slots {
		n += len(c.slots[s].jobs)
	}
	return n
}

// jobs are the members of a tooth, in the group's order.
func (c *calendar) jobs(t *tooth) (jobs []int) {
	for _, s := range t.slots {
		jobs = append(jobs, c.slots[s].jobs...)
	}
	slices.Sort(jobs)
	return jobs
}

// meetings is the number of minutes of the year in which all jobs of a tooth
// start, alone or with others.
func (c *calendar) meetings(t *tooth) int {
	all := schedule.Year{Parts: c.slots[t.slots[0]].parts}
	for _, s := range t.slots[1:] {
		all = all.Intersect(&schedule.Year{Parts: c.slots[s].parts})
	}
	return all.Count()
}

// busiest is the greatest sum of weights that starts in one minute of the
// year, and such a minute.
func (c *calendar) busiest() (load float64, at time.Time) {
	for i := range c.classes {
		class := &c.classes[i]
		var sums [minutesPerDay]float64
		for _, a := range class.active {
			w := 0.0
			for _, j := range c.slots[a.slot].jobs {
				w += c.group[j].weight()
			}
			for m := a.minutes.Next(0); m >= 0; m = a.minutes.Next(m + 1) {
				sums[m] += w
			}
		}
		for m, sum := range sums {
			if sum > load {
				load, at = sum, c.minute(class.days[0], m)
			}
		}
	}
	return load, at
}

// groups sorts the subjects that share a resource together, in the order in
// which they are met.
func groups(all []*subject) [][]*subject {
	return sortBy(all, func(s *subject) string { return s.Group })
}

// laneKey tells apart the jobs of a group that start at different seconds.
type laneKey struct {
	group  string
	offset time.Duration
}

// lanes sorts the subjects that share a resource and start at the same second
// of their minutes together. Jobs that start in one minute but at different
// seconds, by a constant sleep or by a field for seconds, don't meet.
func lanes(all []*subject) [][]*subject {
	return sortBy(all, func(s *subject) laneKey { return laneKey{s.Group, s.offset()} })
}

// offset is how long after the minute of its schedule a job starts.
func (s *subject) offset() time.Duration {
	second := bits.TrailingZeros64(s.Schedule.Seconds)
	return s.script.fixed + time.Duration(second)*time.Second
}

func sortBy[K comparable](all []*subject, key func(*subject) K) (sorted [][]*subject) {
	index := map[K]int{}
	for _, s := range all {
		k := key(s)
		at, ok := index[k]
		if !ok {
			at = len(sorted)
			index[k] = at
			sorted = append(sorted, nil)
		}
		sorted[at] = append(sorted[at], s)
	}
	return sorted
}

// ticks are the jobs that start in every minute of the year.
func (c *calendar) ticks() (jobs []int) {
	for _, slot := range c.slots {
		if slot.fires >= yearMinutes {
			jobs = append(jobs, slot.jobs...)
		}
	}
	slices.Sort(jobs)
	return jobs
}

const yearMinutes = 365 * minutesPerDay
