package timing

import (
	"cmp"
	"slices"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// chainGap is how far apart two jobs of one file may start and still be taken
// for one after the other, in minutes.
const chainGap = 60

// chains finds jobs of one file that follow each other: as many starts a day,
// on the same days, at different minutes less than an hour apart. Each member
// maps to its whole chain. Jobs at the same minute are a collision, no chain.
func chains(group []*subject) map[*subject][]*subject {
	type key struct {
		file   *lint.File
		perDay int
		days   schedule.Days
	}
	byKey := map[key][]*subject{}
	var order []key
	for _, s := range group {
		if s.unit != nil || minuteShape(s.Schedule).period != 60 {
			continue
		}
		k := key{s.File, s.Schedule.PerDay(), s.Schedule.Days(chainYear)}
		if byKey[k] == nil {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], s)
	}
	chained := map[*subject][]*subject{}
	for _, k := range order {
		members := byKey[k]
		slices.SortStableFunc(members, func(a, b *subject) int { return cmp.Compare(firstStart(a), firstStart(b)) })
		for len(members) > 0 {
			n := 1
			for n < len(members) && firstStart(members[n])-firstStart(members[n-1]) < chainGap {
				n++
			}
			link(chained, members[:n])
			members = members[n:]
		}
	}
	return chained
}

// chainYear is a leap year, so that every day of the year counts.
const chainYear = 2028

func firstStart(s *subject) int { return s.Schedule.Minutes.Next(0) }

// link records a run of jobs as a chain if they have at least two minutes.
func link(chained map[*subject][]*subject, run []*subject) {
	if firstStart(run[0]) == firstStart(run[len(run)-1]) {
		return
	}
	for _, s := range run {
		chained[s] = run
	}
}
