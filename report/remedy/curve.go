package remedy

import (
	"math"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// maxSteps is the most steps of a Curve.
const maxSteps = 600

// burst is the expected number of each second of a tooth: total in all, spread
// evenly over its width, of which the first second has peak. Where peak is 0
// or the total not known, there is only the rest.
func burst(peak, total float64, width time.Duration) []float64 {
	n := int(math.Max(1, math.Min(math.Ceil(width.Seconds()), 1e5)))
	out := make([]float64, n)
	total = math.Max(total, peak)
	if peak <= 0 {
		peak = total / float64(n)
	}
	out[0] = peak
	for i := 1; i < n; i++ {
		out[i] = math.Min(peak, (total-peak)/float64(n-1))
	}
	return out
}

// copiesCurve spreads the copies of a hot key over the time of one load.
func (c Case) copiesCurve(peak float64) []float64 {
	h := c.hotKey()
	if c.Rebuild <= time.Second {
		return []float64{peak}
	}
	return burst(peak, peak*h.Rebuild.Seconds(), h.Rebuild)
}

func plus(a, b []float64) []float64 {
	out := make([]float64, max(len(a), len(b)))
	for i := range out {
		if i < len(a) {
			out[i] += a[i]
		}
		if i < len(b) {
			out[i] += b[i]
		}
	}
	return out
}

// curve makes two series equally long and at most maxSteps. addBefore and
// addAfter come on top of the first second of each.
func (c Case) curve(before, after []float64, addBefore, addAfter float64) *Curve {
	before, after = plus(before, []float64{addBefore}), plus(after, []float64{addAfter})
	n := max(len(before), len(after)) + 1 // one more: the end is seen
	step := (n + maxSteps - 1) / maxSteps
	return &Curve{
		Step: time.Duration(step) * time.Second, Unit: c.unit(),
		Before: reduce(before, n, step), After: reduce(after, n, step),
	}
}

// reduce keeps the busiest second of each step.
func reduce(s []float64, n, step int) []float64 {
	out := make([]float64, (n+step-1)/step)
	for i, v := range s {
		out[i/step] = math.Max(out[i/step], math.Round(100*v)/100)
	}
	return out
}

// width is how wide the wave is with a jitter.
func (c Case) width(j comb.Jitter) time.Duration {
	lo, hi := j.Range(c.TTL)
	return max(hi-lo, c.Width)
}
