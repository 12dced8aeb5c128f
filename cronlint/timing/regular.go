package timing

import (
	"cmp"
	"slices"
)

// crowdedTooth is the number of schedules in one minute above which a tooth is
// taken as it is: nobody needs to know who of so many meets whom.
const crowdedTooth = 400

// gather returns the sets of jobs that meet regularly: for each job, the
// others that start with it on at least half of its starts, all at once.
func (c *calendar) gather() []tooth {
	if c.regular != nil {
		return c.regular
	}
	c.regular, c.own = []tooth{}, make([]int, len(c.slots))
	seen := map[uint64]int{}
	times := make([]int, len(c.slots))
	for s, teeth := range c.teethOf() {
		c.own[s] = -1
		if len(teeth) == 0 {
			continue
		}
		t := c.companions(int32(s), teeth, times)
		if t.n < 2 {
			continue
		}
		k := slotsHash(t.slots)
		at, ok := seen[k]
		if !ok {
			at = len(c.regular)
			seen[k] = at
			c.regular = append(c.regular, t)
		}
		c.own[s] = at
	}
	return c.regular
}

// byJob is for each job, the load that starts with it on at least half of its starts:
// its own if it starts alone.
func (c *calendar) byJob() []float64 {
	c.gather()
	loads := make([]float64, len(c.group))
	for s := range c.slots {
		jobs := c.slots[s].jobs
		with := jobs
		if at := c.own[s]; at >= 0 {
			with = c.jobs(&c.regular[at])
		}
		load := weights(c, with)
		for _, j := range jobs {
			loads[j] = load
		}
	}
	return loads
}

// teethOf lists the teeth that each slot is part of.
func (c *calendar) teethOf() [][]*tooth {
	of := make([][]*tooth, len(c.slots))
	teeth := c.teeth()
	for i := range teeth {
		for _, s := range teeth[i].slots {
			of[s] = append(of[s], &teeth[i])
		}
	}
	return of
}

// companions is the largest set found around a slot that still meets on half
// of its starts. Those that meet it most often are tried first. times has room
// for a count of each slot, all 0.
func (c *calendar) companions(s int32, teeth []*tooth, times []int) tooth {
	half := (c.slots[s].fires + 1) / 2
	if t := slices.MaxFunc(teeth, func(a, b *tooth) int { return cmp.Compare(len(a.slots), len(b.slots)) }); len(t.slots) > crowdedTooth && t.times >= half {
		return *t
	}
	set := tooth{slots: []int32{s}, times: c.slots[s].fires, first: teeth[0].first}
	for _, k := range frequent(teeth, half, times) {
		if k == s {
			continue
		}
		both, times := with(teeth, k)
		if times >= half {
			teeth, set.times, set.first = both, times, both[0].first
			set.slots = append(set.slots, k)
		}
	}
	for _, t := range teeth {
		set.days = set.days.Or(&t.days)
	}
	slices.Sort(set.slots)
	set.n = c.jobsIn(set.slots)
	return set
}

// frequent are the slots that are part of the teeth at least so many times,
// the most frequent first. times is used to count, and 0 again in the end.
func frequent(teeth []*tooth, least int, times []int) (slots []int32) {
	var met []int32
	for _, t := range teeth {
		if len(t.slots) > crowdedTooth {
			continue
		}
		for _, s := range t.slots {
			if times[s] == 0 {
				met = append(met, s)
			}
			times[s] += t.times
		}
	}
	for _, s := range met {
		if times[s] >= least {
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b int32) int { return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b)) })
	for _, s := range met {
		times[s] = 0
	}
	return slots
}

// with are the teeth that hold a slot, and how often they come.
func with(teeth []*tooth, slot int32) (kept []*tooth, times int) {
	for _, t := range teeth {
		if _, ok := slices.BinarySearch(t.slots, slot); ok {
			kept = append(kept, t)
			times += t.times
		}
	}
	return kept, times
}
