package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/herdscan/herdscan/querylog"
)

// ToothView is what ran in one span of a query log, ready to be written.
type ToothView struct {
	Version string
	Window  *querylog.Window
	Missing []querylog.Coverage // of what could not be opened
	Top     int
	At      time.Time // what was asked for; the tooth may lie beside it
}

// Document writes the texts of the tooth.
func (t *ToothView) Document(clock Clock) *Document {
	d := New(t.Version, "querylog")
	q := &QueryLog{}
	for _, cs := range [][]querylog.Coverage{t.Window.Coverage, t.Missing} {
		for i := range cs {
			d.Coverage = append(d.Coverage, q.coverage(&cs[i], clock))
		}
	}
	w := t.Window
	table := Table{
		Title:   fmt.Sprintf("%s started in %s, from %s:", Count(w.Statements, "statements"), clock.Span(w.From, w.To), Count(len(w.Hosts), "clients")),
		Columns: []string{"copies", "at once", "longest", "clients", "text"}, Left: []bool{false, false, false, true, true},
	}
	top := t.Top
	if top <= 0 {
		top = 10
	}
	for i, x := range w.Texts {
		if i == top {
			table.LeftOut = fmt.Sprintf("and %s more (--top N shows more)", Count(uint64(len(w.Texts)-top)+w.Others, "texts"))
			break
		}
		table.Rows = append(table.Rows, []string{
			Int(x.Count), Int(x.AtOnce), Dur(x.Longest), hostList(x.Hosts), Clean(string(x.Query)),
		})
	}
	d.Verdict = strings.TrimSuffix(table.Title, ":")
	if w.Statements > 0 {
		d.Tables = []Table{table}
	} else {
		d.Verdict = "no statement started in " + clock.Span(w.From, w.To) + "; the first line says what the log covers"
	}
	if !t.At.IsZero() && (t.At.Add(time.Second).Before(w.From) || t.At.After(w.To)) {
		d.Notes = append(d.Notes, fmt.Sprintf("no tooth at %s: the nearest one begins at %s", clock.Time(t.At), clock.Time(w.From)))
	}
	d.Finish()
	return d
}
