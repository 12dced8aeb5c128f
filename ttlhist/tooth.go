package ttlhist

import (
	"math"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// toothOf describes a burst in the bins it was found in.
func toothOf(b comb.Burst, bins []comb.ExpiryBin, width time.Duration) Tooth {
	inside := between(bins, b.From, b.To)
	t := Tooth{
		From: time.UnixMilli(b.From), To: time.UnixMilli(b.To), Baseline: b.Baseline,
		Log10P: b.LogP / math.Ln10, Newest: b.Newest,
	}
	for _, bin := range inside {
		t.Keys += bin.Count
	}
	t.Busiest, t.BusiestAt = busiestSecond(inside, width)
	return t
}

// between returns the bins from one time to another, both included.
func between(bins []comb.ExpiryBin, from, to int64) []comb.ExpiryBin {
	at := func(b comb.ExpiryBin, t int64) int { return int(max(-1, min(1, b.At-t))) }
	i, _ := slices.BinarySearchFunc(bins, from, at)
	j, _ := slices.BinarySearchFunc(bins, to+1, at)
	return bins[i:j]
}

// busiestSecond returns the largest count within one second, wherever it
// begins, and that begin. Bins wider than a second count with the part that
// falls to one.
func busiestSecond(bins []comb.ExpiryBin, width time.Duration) (most uint64, at time.Time) {
	var sum uint64
	end := 0
	for _, b := range bins {
		for end < len(bins) && bins[end].At < b.At+1000 {
			sum += bins[end].Count
			end++
		}
		if sum > most {
			most, at = sum, time.UnixMilli(b.At)
		}
		sum -= b.Count
	}
	if width > time.Second {
		most = uint64(math.Ceil(float64(most) / width.Seconds()))
	}
	return most, at
}

func keysIn(teeth []Tooth) (n uint64) {
	for _, t := range teeth {
		n += t.Keys
	}
	return n
}

// middle returns the middle of a tooth in seconds.
func (t Tooth) middle() float64 {
	return float64(t.From.UnixMilli()+t.To.UnixMilli()) / 2000
}

// spacing returns the constant time between teeth: the median gap, if there
// are at least three teeth and all gaps are near multiples of it. Some teeth
// may be missing, as when a job did not run.
func spacing(teeth []Tooth) time.Duration {
	if len(teeth) < 3 {
		return 0
	}
	const slack = 0.1 // of the spacing
	gaps := make([]float64, 0, len(teeth)-1)
	for i := 1; i < len(teeth); i++ {
		gaps = append(gaps, teeth[i].middle()-teeth[i-1].middle())
	}
	sorted := slices.Sorted(slices.Values(gaps))
	median := sorted[len(sorted)/2]
	single, steps := 0, 0.0
	for _, gap := range gaps {
		n := math.Round(gap / median)
		if n < 1 || math.Abs(gap/median-n) > slack {
			return 0
		}
		if n == 1 {
			single++
		}
		steps += n
	}
	if single*2 < len(gaps) {
		return 0
	}
	mean := (teeth[len(teeth)-1].middle() - teeth[0].middle()) / steps
	if mean > 10 { // the middles of teeth are good to a part of a second
		mean = math.Round(mean*10) / 10
	}
	return time.Duration(mean * float64(time.Second))
}

func medianWidth(teeth []Tooth) time.Duration {
	if len(teeth) == 0 {
		return 0
	}
	widths := make([]time.Duration, len(teeth))
	for i, t := range teeth {
		widths[i] = t.To.Sub(t.From)
	}
	slices.Sort(widths)
	return widths[len(widths)/2]
}
