package cronlint

import (
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/timing"
)

// A Load is what the jobs of one group start over a year, before and after a plan.
type Load = timing.Load

// A Minute is a minute of the year in which several jobs start together.
type Minute = timing.Minute

// A Move is a new time for one job.
type Move = timing.Move

// Loads computes the load of each group of jobs, and at most worst of its
// fullest minutes.
func Loads(res *Result, o lint.Options, plan *Plan, worst int) []Load {
	return timing.Loads(&lint.Pass{Options: &o, Entries: res.Entries, Settings: res.Settings}, plan, worst)
}

// JobName is how messages call a job.
func JobName(e *Entry) string { return timing.Name(e) }
