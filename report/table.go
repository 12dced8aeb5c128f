package report

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table is a table of cleaned text. The first column is the one that is cut
// when a terminal is too narrow.
type Table struct {
	Title   string     `json:"title,omitempty"`
	Columns []string   `json:"columns"`
	Left    []bool     `json:"-"` // columns to align left; the first always is
	Rows    [][]string `json:"rows"`
	// Left out says how many rows are not shown, and what they are.
	LeftOut string `json:"left_out,omitempty"`
	// Heatmap is drawn above the table.
	Heatmap *Heatmap `json:"heatmap,omitempty"`
}

// render writes the table without borders; width 0 means no limit.
func (t Table) render(w io.Writer, width int) error {
	rows, gap := t.fit(width)
	align := make([]tw.Align, len(t.Columns))
	for i := range align {
		align[i] = tw.AlignRight
		if i == 0 || i < len(t.Left) && t.Left[i] {
			align[i] = tw.AlignLeft
		}
	}
	var b strings.Builder
	table := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone, Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithPadding(tw.Padding{Right: strings.Repeat(" ", gap), Overwrite: true}),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithAlignment(align), tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}))
	table.Header(t.Columns)
	if err := table.Bulk(rows); err != nil {
		return err
	}
	if err := table.Render(); err != nil {
		return err
	}
	for line := range strings.SplitSeq(strings.TrimRight(b.String(), "\n"), "\n") {
		if _, err := io.WriteString(w, strings.TrimRight(line, " ")+"\n"); err != nil {
			return err
		}
	}
	if t.LeftOut != "" {
		_, err := io.WriteString(w, t.LeftOut+"\n")
		return err
	}
	return nil
}

// fit cuts the first column so that the table is at most width wide, and
// halves the gap between columns if that is not enough.
func (t Table) fit(width int) (rows [][]string, gap int) {
	const narrowest = 8 // first column
	gap = 2
	if width <= 0 {
		return t.Rows, gap
	}
	rest := 0
	for c := 1; c < len(t.Columns); c++ {
		w := utf8.RuneCountInString(t.Columns[c])
		for _, row := range t.Rows {
			w = max(w, utf8.RuneCountInString(row[c]))
		}
		rest += w
	}
	gaps := len(t.Columns) - 1
	if rest+gap*gaps+narrowest > width {
		gap = 1
	}
	first := max(width-rest-gap*gaps, narrowest)
	rows = make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = append([]string{cut(row[0], first)}, row[1:]...)
	}
	return rows, gap
}
