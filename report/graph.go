package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
)

// Graph is one curve over time. Values are maxima per step, so that a tooth
// of one second keeps its height however coarse the steps are.
type Graph struct {
	Title  string    `json:"title"`
	Unit   string    `json:"unit"` // "keys/s"
	From   time.Time `json:"from"`
	StepNS int64     `json:"step_ns"`
	Values []float64 `json:"values"`
	// Ahead says that the graph starts now and looks forward; its axis is
	// then written as "now", "+10m", ...
	Ahead bool `json:"ahead"`
}

// maxPoints bounds the points of a graph in a document.
const maxPoints = 720

// graphHeight is the most rows that a graph is high above its baseline.
const graphHeight = 6

// Reduce cuts xs into n columns and keeps the largest value of each. It never
// averages: the mean of a column hides the tooth in it.
func Reduce(xs []float64, n int) []float64 {
	if n <= 0 || len(xs) <= n {
		return xs
	}
	out := make([]float64, n)
	for i, x := range xs {
		c := i * n / len(xs)
		out[c] = max(out[c], x)
	}
	return out
}

// stretch repeats the values of a short graph, up to n columns, so that it can
// be read.
func stretch(xs []float64, n int) []float64 {
	if len(xs) == 0 || n/len(xs) < 2 {
		return xs
	}
	out := make([]float64, 0, n)
	for _, x := range xs {
		for range n / len(xs) {
			out = append(out, x)
		}
	}
	return out
}

// render draws the graph at most width columns wide.
func (g Graph) render(width int, clock Clock) string {
	peak := 0.0
	for _, v := range g.Values {
		peak = max(peak, v)
	}
	ticks := tickLabels(peak)
	margin := len(ticks) + 3
	cols := max(width-margin, 10)
	values := stretch(Reduce(g.Values, cols), cols)
	plot := asciigraph.Plot(values,
		asciigraph.Height(int(min(max(peak, 1), graphHeight))), asciigraph.LowerBound(0), asciigraph.UpperBound(peak),
		asciigraph.YAxisValueFormatter(func(v float64) string {
			return fmt.Sprintf("%*s", len(ticks), Int(int64(math.Round(v))))
		}))
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(plot, "\n"), "\n") {
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat(" ", margin-1))
	b.WriteString(g.axis(len(values), clock))
	b.WriteByte('\n')
	suffix := ""
	if len(values) < len(g.Values) {
		suffix = "; a column shows its busiest second"
		if width < 60 {
			suffix = ", busiest"
		}
	}
	room := max(width-margin+1-len(suffix), 20)
	b.WriteString(strings.Repeat(" ", margin-1))
	b.WriteString(cut(g.Title, room) + suffix)
	b.WriteByte('\n')
	return b.String()
}

func tickLabels(peak float64) string { return Int(int64(math.Round(peak))) }

// axis writes labels under the columns, at round times.
func (g Graph) axis(cols int, clock Clock) string {
	span := time.Duration(len(g.Values)) * time.Duration(g.StepNS)
	every := axisStep(span, min(max(cols/12, 1), 6))
	line := []byte(strings.Repeat(" ", cols+1))
	end := 0
	for at := g.firstLabel(every, clock); at <= span; at += every {
		label := g.label(at, span, clock)
		pos := int(float64(cols) * float64(at) / float64(span))
		if pos < end || pos+len(label) > len(line) {
			continue
		}
		copy(line[pos:], label)
		end = pos + len(label) + 1
	}
	return strings.TrimRight(string(line), " ")
}

// firstLabel is how long after the start the first round time comes.
func (g Graph) firstLabel(every time.Duration, clock Clock) time.Duration {
	if g.Ahead {
		return 0
	}
	_, offset := g.From.In(clock.zone()).Zone()
	local := time.Duration(g.From.Unix()+int64(offset)) * time.Second
	return (every - local%every) % every
}

// axisStep is the shortest round time that gives at most n steps in span.
func axisStep(span time.Duration, n int) time.Duration {
	const day = 24 * time.Hour
	for _, step := range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 30 * day, 90 * day, 365 * day,
	} {
		if span <= step*time.Duration(n) {
			return step
		}
	}
	return span
}

func (g Graph) label(at, span time.Duration, clock Clock) string {
	if g.Ahead {
		if at == 0 {
			return "now"
		}
		return "+" + shortDur(at)
	}
	t := g.From.Add(at).In(clock.zone())
	switch {
	case span > 72*time.Hour:
		return t.Format("01-02")
	case span > 10*time.Minute:
		return t.Format("15:04")
	default:
		return t.Format("15:04:05")
	}
}

// shortDur rounds to one unit that fits under an axis: "+10m", "+2.5h".
func shortDur(d time.Duration) string {
	switch {
	case d < time.Minute || d%time.Minute != 0 && d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d < 2*time.Hour:
		return trimFloat(d.Minutes()) + "m"
	case d < 48*time.Hour:
		return trimFloat(d.Hours()) + "h"
	default:
		return trimFloat(d.Hours()/24) + "d"
	}
}
