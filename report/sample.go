package report

import (
	"fmt"
	"math"

	"github.com/herdscan/herdscan/ttlhist"
)

// sampled reports whether only a share of the keys was read, on purpose.
func (r *TTL) sampled() bool { return r.Analysis.Sampled > 0 && r.Analysis.Sampled < 1 }

// normal95 is how many standard deviations a count is off at most, 95 times in
// a hundred.
const normal95 = 1.96

// estimate writes a count. One of a sample is scaled to all keys, with its
// 95 % interval: n of a share f stand for n/f, with a standard deviation of
// sqrt(n (1-f)) / f.
func (r *TTL) estimate(n uint64) string { return r.estimateWithin(n, normal95) }

// estimateBusiest writes the keys of the busiest of some seconds. In a sample
// the largest of m counts is large by chance as well, by about sqrt(2 ln m)
// standard deviations: the interval is as wide.
func (r *TTL) estimateBusiest(n uint64, seconds float64) string {
	if n == 1 && !r.sampled() {
		return "1 key"
	}
	return r.estimateWithin(n, math.Max(normal95, math.Sqrt(2*math.Log(math.Max(1, seconds))))) + " keys"
}

func (r *TTL) estimateWithin(n uint64, deviations float64) string {
	if !r.sampled() {
		return Int(n)
	}
	f := r.Analysis.Sampled
	off := deviations * math.Sqrt(math.Max(float64(n), 1)*(1-f)) / f
	return fmt.Sprintf("≈ %s ± %s", Int(int64(math.Round(float64(n)/f))), Int(int64(math.Ceil(off))))
}

// secondsOf is how many seconds teeth are wide, together.
func secondsOf(teeth ...ttlhist.Tooth) (sum float64) {
	for _, t := range teeth {
		sum += width(t).Seconds()
	}
	return sum
}

// sampleNotes say what a sample can and can't show.
func (r *TTL) sampleNotes() []string {
	if !r.sampled() {
		return nil
	}
	f := r.Analysis.Sampled
	return []string{
		fmt.Sprintf("sample: %.3g %% of the keys were read; counts with ≈ stand for all keys, with their 95 %% interval (wider for a busiest second, which is large by chance, too)", f*100),
		fmt.Sprintf("what a herd must have to be seen in this sample: about %s keys or more, at 4 times the usual rate of its pattern; a smaller one can be missed",
			Int(int64(math.Ceil(fewestKeys/f)))),
	}
}
