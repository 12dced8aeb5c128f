package html

import (
	"math"
	"strconv"
	"strings"
)

// A lane is one row of numbers on the axis of a chart: n[i] is the value of
// the step that begins at[i] steps behind the start; elsewhere it is 0.
type lane struct {
	name, kind, unit string
	step             float64 // milliseconds
	at               []int64
	n                []float64
	text             []string // of events, one each
}

// dense makes a lane of values for all steps.
func dense(name, kind, unit string, step float64, n []float64) lane {
	l := lane{name: name, kind: kind, unit: unit, step: step}
	for i, v := range n {
		if v != 0 {
			l.at, l.n = append(l.at, int64(i)), append(l.n, v)
		}
	}
	return l
}

// peak is the largest value and the step where it first is.
func (l lane) peak() (n float64, at int64) {
	for i, v := range l.n {
		if v > n {
			n, at = v, l.at[i]
		}
	}
	return n, at
}

// thinned makes steps wider until at most limit values are left. A wider step
// keeps the largest of its values: a mean would hide the teeth.
func (l lane) thinned(limit int) lane {
	if len(l.text) > 0 || len(l.at) <= limit {
		return l
	}
	width := int64(2)
	for {
		out := l.widened(width)
		if len(out.at) <= limit {
			return out
		}
		width *= 2
	}
}

func (l lane) widened(width int64) lane {
	out := lane{name: l.name, kind: l.kind, unit: l.unit, step: l.step * float64(width)}
	for i, at := range l.at {
		at /= width
		if last := len(out.at) - 1; last >= 0 && out.at[last] == at {
			out.n[last] = max(out.n[last], l.n[i])
			continue
		}
		out.at, out.n = append(out.at, at), append(out.n, l.n[i])
	}
	return out
}

// viewWidth is how many columns a chart has in its own coordinates; CSS
// stretches it. The script draws anew with one column a pixel.
const viewWidth = 600

// A bar is a part of a lane as it is drawn, in columns.
type bar struct{ from, to, n float64 }

// bars reduces the lane to columns of a chart that is span milliseconds wide.
// Steps narrower than a column become one, with the largest of their values.
func (l lane) bars(span float64) []bar {
	var out []bar
	scale := viewWidth / span
	for i, at := range l.at {
		from, to := float64(at)*l.step*scale, float64(at+1)*l.step*scale
		if l.step*scale < 1 {
			from = math.Floor(from)
			to = from + 1
		}
		if from >= viewWidth || to <= 0 || l.n[i] <= 0 {
			continue
		}
		from, to = max(from, 0), min(to, viewWidth)
		if last := len(out) - 1; last >= 0 && out[last].from == from {
			out[last].n = max(out[last].n, l.n[i])
			continue
		}
		out = append(out, bar{from, to, l.n[i]})
	}
	return out
}

// path draws bars on a floor at height, the largest of them as high as peak
// says. Neighbours share an edge.
func path(bars []bar, peak, height float64) string {
	if peak <= 0 {
		return ""
	}
	var b strings.Builder
	y := func(n float64) float64 { return height - n/peak*(height-headroom) }
	end := math.Inf(-1)
	for i, s := range bars {
		if math.Abs(s.from-end) > 0.01 {
			if i > 0 {
				b.WriteString("V" + number(height))
			}
			b.WriteString("M" + number(s.from) + " " + number(height))
		}
		b.WriteString("V" + number(y(s.n)) + "H" + number(s.to))
		end = s.to
	}
	if len(bars) > 0 {
		b.WriteString("V" + number(height))
	}
	return b.String()
}

// headroom is the space above the highest bar, in pixels, for its label.
const headroom = 14

// number writes a float as shortly as two decimals allow.
func number(x float64) string {
	return strconv.FormatFloat(round(x, 2), 'f', -1, 64)
}

// laneData is a lane for the script; At holds differences.
type laneData struct {
	Name string    `json:"name"`
	Kind string    `json:"kind"`
	Unit string    `json:"unit"`
	Step float64   `json:"step"`
	At   []int64   `json:"at"`
	N    []float64 `json:"n"`
	Text []string  `json:"text,omitempty"`
}

func (l lane) data() laneData {
	d := laneData{Name: l.name, Kind: l.kind, Unit: l.unit, Step: l.step, Text: l.text, At: append([]int64{}, l.at...), N: make([]float64, len(l.n))}
	for i := len(d.At) - 1; i > 0; i-- {
		d.At[i] -= d.At[i-1]
	}
	for i, n := range l.n {
		d.N[i] = significant(n)
	}
	return d
}

// significant keeps four figures of a number that is not whole.
func significant(x float64) float64 {
	if x == 0 || x == math.Trunc(x) {
		return x
	}
	return round(x, max(3-int(math.Floor(math.Log10(math.Abs(x)))), 0))
}
