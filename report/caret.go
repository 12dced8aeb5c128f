package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Excerpt is the line of a file that a finding is about. Text is cleaned but
// keeps its tabs; From and To mark the place in it, in code points from 0.
type Excerpt struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// A line longer than maxExcerpt code points is cut to the surroundings of the
// place: a file of one line would else be printed once for each finding.
const (
	maxExcerpt    = 300
	excerptBefore = 60
)

// newExcerpt marks the columns col to endCol (from 1, in code points, the last
// one excluded) of a line.
func newExcerpt(line int, text string, col, endCol int) *Excerpt {
	runes := splitRunes(text)
	from := min(max(col-1, 0), len(runes))
	to := min(max(endCol-1, from), len(runes))
	lo, hi := 0, len(runes)
	if len(runes) > maxExcerpt {
		lo = max(0, from-excerptBefore)
		hi = min(len(runes), lo+maxExcerpt)
		to = min(to, hi)
	}
	e := &Excerpt{Line: line}
	var b strings.Builder
	n := 0
	write := func(s string) {
		b.WriteString(s)
		n += utf8.RuneCountInString(s)
	}
	if lo > 0 {
		write("…")
	}
	for i := lo; i < hi; i++ {
		if i == from {
			e.From = n
		}
		write(cleanCode(runes[i]))
		if i == to-1 {
			e.To = n
		}
	}
	if hi < len(runes) {
		write("…")
	}
	if from >= hi {
		e.From = n
	}
	e.Text, e.To = b.String(), max(e.To, e.From+1)
	return e
}

// splitRunes splits text into code points; a byte that is no valid UTF-8 is
// one, as in the columns of a file.
func splitRunes(text string) (parts []string) {
	for len(text) > 0 {
		_, size := utf8.DecodeRuneInString(text)
		parts = append(parts, text[:size])
		text = text[size:]
	}
	return parts
}

// cleanCode is Clean for one line of code, which keeps its tabs. A line that a
// CI system would take for a command, in its log, is kept from being one.
func cleanCode(line string) string {
	if head := strings.TrimSpace(line); strings.HasPrefix(head, "::") || strings.HasPrefix(head, "##") {
		line = strings.Replace(strings.Replace(line, "::", `\x3a:`, 1), "##[", `##\x5b`, 1)
	}
	parts := strings.Split(line, "\t")
	for i := range parts {
		parts[i] = Clean(parts[i])
	}
	return strings.Join(parts, "\t")
}

// cleanLines is cleanCode for several lines.
func cleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = cleanCode(lines[i])
	}
	return strings.Join(lines, "\n")
}

// tabStop is how wide a tab is at most, as on a terminal.
const tabStop = 8

// columns writes the line with tabs as spaces, and says in which columns of a
// terminal the mark begins and ends.
func (e *Excerpt) columns() (text string, from, to int) {
	var b strings.Builder
	at, i := 0, 0
	for _, r := range e.Text {
		if i == e.From {
			from = at
		}
		if i == e.To {
			to = at
		}
		i++
		if r == '\t' {
			n := tabStop - at%tabStop
			b.WriteString(strings.Repeat(" ", n))
			at += n
			continue
		}
		b.WriteRune(r)
		at += runeColumns(r)
	}
	if i <= e.From {
		from = at
	}
	if i <= e.To {
		to = at
	}
	return b.String(), from, max(to, from+1)
}

// runeColumns is how many columns of a terminal a character takes: a mark
// that combines with the one before takes none.
func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	return runewidth.RuneWidth(r)
}

// lines are the three lines of a marked excerpt, without the mark's colour.
func (e *Excerpt) lines() (gutter, source, pad, mark string) {
	text, from, to := e.columns()
	n := strconv.Itoa(e.Line)
	gutter = " " + strings.Repeat(" ", len(n)) + " |"
	return gutter, " " + n + " | " + text, gutter + " " + strings.Repeat(" ", from), "^" + strings.Repeat("~", to-from-1)
}

// marked is the excerpt as text.
func (e *Excerpt) marked() string {
	gutter, source, pad, mark := e.lines()
	return gutter + "\n" + source + "\n" + pad + mark
}

// marked writes what follows the head of a finding in a file: the line with
// the place underlined, the other places, and the fix to paste.
func (t *textWriter) marked(f *Finding) {
	gutter, source, pad, mark := f.Excerpt.lines()
	if w := t.style.Width; w > 0 {
		source = cutColumns(source, w)
		mark = cutColumns(mark, max(w-runewidth.StringWidth(pad), 1))
	}
	t.line(gutter)
	t.line(source)
	t.line(pad + t.heads[f.Severity].Sprint(mark))
	indent := strings.Repeat(" ", len(gutter)-1)
	if also := f.also(); also != "" {
		t.hanging(indent+t.bold.Sprint("= also:")+" ", indent+"        ", also)
	}
	for _, d := range f.Details {
		t.hanging(indent+"= ", indent+"  ", d)
	}
	t.markedFix(indent, f.Fix)
}

// markedFix writes the fix. Lines to paste are never cut or wrapped.
func (t *textWriter) markedFix(indent string, f *Fix) {
	if f == nil {
		return
	}
	lines := strings.Split(f.Text, "\n")
	if f.Code != "" {
		lines = strings.Split(f.Code, "\n")
	}
	effect := strings.Join(f.Effects, "; ")
	if len(lines) == 1 && effect != "" {
		lines[0] += "      " + effect
		effect = ""
	}
	rest := indent + "       "
	for i, line := range lines {
		if i == 0 {
			t.line(indent + t.bold.Sprint("= fix:") + " " + line)
		} else {
			t.line(rest + line)
		}
	}
	if effect != "" {
		t.hanging(rest, rest, effect)
	}
	for _, c := range f.Caveats {
		t.hanging(rest, rest, c)
	}
}

// maxAlso is how many other places the text names.
const maxAlso = 3

// also names the other places of the finding, of which Related may hold only
// some.
func (f *Finding) also() string {
	return placeNames(f.Related, max(len(f.Related), int(f.Count)-1))
}

// placeNames names the first few of several places: those in the file named
// before by their line alone.
func placeNames(places []Location, total int) string {
	var parts []string
	last := ""
	for i, l := range places {
		if i == maxAlso {
			parts[i-1] += fmt.Sprintf(" and %s more", Int(total-maxAlso))
			break
		}
		name := l.File
		if name == last {
			name = ""
		}
		last = l.File
		parts = append(parts, name+":"+strconv.Itoa(l.Line))
	}
	return strings.Join(parts, ", ")
}

// cutColumns cuts text to the width of a terminal.
func cutColumns(s string, width int) string {
	if runewidth.StringWidth(s) <= width {
		return s
	}
	return runewidth.Truncate(s, width, "…")
}
