package cronlint

import (
	"bytes"
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

// mendRounds bounds how often a result is judged anew: one fix can bring another
// to light, rarely a third.
const mendRounds = 4

// Mend applies the fixes of a result in memory, safe ones only unless unsafe is
// true, and goes on until nothing is left to fix. Each file is proved: the
// schedules in it are the same, on the same days and as often. A file whose
// proof fails comes back as an error and is left out. Write a change with
// [fix.Change.Write].
func Mend(res *Result, o lint.Options, unsafe bool) ([]Change, []error) {
	changes, errs := mend(res, o, fix.Edits(res.Problems, unsafe))
	for range mendRounds {
		if len(changes) == 0 {
			break
		}
		next := rejudge(res, changes, o)
		more, _ := mend(next, o, fix.Edits(next.Problems, unsafe))
		if !follow(changes, more) {
			break
		}
	}
	return changes, errs
}

// rejudge is the result as it would be with the changes written.
func rejudge(res *Result, changes []Change, o lint.Options) *Result {
	read := make([]*reading, len(res.Sources))
	formats := Formats()
	for i, f := range res.Sources {
		data := f.Data
		for j := range changes {
			if changes[j].Path == f.Path {
				data = changes[j].After
			}
		}
		one := parse(f.Path, data, formats, &o)
		read[i] = &one
	}
	next := collect(&walker{}, read)
	judge(next, &o, true)
	return next
}

// follow puts more on top of the changes, and reports whether that changed any.
func follow(changes, more []Change) (changed bool) {
	for i := range changes {
		for j := range more {
			if changes[i].Path == more[j].Path && !bytes.Equal(more[j].Before, more[j].After) {
				changes[i] = changes[i].Then(&more[j])
				changed = true
			}
		}
	}
	return changed
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
