// Package fix applies the edits that problems propose, and proves before
// anything is written that nothing but what was meant has changed.
//
// The contract: only the bytes of an edit change; every schedule of the file is
// still there, in the same order, of the same dialect, on the same days, in the
// same hours and as often a day as before; applied twice, nothing more changes.
package fix

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// A Refusal is an edit that was not applied, and why.
type Refusal struct {
	Edit lint.Edit
	Why  string
}

// A Change is the new content of one file.
type Change struct {
	Path          string
	Before, After []byte
	Applied       []lint.Edit // by position
	Refused       []Refusal
}

// Edits collects the edits of the problems that count, by file, each with those
// that belong to it. With unsafe, those that may change what a human meant are
// taken too.
func Edits(problems []lint.Problem, unsafe bool) map[string][]lint.Edit {
	byFile := map[string][]lint.Edit{}
	add := func(e lint.Edit) {
		e.With = nil // they come one by one
		if e.Safe || unsafe {
			byFile[e.File] = append(byFile[e.File], e)
		}
	}
	for i := range problems {
		p := &problems[i]
		if p.Fix == nil || !p.Active() {
			continue
		}
		add(*p.Fix)
		for _, e := range p.Fix.With {
			add(e)
		}
	}
	return byFile
}

// Apply makes the edits in data. An edit given twice is made once; of two that
// overlap the second is refused. Two insertions at one place are both made.
func Apply(path string, data []byte, edits []lint.Edit) Change {
	c := Change{Path: path, Before: data}
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b lint.Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Span.End, b.Span.End), cmp.Compare(a.New, b.New))
	})
	at := 0
	var out bytes.Buffer
	for i, e := range sorted {
		switch {
		case i > 0 && e.Span == sorted[i-1].Span && e.New == sorted[i-1].New:
			continue
		case e.Span.Start < 0 || e.Span.End > len(data) || e.Span.Start > e.Span.End:
			c.Refused = append(c.Refused, Refusal{e, "outside the file"})
			continue
		case e.Span.Start < at:
			c.Refused = append(c.Refused, Refusal{e, "another fix changes the same bytes"})
			continue
		}
		out.Write(data[at:e.Span.Start])
		out.WriteString(e.New)
		at = e.Span.End
		c.Applied = append(c.Applied, e)
	}
	out.Write(data[at:])
	c.After = out.Bytes()
	return c
}
