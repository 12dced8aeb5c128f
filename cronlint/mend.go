package cronlint

import (
	"maps"
	"slices"

	"github.com/herdscan/herdscan/cronlint/fix"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/timing"
)

// A Change is the new content of one file, not written yet.
type Change = fix.Change

// A Plan says where every job of a group should start.
type Plan = timing.Plan

// Mend applies the fixes of a result in memory, safe ones only unless unsafe is
// true. Each file is proved: the schedules in it are the same, on the same days
// and as often. A file whose proof fails comes back as an error and is left out.
// Write a change with [fix.Change.Write].
func Mend(res *Result, o lint.Options, unsafe bool) ([]Change, []error) {
	return mend(res, o, fix.Edits(res.Problems, unsafe))
}

// MakePlan chooses a minute for each job that violates a rule; for every job
// when all is true.
func MakePlan(res *Result, o lint.Options, all bool) *Plan {
	return timing.NewPlan(&lint.Pass{Options: &o, Entries: res.Entries, Settings: res.Settings}, all)
}

// MendPlan applies the moves of a plan in memory, as Mend does with fixes.
func MendPlan(res *Result, o lint.Options, plan *Plan, unsafe bool) ([]Change, []error) {
	edits := map[string][]lint.Edit{}
	for _, g := range plan.Groups {
		for _, m := range g.Moves {
			if m.Edit.Safe || unsafe {
				edits[m.Edit.File] = append(edits[m.Edit.File], *m.Edit)
			}
		}
	}
	return mend(res, o, edits)
}

func mend(res *Result, o lint.Options, edits map[string][]lint.Edit) ([]Change, []error) {
	var changes []Change
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(edits)) {
		i := slices.IndexFunc(res.Sources, func(f *lint.File) bool { return f.Path == path })
		if i < 0 {
			continue
		}
		c := fix.Apply(path, res.Sources[i].Data, edits[path])
		if err := fix.Prove(&c, Formats(), &o); err != nil {
			errs = append(errs, err)
			continue
		}
		changes = append(changes, c)
	}
	return changes, errs
}
