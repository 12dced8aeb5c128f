package cmd

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/report"
)

// printDiff writes the changes as one unified diff.
func printDiff(env Env, o *lintOptions, changes []cronlint.Change) error {
	style := env.style(env.Stdout, o.out.colour)
	for i := range changes {
		if err := report.Diff(env.Stdout, changes[i].Diff(), style); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges writes each changed file and says so; a file that can't be
// written is left as it was, and said as well.
func writeChanges(changes []cronlint.Change) (notes []string, written int) {
	for i := range changes {
		c := &changes[i]
		if bytes.Equal(c.Before, c.After) {
			continue
		}
		name := report.Clean(c.Path)
		if err := c.Write(filepath.FromSlash(c.Path)); err != nil {
			notes = append(notes, "not mended: "+name+": "+plainError(err))
			continue
		}
		written++
		notes = append(notes, fmt.Sprintf("mended: %s, %s", name, report.Count(len(c.Applied), "places")))
	}
	return notes, written
}

// refusals says which fixes were not made, and why.
func refusals(changes []cronlint.Change, errs []error) (notes []string) {
	for _, err := range errs {
		notes = append(notes, "not mended, the fix is not proved: "+report.Clean(err.Error()))
	}
	for i := range changes {
		for _, r := range changes[i].Refused {
			notes = append(notes, fmt.Sprintf("not mended: %s: %s", report.Clean(r.Edit.File), r.Why))
		}
	}
	return notes
}

// A mendedInput keeps what is read from standard input, so that it can be
// written to standard output with its fixes.
type mendedInput struct{ read bytes.Buffer }

func (m *mendedInput) tee(r io.Reader) io.Reader { return io.TeeReader(r, &m.read) }

// mended is the input with the change made to it.
func (m *mendedInput) mended(changes []cronlint.Change) []byte {
	if len(changes) == 1 {
		return changes[0].After
	}
	return m.read.Bytes()
}
