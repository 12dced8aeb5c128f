package report

import (
	"fmt"
	"math"
)

// sampled reports whether only a share of the keys was read, on purpose.
func (r *TTL) sampled() bool { return r.Analysis.Sampled > 0 && r.Analysis.Sampled < 1 }

// estimate writes a count. One of a sample is scaled to all keys, with its
// 95 % interval: n of a share f stand for n/f, with a standard deviation of
// sqrt(n (1-f)) / f.
func (r *TTL) estimate(n uint64) string {
	if !r.sampled() {
		return Int(n)
	}
	f := r.Analysis.Sampled
	off := 1.96 * math.Sqrt(math.Max(float64(n), 1)*(1-f)) / f
	return fmt.Sprintf("≈ %s ± %s", Int(int64(math.Round(float64(n)/f))), Int(int64(math.Ceil(off))))
}

// estimateKeys writes a number of keys with its unit.
func (r *TTL) estimateKeys(n uint64) string {
	if n == 1 && !r.sampled() {
		return "1 key"
	}
	return r.estimate(n) + " keys"
}

// sampleNotes say what a sample can and can't show.
func (r *TTL) sampleNotes() []string {
	if !r.sampled() {
		return nil
	}
	f := r.Analysis.Sampled
	return []string{
		fmt.Sprintf("sample: %.3g %% of the keys were read; counts with ≈ stand for all keys, with their 95 %% interval", f*100),
		fmt.Sprintf("what a herd must have to be seen in this sample: about %s keys or more, at 4 times the usual rate of its pattern; a smaller one can be missed",
			Int(int64(math.Ceil(fewestKeys/f)))),
	}
}
