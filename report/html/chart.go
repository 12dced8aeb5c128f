package html

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/herdscan/herdscan/report"
)

// A chart is some rows of lanes on one axis.
type chart struct {
	Title   string
	Caption string
	Rows    []row
	Events  []event
	Moments []moment // the busiest of each lane, for those who can't see it
	LeftOut int      // lanes that are not drawn

	axis  axis
	from  time.Time
	span  float64 // milliseconds
	zone  *time.Location
	clock report.Clock
	mean  bool // values are means of all periods
}

// A row is one plot; several lanes in it share its scale.
type row struct {
	Height int
	Lanes  []laneView
	Grid   []gridLine
	Marks  []mark
	lanes  []lane
}

type laneView struct {
	Name, Kind, KindName string
	Peak                 string // "busiest 136 queries/s"
	Path                 string
}

// A gridLine is a level of a plot.
type gridLine struct {
	Y     float64
	TextY float64
	Label string
}

// A mark is an event, drawn through all rows. The label is left out where it
// would cover the one before.
type mark struct {
	X             float64
	Label, Anchor string
}

type event struct {
	Time stamp
	Lane string
	Text string
}

// A moment is the busiest step of a lane.
type moment struct {
	Lane, Kind, Value string
	At                string
	Active            string // how many steps are not empty
}

// Bounds of what one chart holds; what is beyond them is said.
const (
	maxLanes   = 24
	maxPoints  = 8_000 // values of one lane of the whole run
	herdPoints = 3_000 // and of the lanes of one herd
	maxEvents  = 200
)

const (
	laneHeight = 58
	tallHeight = 168
)

// kindNames say in words what the colour of a lane says.
var kindNames = map[string]string{
	"queries": "queries", "expiries": "keys expiring", "fires": "scheduled starts", "events": "events",
	"before": "before", "after": "after", "teeth": "teeth",
}

func kindName(kind string) string {
	if name, ok := kindNames[kind]; ok {
		return name
	}
	return kind
}

// kindClass is the class of a lane's colour.
func kindClass(kind string) string {
	if _, ok := kindNames[kind]; ok {
		return kind
	}
	return "other"
}

func timelineChart(t *report.Timeline, title string, points int, clock report.Clock) *chart {
	if t == nil || !t.To.After(t.From) || len(t.Lanes) == 0 {
		return nil
	}
	c := &chart{
		Title: title, axis: clockAxis, from: t.From, span: float64(t.To.Sub(t.From)) / 1e6,
		zone: zoneOf(clock), clock: clock,
	}
	c.LeftOut = max(len(t.Lanes)-maxLanes, 0)
	widest := 0.0
	for _, in := range t.Lanes[:min(len(t.Lanes), maxLanes)] {
		l := lane{
			name: in.Name, kind: in.Kind, unit: in.Unit, step: float64(in.StepNS) / 1e6,
			at: in.At, n: in.N, text: in.Text,
		}
		l = l.sound().thinned(points)
		widest = max(widest, l.step)
		c.add(laneHeight, l)
	}
	c.Caption = clock.Span(t.From, t.To)
	if widest > 1000 {
		c.Caption += " · each step of " + report.Dur(millis(widest)) + " or less shows its busiest second"
	}
	return c.finish()
}

// sound drops what does not fit together in a lane from elsewhere: values
// without a place, that are no numbers, or that are not in the order of time.
func (l lane) sound() lane {
	out := l
	out.at, out.n, out.text = nil, nil, nil
	for i, at := range l.at {
		n := 1.0 // of an event
		if i < len(l.n) {
			n = l.n[i]
		} else if l.kind != "events" {
			break
		}
		last := len(out.at) - 1
		if at < 0 || math.IsNaN(n) || math.IsInf(n, 0) || last >= 0 && at < out.at[last] {
			continue
		}
		if last >= 0 && at == out.at[last] && l.kind != "events" {
			out.n[last] = max(out.n[last], n)
			continue
		}
		out.at, out.n = append(out.at, at), append(out.n, n)
		if i < len(l.text) {
			out.text = append(out.text, l.text[i])
		}
	}
	if out.step <= 0 {
		out.step = 1000
	}
	return out
}

func graphChart(g report.Graph, clock report.Clock) *chart {
	if len(g.Values) == 0 || g.StepNS <= 0 {
		return nil
	}
	step := float64(g.StepNS) / 1e6
	c := &chart{
		Title: g.Title, axis: clockAxis, from: g.From, span: step * float64(len(g.Values)),
		zone: zoneOf(clock), clock: clock,
	}
	if g.Ahead {
		c.axis = aheadAxis
	}
	kind := "queries"
	if strings.HasPrefix(g.Unit, "key") {
		kind = "expiries"
	}
	c.Caption = clock.Span(g.From, g.From.Add(millis(c.span)))
	if step > 1000 {
		c.Caption += " · each step of " + report.Dur(millis(step)) + " shows its busiest second"
	}
	c.add(tallHeight, dense(kindNames[kind], kind, g.Unit, step, g.Values))
	return c.finish()
}

func foldChart(f *report.Fold, clock report.Clock) *chart {
	if f == nil || f.PeriodNS <= 0 || f.StepNS <= 0 || len(f.Lanes) == 0 {
		return nil
	}
	c := &chart{
		Title: "One period, folded: " + report.Dur(time.Duration(f.PeriodNS)), axis: offsetAxis,
		span: float64(f.PeriodNS) / 1e6, zone: zoneOf(clock), clock: clock, mean: true,
		Caption: "All periods laid on each other, mean per period and step of " + report.Dur(time.Duration(f.StepNS)) + "; 0 is the onset of the tooth",
	}
	c.LeftOut = max(len(f.Lanes)-maxLanes, 0)
	for _, in := range f.Lanes[:min(len(f.Lanes), maxLanes)] {
		c.add(laneHeight, dense(in.Name, in.Kind, in.Unit, float64(f.StepNS)/1e6, in.N).thinned(herdPoints))
	}
	return c.finish()
}

func curveChart(v *report.Curve, title string, clock report.Clock) *chart {
	if v == nil || v.StepNS <= 0 || len(v.Before)+len(v.After) == 0 {
		return nil
	}
	step := float64(v.StepNS) / 1e6
	c := &chart{
		Title: title, axis: aheadAxis, span: step * float64(max(len(v.Before), len(v.After))),
		zone: zoneOf(clock), clock: clock, Caption: "one tooth, from its onset, per step of " + report.Dur(time.Duration(v.StepNS)),
	}
	c.add(110, dense("before", "before", v.Unit, step, v.Before).thinned(herdPoints),
		dense("after", "after", v.Unit, step, v.After).thinned(herdPoints))
	return c.finish()
}

// teethChart shows a comb of which nothing but its teeth is known.
func teethChart(f *report.Finding, from, to time.Time, clock report.Clock) *chart {
	if len(f.Teeth) < 2 || !to.After(from) {
		return nil
	}
	c := &chart{
		Title: "Teeth", axis: clockAxis, from: from, span: float64(to.Sub(from)) / 1e6, zone: zoneOf(clock), clock: clock,
		Caption: clock.Span(from, to) + " · the height is what one tooth holds",
	}
	unit := "events"
	switch {
	case strings.HasPrefix(f.Rule, "HS4"):
		unit = "keys"
	case strings.HasPrefix(f.Rule, "HS5"):
		unit = "queries"
	}
	l := lane{name: "teeth of this comb", kind: "teeth", unit: unit + " in a tooth", step: 1000}
	for _, t := range f.Teeth {
		at := int64(t.At.Sub(from) / time.Second)
		if last := len(l.at) - 1; at < 0 || last >= 0 && at <= l.at[last] {
			continue
		}
		l.at, l.n = append(l.at, at), append(l.n, float64(t.Count))
	}
	c.add(laneHeight, l)
	return c.finish()
}

// add puts a row of lanes below those that are there.
func (c *chart) add(height int, lanes ...lane) {
	r := row{Height: height, lanes: lanes}
	top := 0.0
	for _, l := range lanes {
		n, _ := l.peak()
		top = max(top, n)
	}
	for _, l := range lanes {
		v := laneView{Name: l.name, Kind: kindClass(l.kind), KindName: kindName(l.kind)}
		if l.kind == "events" {
			v.Peak = report.Count(len(l.at), "events")
			c.events(l)
		} else {
			v.Path = path(l.bars(c.span), top, float64(height))
			v.Peak = c.peakText(l)
			c.Moments = append(c.Moments, c.moment(l))
		}
		r.Lanes = append(r.Lanes, v)
	}
	r.Grid = grid(top, height)
	c.Rows = append(c.Rows, r)
}

func (c *chart) peakText(l lane) string {
	n, _ := l.peak()
	if n == 0 {
		return "none"
	}
	if c.mean {
		return "mean, highest " + amount(n, l.unit)
	}
	return "busiest " + amount(n, l.unit)
}

// amount writes a value with its unit.
func amount(n float64, unit string) string {
	if n == 1 && !strings.ContainsAny(unit, "/ ") {
		return report.Count(1, unit)
	}
	return report.Float(n) + " " + unit
}

func (c *chart) moment(l lane) moment {
	n, at := l.peak()
	m := moment{Lane: l.name, Kind: kindName(l.kind), Value: "none", At: "—", Active: report.Int(len(l.at))}
	if n > 0 {
		m.Value = amount(n, l.unit)
		m.At = c.timeText(float64(at) * l.step)
	}
	return m
}

// timeText writes a place on the axis in words.
func (c *chart) timeText(at float64) string {
	switch c.axis {
	case offsetAxis:
		return signed(at - c.span/2)
	case aheadAxis:
		return "+" + shortSpan(at)
	default:
		return c.clock.Time(c.from.Add(millis(at)))
	}
}

func (c *chart) events(l lane) {
	for i, at := range l.at {
		if len(c.Events) == maxEvents {
			return
		}
		text := l.name
		if i < len(l.text) {
			text = l.text[i]
		}
		c.Events = append(c.Events, event{Time: newStamp(c.from.Add(millis(float64(at)*l.step)), c.clock), Lane: l.name, Text: text})
	}
}

// finish draws the events of all lanes through all rows.
func (c *chart) finish() *chart {
	for i := range c.Rows {
		isEvents := c.Rows[i].lanes[0].kind == "events"
		end := -100.0
		for _, e := range c.Events {
			x := float64(e.Time.t.Sub(c.from)) / 1e6 / c.span * 100
			if x < 0 || x > 100 {
				continue
			}
			m := mark{X: round(x, 3), Anchor: "start"}
			if x > 75 {
				m.Anchor = "end"
			}
			if isEvents && e.Lane == c.Rows[i].lanes[0].name && x-end > labelWidth {
				m.Label = short(e.Text)
				end = x
			}
			c.Rows[i].Marks = append(c.Rows[i].Marks, m)
		}
	}
	return c
}

// labelWidth is the share of a chart, in percent, that the label of an event
// takes at most.
const labelWidth = 22

func short(s string) string {
	const most = 22
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// grid writes the levels of a plot: its peak, and round ones in a tall plot.
func grid(peak float64, height int) []gridLine {
	if peak <= 0 {
		return nil
	}
	level := func(n float64) gridLine {
		y := float64(height) - n/peak*float64(height-headroom)
		return gridLine{Y: round(y, 2), TextY: round(y-3, 2), Label: report.Float(n)}
	}
	lines := []gridLine{level(peak)}
	if height < 100 {
		return lines
	}
	step := math.Pow(10, math.Floor(math.Log10(peak)))
	for _, f := range []float64{0.25, 0.5, 1, 2, 2.5} {
		if peak/(step*f) <= 4.5 {
			step *= f
			break
		}
	}
	for n := step; n < peak*0.85; n += step {
		lines = append(lines, level(n))
	}
	return lines
}

// Axis names the axis.
func (c *chart) Axis() axis { return c.axis }

// Mean reports whether the values are means of all periods.
func (c *chart) Mean() bool { return c.mean }

// Ticks are the labels under the chart.
func (c *chart) Ticks() []tick { return c.ticks() }

// Label says what the chart shows to those who can't see it.
func (c *chart) Label() string {
	var parts []string
	for _, m := range c.Moments {
		s := m.Lane + ": " + m.Value
		if m.At != "—" {
			s += " at " + m.At
		}
		parts = append(parts, s)
		if len(parts) == 8 {
			break
		}
	}
	return fmt.Sprintf("Chart: %s. Busiest: %s.", c.Title, strings.Join(parts, "; "))
}

// Keyed reports whether the colours need a key: rows name their lanes, but
// lanes that share a row do not.
func (c *chart) Keyed() bool { return len(c.Rows) == 1 && len(c.Rows[0].Lanes) > 1 }

// chartData is what the script draws from.
type chartData struct {
	Axis    axis      `json:"axis"`
	From    int64     `json:"from"` // ms since 1970
	Span    float64   `json:"span"`
	Offsets []offset  `json:"offsets,omitempty"`
	Mean    bool      `json:"mean,omitempty"`
	Rows    []rowData `json:"rows"`
}

type rowData struct {
	Height int        `json:"height"`
	Lanes  []laneData `json:"lanes"`
}

// Data is the chart for the script.
func (c *chart) Data() chartData {
	d := chartData{Axis: c.axis, Span: c.span, Mean: c.mean}
	if !c.from.IsZero() {
		d.From = c.from.UnixMilli()
		d.Offsets = offsets(c.from, c.from.Add(millis(c.span)), c.zone)
	}
	for _, r := range c.Rows {
		row := rowData{Height: r.Height}
		for _, l := range r.lanes {
			row.Lanes = append(row.Lanes, l.data())
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}
