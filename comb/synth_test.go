package comb

import (
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb/eval/synth"
)

// epoch is where the synthetic series begin: a whole hour in UTC.
var epoch = time.Date(2026, 11, 3, 6, 0, 0, 0, time.UTC)

// seriesOf counts times in seconds after epoch.
func seriesOf(bin time.Duration, parts ...[]float64) *Series {
	s := NewSeries(bin)
	for _, t := range slices.Concat(parts...) {
		s.Add(epoch.UnixNano()+int64(t*1e9), 1)
	}
	return s
}

// over is the options for a log of span seconds.
func over(span float64) Options { return Options{From: epoch, To: epoch.Add(toDuration(span))} }

// null returns a series without a herd: number n of an endless mix.
func null(n uint64, span float64) *Series {
	r := synth.Rand(n)
	bin := []time.Duration{time.Second, FineBin}[n/4%2]
	switch n % 4 {
	case 0:
		return seriesOf(bin, synth.Poisson(r, span, 0.02+2*r.Float64()))
	case 1:
		return seriesOf(bin, synth.Hawkes(r, span, 0.1, 0.5+0.4*r.Float64(), 0.2+10*r.Float64()))
	case 2:
		return seriesOf(bin, synth.Batches(r, span, 0.003+0.05*r.Float64(), 10+30*r.Float64(), 0.5))
	}
	return seriesOf(bin, synth.Diurnal(r, span, 0.2+3*r.Float64(), 0.95))
}
