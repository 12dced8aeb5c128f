package fix

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// diffContext is how many unchanged lines stand around a change.
const diffContext = 3

// hunk is a range of lines, from 1, both included, and the edits in it.
type hunk struct {
	first, last int
	edits       []lint.Edit
}

// Diff writes the change as a unified diff; "" if nothing changed.
func (c *Change) Diff() string {
	if bytes.Equal(c.Before, c.After) {
		return ""
	}
	f := lint.NewFile(c.Path, c.Before)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", diffName("a/", c.Path), diffName("b/", c.Path))
	shift := 0
	for _, h := range hunks(f, c.Applied) {
		shift += writeHunk(&b, f, h, shift)
	}
	return b.String()
}

// diffName is the name of a file as git and patch read it: one with characters
// that would break the line, or end the name, is quoted.
func diffName(prefix, path string) string {
	name := prefix + strings.TrimPrefix(path, "/")
	special := func(c byte) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }
	if !slices.ContainsFunc([]byte(name), special) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if special(c) {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// hunks joins edits whose contexts touch.
func hunks(f *lint.File, edits []lint.Edit) (all []hunk) {
	for _, e := range edits {
		first, _ := f.Position(e.Span.Start)
		last, _ := f.Position(e.Span.End)
		if n := len(all); n > 0 && first-all[n-1].last <= 2*diffContext+1 {
			all[n-1].last = max(all[n-1].last, last)
			all[n-1].edits = append(all[n-1].edits, e)
			continue
		}
		all = append(all, hunk{first, last, []lint.Edit{e}})
	}
	return all
}

// writeHunk writes one hunk; shift is how many lines were added before it. It
// returns how many it adds.
func writeHunk(b *strings.Builder, f *lint.File, h hunk, shift int) int {
	from, to := max(1, h.first-diffContext), min(f.Lines(), h.last+diffContext)
	start, end := lineStart(f, from), lineStart(f, to+1)
	old := splitLines(f.Data[start:end])
	changed := splitLines(Apply(f.Path, f.Data[start:end], moved(h.edits, -start)).After)
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from, len(old), from+shift, len(changed))
	writeLines(b, old, changed)
	return len(changed) - len(old)
}

// writeLines writes the lines of a hunk: those that stay, and between them
// what goes and what comes.
func writeLines(b *strings.Builder, old, changed []string) {
	for len(old) > 0 || len(changed) > 0 {
		if len(old) > 0 && len(changed) > 0 && old[0] == changed[0] {
			writeLine(b, ' ', old[0])
			old, changed = old[1:], changed[1:]
			continue
		}
		i, j := resync(old, changed)
		for _, line := range old[:i] {
			writeLine(b, '-', line)
		}
		for _, line := range changed[:j] {
			writeLine(b, '+', line)
		}
		old, changed = old[i:], changed[j:]
	}
}

// maxDrift bounds how many lines are looked through for a place from which both
// sides go on alike: fixes add and change few lines in one place, but may change
// every line of a long file.
const maxDrift = 32

// resync finds the nearest place from which both go on alike, or else takes as
// many lines of each as were looked through.
func resync(old, changed []string) (i, j int) {
	for sum := 1; sum < min(len(old)+len(changed), maxDrift); sum++ {
		for i := max(0, sum-len(changed)); i <= min(sum, len(old)); i++ {
			if j := sum - i; i < len(old) && j < len(changed) && old[i] == changed[j] {
				return i, j
			}
		}
	}
	return min(len(old), maxDrift/2), min(len(changed), maxDrift/2)
}

func writeLine(b *strings.Builder, mark byte, line string) {
	b.WriteByte(mark)
	b.WriteString(line)
	if !strings.HasSuffix(line, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
}

// lineStart is the first byte of a line; behind the last one, the file's end.
func lineStart(f *lint.File, n int) int {
	switch {
	case n <= 1:
		return 0
	case n > f.Lines():
		return len(f.Data)
	}
	return f.LineSpan(n).Start
}

func splitLines(data []byte) (lines []string) {
	for line := range bytes.Lines(data) {
		lines = append(lines, string(line))
	}
	return lines
}

func moved(edits []lint.Edit, by int) []lint.Edit {
	out := make([]lint.Edit, len(edits))
	for i, e := range edits {
		e.Span.Start += by
		e.Span.End += by
		out[i] = e
	}
	return out
}
