package fix

import (
	"slices"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// Then follows a change with one made on top of it: after's Before is c's After.
// The result is one change from c.Before to after.After, with edits that say so.
func (c *Change) Then(after *Change) Change {
	whole := Change{
		Path: c.Path, Before: c.Before, After: after.After,
		Refused: slices.Concat(c.Refused, after.Refused),
	}
	j := joiner{first: c.Applied, second: after.Applied}
	for len(j.first) > 0 || len(j.second) > 0 {
		whole.Applied = append(whole.Applied, j.join(after.After))
	}
	return whole
}

// joiner walks the edits of two changes through the text between them, which
// the first has made and the second changes.
type joiner struct {
	first, second []lint.Edit // those still to come
	shift         int         // how many bytes the first has added so far
	grown         int         // how many the second has added
}

// join takes the next edit, and all that touch it in the text between, as one.
func (j *joiner) join(text []byte) lint.Edit {
	e := lint.Edit{Safe: true}
	region, _ := j.next()
	shift, grown := j.shift, j.grown
	for len(j.first) > 0 || len(j.second) > 0 {
		r, isFirst := j.next()
		if r.Start > region.End {
			break
		}
		region.End = max(region.End, r.End)
		taken := j.take(isFirst)
		e.File, e.Text = taken.File, taken.Text
		if !taken.Safe {
			e.Safe, e.Why = false, taken.Why
		}
	}
	e.Span = lint.Span{Start: region.Start - shift, End: region.End - j.shift}
	e.New = string(text[region.Start+grown : region.End+j.grown])
	return e
}

// next is where the next edit of either change lies in the text between, and
// whether it is one of the first.
func (j *joiner) next() (region lint.Span, isFirst bool) {
	if len(j.first) == 0 {
		return j.second[0].Span, false
	}
	start := j.first[0].Span.Start + j.shift
	a := lint.Span{Start: start, End: start + len(j.first[0].New)}
	if len(j.second) > 0 && j.second[0].Span.Start < a.Start {
		return j.second[0].Span, false
	}
	return a, true
}

func (j *joiner) take(isFirst bool) (e lint.Edit) {
	if isFirst {
		e, j.first = j.first[0], j.first[1:]
		j.shift += len(e.New) - e.Span.Len()
		return e
	}
	e, j.second = j.second[0], j.second[1:]
	j.grown += len(e.New) - e.Span.Len()
	return e
}
