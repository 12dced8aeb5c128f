package report

import (
	"io"
	"strings"
)

// Diff writes a unified diff. In a pipe its bytes stay as they are, so that it
// can be applied; on a terminal it is cleaned and coloured.
func Diff(w io.Writer, text string, style Style) error {
	if style.Width == 0 && !style.Color {
		_, err := io.WriteString(w, text)
		return err
	}
	t := newTextWriter(w, style)
	for line := range strings.Lines(text) {
		line = cleanCode(strings.TrimRight(line, "\r\n"))
		switch {
		case strings.HasPrefix(line, "+"):
			line = t.added.Sprint(line)
		case strings.HasPrefix(line, "-"):
			line = t.removed.Sprint(line)
		case strings.HasPrefix(line, "@@"):
			line = t.dim.Sprint(line)
		}
		t.line(line)
	}
	return t.flush()
}
