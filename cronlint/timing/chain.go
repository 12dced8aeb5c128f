package timing

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// chainGap is how far apart two jobs of one file may start and still be taken
// for one after the other, in minutes.
const chainGap = 60

// maxChain is the number of jobs that one may still have put in a row by hand, each
// after the other. A longer row is a filled day; its jobs are planned one by one.
const maxChain = 24

// closeGap is a distance that people choose for jobs that follow each other,
// and that chance gives to others: too little to decide, enough to doubt.
const closeGap = 3

// chainKey is what the jobs of a chain have in common.
type chainKey struct {
	file   *lint.File
	perDay int
	days   schedule.Days
}

// chainYear is a leap year, so that every day of the year counts.
const chainYear = 2028

// siblings sorts the jobs that could follow each other together, by their
// first start: those of one file that start as often a day, on the same days.
func siblings(group []*subject) (lists [][]*subject) {
	index := map[chainKey]int{}
	for _, s := range group {
		if s.unit != nil || minuteShape(s.Schedule).period != 60 {
			continue
		}
		k := chainKey{s.File, s.Schedule.PerDay(), s.Schedule.Days(chainYear)}
		at, ok := index[k]
		if !ok {
			at = len(lists)
			index[k] = at
			lists = append(lists, nil)
		}
		lists[at] = append(lists[at], s)
	}
	for _, l := range lists {
		slices.SortStableFunc(l, func(a, b *subject) int { return cmp.Compare(firstStart(a), firstStart(b)) })
	}
	return lists
}

func firstStart(s *subject) int { return s.Schedule.Minutes.Next(0) }

// chains finds jobs that follow each other: siblings at different minutes less
// than an hour apart, all at minutes that a hand would write (multiples of
// five), or said to follow by after=. Each member maps to its whole chain, in
// the order of starts. Jobs at the same minute are a collision, no chain.
func chains(group []*subject) map[*subject][]*subject {
	chained := map[*subject][]*subject{}
	for _, list := range siblings(group) {
		list = slices.DeleteFunc(slices.Clone(list), func(s *subject) bool { return firstStart(s)%5 != 0 })
		for len(list) > 0 {
			n := 1
			for n < len(list) && firstStart(list[n])-firstStart(list[n-1]) < chainGap {
				n++
			}
			if n <= maxChain && firstStart(list[0]) != firstStart(list[n-1]) {
				link(chained, list[:n])
			}
			list = list[n:]
		}
	}
	for _, s := range group {
		if before := named(group, s.Notes.After); before != nil && before != s {
			link(chained, slices.Concat(members(chained, before), members(chained, s)))
		}
	}
	return chained
}

func members(chained map[*subject][]*subject, s *subject) []*subject {
	if chain := chained[s]; chain != nil {
		return chain
	}
	return []*subject{s}
}

// link records jobs as one chain.
func link(chained map[*subject][]*subject, jobs []*subject) {
	run := []*subject{}
	for _, s := range jobs {
		if !slices.Contains(run, s) {
			run = append(run, s)
		}
	}
	slices.SortStableFunc(run, func(a, b *subject) int { return cmp.Compare(firstStart(a), firstStart(b)) })
	for _, s := range run {
		chained[s] = run
	}
}

// named finds the job that after= speaks of: by identity, by the whole command
// or by the name of its program.
func named(group []*subject, name string) *subject {
	if name == "" {
		return nil
	}
	for _, s := range group {
		program, _, _ := strings.Cut(s.Command, " ")
		if s.Identity == name || s.Command == name || path.Base(program) == path.Base(name) || strings.HasSuffix(s.Identity, ":"+name) {
			return s
		}
	}
	return nil
}

// closeBy is why the move of a job may break a sequence: another job of its file,
// which does not move with it, starts a few minutes before or after it, once a day.
func closeBy(lists [][]*subject, runs map[*subject][]*subject) map[*subject]string {
	why := map[*subject]string{}
	for _, list := range lists {
		if list[0].Schedule.PerDay() != 1 {
			continue
		}
		for i := 1; i < len(list); i++ {
			gap := firstStart(list[i]) - firstStart(list[i-1])
			if gap == 0 || gap > closeGap || slices.Contains(runs[list[i]], list[i-1]) {
				continue
			}
			text := fmt.Sprintf("a job of the same file starts %s apart: one may wait for the other", count(gap, "minute"))
			why[list[i]], why[list[i-1]] = text, text
		}
	}
	return why
}
