package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/fatih/color"
	"github.com/mitchellh/go-wordwrap"
)

// Style says how text is written to one stream.
type Style struct {
	Width int  // columns of the terminal; 0 for a pipe: nothing is cut or wrapped
	Color bool // whether to colour
	Clock Clock
}

// graphWidth is how wide a graph is where no terminal says so.
const graphWidth = 78

// Text writes the document for a human.
func Text(w io.Writer, d *Document, style Style) error {
	t := newTextWriter(w, style)
	t.coverage(d.Coverage)
	for _, g := range d.Graphs {
		t.blank()
		t.raw(g.render(t.graphWidth(), style.Clock))
	}
	for _, table := range d.Tables {
		t.blank()
		if table.Heatmap != nil {
			t.line(table.Heatmap.text())
			t.blank()
		}
		if table.Title != "" {
			t.line(table.Title)
		}
		t.keep(table.render(t.w, style.Width))
	}
	for i := range d.Findings {
		if f := &d.Findings[i]; f.SuppressedBy == "" && !saidByHerds(f.Rule) {
			t.blank()
			t.finding(f)
		}
	}
	if len(d.Undecided) > 0 {
		t.blank()
		for _, u := range d.Undecided {
			t.para("", "undecided: "+u)
		}
	}
	t.notes(d.Notes)
	t.blank()
	t.verdict(d)
	return t.flush()
}

type textWriter struct {
	w     *bufio.Writer
	style Style
	err   error
	heads map[string]*color.Color
	bold  *color.Color
	dim   *color.Color

	added, removed *color.Color
}

func newTextWriter(w io.Writer, style Style) *textWriter {
	t := &textWriter{w: bufio.NewWriter(w), style: style}
	paint := func(attrs ...color.Attribute) *color.Color {
		c := color.New(attrs...)
		if style.Color {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	t.heads = map[string]*color.Color{
		"error": paint(color.FgRed, color.Bold), "warning": paint(color.FgYellow, color.Bold), "note": paint(color.FgCyan, color.Bold),
	}
	t.bold, t.dim = paint(color.Bold), paint(color.Faint)
	t.added, t.removed = paint(color.FgGreen), paint(color.FgRed)
	return t
}

func (t *textWriter) graphWidth() int {
	if t.style.Width > 0 {
		return min(t.style.Width, 120)
	}
	return graphWidth
}

func (t *textWriter) keep(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *textWriter) flush() error {
	t.keep(t.w.Flush())
	return t.err
}

func (t *textWriter) raw(s string) {
	_, err := t.w.WriteString(s)
	t.keep(err)
}

func (t *textWriter) line(s string) { t.raw(s + "\n") }
func (t *textWriter) blank()        { t.raw("\n") }

// para writes text behind an indent, wrapped to the terminal; lines after the
// first are indented as far as the prefix is wide.
func (t *textWriter) para(indent, text string) { t.hanging(indent, indent, text) }

func (t *textWriter) hanging(first, rest, text string) {
	if t.style.Width > 0 {
		text = wordwrap.WrapString(text, uint(max(t.style.Width-len(rest), 20)))
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			t.line(first + line)
		} else {
			t.line(rest + line)
		}
	}
}

func (t *textWriter) coverage(cs []Coverage) {
	shown, rest := foldCoverage(cs)
	defer func() {
		if rest != "" {
			t.line(rest)
		}
	}()
	for _, c := range shown {
		t.hanging("", "  ", t.bold.Sprint(c.Source)+"   "+c.Text)
		for _, e := range c.Errors {
			t.hanging("  "+t.heads["error"].Sprint("not read")+": ", "    ", e)
		}
		for _, n := range c.Notes {
			t.para("  ", n)
		}
	}
}

func (t *textWriter) notes(notes []string) {
	if len(notes) == 0 {
		return
	}
	t.blank()
	for _, n := range notes {
		t.para("", n)
	}
}

func (t *textWriter) finding(f *Finding) {
	head := t.heads[f.Severity].Sprint(f.Severity) + ": " + f.Message + " " + t.dim.Sprint("["+strings.Join(append([]string{f.Rule}, f.Also...), "] [")+"]")
	t.hanging(f.place(), "  ", head)
	if f.Excerpt != nil {
		t.marked(f)
		return
	}
	for _, l := range chainLines(f.Chain) {
		t.line("    " + l)
	}
	for _, d := range f.Details {
		t.para("  ", d)
	}
	if f.Why != "" {
		t.para("  ", f.Why)
	}
	t.causes(f)
	if f.RefutedBy != "" {
		t.para("  ", "Would refute it: "+f.RefutedBy)
	}
	t.fix(f.Fix)
	for _, line := range f.otherRemedies() {
		t.hanging("       ", "         ", line)
	}
	if f.Suppressed != "" {
		t.para("  ", "not counted: "+f.Suppressed)
	}
}

func (f *Finding) place() string {
	if len(f.Locations) == 0 {
		return ""
	}
	l := f.Locations[0]
	return fmt.Sprintf("%s:%d:%d: ", l.File, l.Line, l.Col)
}

func (t *textWriter) causes(f *Finding) {
	for _, s := range f.sayings() {
		indent := "  "
		if s.under {
			indent = "    "
		}
		t.para(indent, s.text)
	}
}

func (t *textWriter) fix(f *Fix) {
	if f == nil {
		return
	}
	t.hanging("  "+t.bold.Sprint("fix:")+" ", "       ", f.Text)
	for line := range strings.SplitSeq(f.Code, "\n") {
		if line != "" {
			t.line("         " + line)
		}
	}
	for _, e := range f.Effects {
		t.para("       ", e)
	}
	for _, c := range f.Caveats {
		t.para("       ", c)
	}
}

func (t *textWriter) verdict(d *Document) {
	head := d.Verdict
	if worst, any := d.Worst(); any {
		head = t.heads[worst.String()].Sprint(d.Verdict)
	}
	if len(d.Next) > 0 {
		head += ". More: " + strings.Join(d.Next, " · ")
	}
	t.hanging("", "  ", head)
}
