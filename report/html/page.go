package html

import (
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/report"
)

// page is what the templates show.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Command, Version, Verdict string
	Tone                      string // error, warning, note, good or open
	Judges                    bool
	Chips                     []chip
	Sources                   string
	Top                       []*finding
	MoreTop                   int
	Next                      []string
	Sections                  []section

	Picture   []*chart
	Herds     []*finding
	Findings  []*finding
	Tables    []table
	Undecided []string
	Notes     []string
	Coverage  []coverage

	Suppressed int
	Brief      int // findings that are there in one line
}

// A chip is one count of the verdict.
type chip struct{ Tone, Mark, Text string }

type section struct{ ID, Name string }

type coverage struct {
	report.Coverage
	Span *span
}

type span struct{ From, To stamp }

type table struct {
	report.Table
	Heatmaps []heatmap
}

// Bounds of what stands open on the page.
const (
	maxTop   = 6  // findings in the verdict
	maxHerds = 12 // findings with charts, suspects and remedies
	maxOpen  = 24 // findings that are open in the list
	// maxText is how many bytes of text the findings of the list may hold. Those
	// after them are said in one line each, so that a page of thousands can be
	// sent round.
	maxText = 700_000
)

// marks say by shape what colours say, too.
var marks = map[string]string{"error": "✕", "warning": "▲", "note": "●", "good": "✓", "open": "?"}

func newPage(d *report.Document, o Options) *page {
	p := &page{
		Policy: policy(), Style: template.CSS(style), Script: template.JS(script),
		Command: d.Command, Version: d.Version, Verdict: d.Verdict,
		Undecided: d.Undecided, Notes: d.Notes, Next: d.Next,
	}
	p.Tone, p.Judges = tone(d), judges(d)
	p.Chips = chips(d)
	p.covered(d, o.Clock)
	p.found(d, o.Clock)
	p.Picture = picture(d, o.Clock)
	for _, t := range d.Tables {
		p.Tables = append(p.Tables, table{Table: t, Heatmaps: heatmaps(t.Heatmap)})
	}
	p.Sections = p.sections()
	return p
}

func tone(d *report.Document) string {
	worst, any := d.Worst()
	switch {
	case any:
		return worst.String()
	case !judges(d):
		return "note"
	case d.Incomplete(), len(d.Undecided) > 0, read(d) == 0:
		return "open"
	default:
		return "good"
	}
}

// judges reports whether the command looks for findings, so that having none
// means something.
func judges(d *report.Document) bool { return d.Command != "plan" && d.Command != "simulate" }

func read(d *report.Document) (n uint64) {
	for _, c := range d.Coverage {
		n += c.Read
	}
	return n
}

func chips(d *report.Document) (all []chip) {
	add := func(n int, tone, plural string) {
		// A verdict that is nothing but counts says them itself.
		if text := report.Count(n, plural); n > 0 && !strings.Contains(d.Verdict, text) {
			all = append(all, chip{tone, marks[tone], text})
		}
	}
	add(d.Summary.Error, "error", "errors")
	add(d.Summary.Warning, "warning", "warnings")
	add(d.Summary.Note, "note", "notes")
	if n := len(d.Undecided); n > 0 {
		all = append(all, chip{"open", marks["open"], report.Int(n) + " undecided"})
	}
	if n := d.Summary.Suppressed; n > 0 {
		all = append(all, chip{"", "–", report.Int(n) + " suppressed"})
	}
	if d.Incomplete() {
		all = append(all, chip{"open", "!", "part of the input is unread"})
	}
	return all
}

func (p *page) covered(d *report.Document, clock report.Clock) {
	var from, to time.Time
	for _, c := range d.Coverage {
		v := coverage{Coverage: c}
		if c.From != nil && c.To != nil {
			v.Span = &span{newStamp(*c.From, clock), newStamp(*c.To, clock)}
			if from.IsZero() || c.From.Before(from) {
				from = *c.From
			}
			if c.To.After(to) {
				to = *c.To
			}
		}
		p.Coverage = append(p.Coverage, v)
	}
	var parts []string
	switch n := len(d.Coverage); {
	case n == 1:
		parts = append(parts, d.Coverage[0].Source, d.Coverage[0].Text)
	case n > 1:
		parts = append(parts, report.Count(n, "sources"))
		if !from.IsZero() {
			parts = append(parts, clock.Span(from, to))
		}
	}
	p.Sources = strings.Join(parts, " · ")
}

// found sorts them into those with a picture, suspects and fixes, and the
// plain ones. Those that somebody has accepted are only counted.
func (p *page) found(d *report.Document, clock report.Clock) {
	from, to := spanOf(d)
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.SuppressedBy != "" {
			p.Suppressed++
			continue
		}
		v := newFinding(f, fmt.Sprintf("f%d", i+1), clock)
		if v.isHerd() && len(p.Herds) < maxHerds {
			v.draw(from, to, clock)
			v.Herd = true
			p.Herds = append(p.Herds, v)
		}
		p.Findings = append(p.Findings, v)
	}
	text := 0
	for i, v := range p.Findings {
		v.Open = i < maxOpen
		if !v.Herd {
			text += textSize(reflect.ValueOf(v.Finding))
		}
		if v.Brief = text > maxText; v.Brief {
			p.Brief++
		}
	}
	p.Top = worstFirst(p.Findings)
	p.MoreTop = len(p.Findings) - len(p.Top)
}

// worstFirst are the first few findings by severity.
func worstFirst(all []*finding) []*finding {
	rank := map[string]int{"error": 0, "warning": 1}
	of := func(f *finding) int {
		if r, ok := rank[f.Severity]; ok {
			return r
		}
		return len(rank)
	}
	top := slices.SortedStableFunc(slices.Values(all), func(a, b *finding) int { return of(a) - of(b) })
	return top[:min(len(top), maxTop)]
}

// spanOf is the time that the sources cover.
func spanOf(d *report.Document) (from, to time.Time) {
	if d.Timeline != nil {
		return d.Timeline.From, d.Timeline.To
	}
	for _, c := range d.Coverage {
		if c.From == nil || c.To == nil {
			continue
		}
		if from.IsZero() || c.From.Before(from) {
			from = *c.From
		}
		if c.To.After(to) {
			to = *c.To
		}
	}
	return from, to
}

// picture is the whole run: everything on one clock, then the graphs that the
// text shows.
func picture(d *report.Document, clock report.Clock) (all []*chart) {
	if c := timelineChart(d.Timeline, "Everything on one clock", maxPoints, clock); c != nil {
		all = append(all, c)
	}
	for _, g := range d.Graphs {
		if c := graphChart(g, clock); c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (p *page) sections() (all []section) {
	add := func(there bool, id, name string) {
		if there {
			all = append(all, section{id, name})
		}
	}
	add(len(p.Picture) > 0, "picture", "Picture")
	add(len(p.Herds) > 0, "herds", "Suspects and fixes")
	add(len(p.Findings) > 0 || p.Judges, "findings", "Findings")
	add(len(p.Tables) > 0, "tables", "Tables")
	add(len(p.Undecided) > 0, "undecided", "Undecided")
	add(len(p.Notes) > 0, "notes", "Notes")
	add(len(p.Coverage) > 0, "coverage", "Coverage")
	return all
}
