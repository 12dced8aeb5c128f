package comb

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Teeth at one spacing are found however small they are beside each other;
// batches of the same sizes at random times are not.
func TestFindBurstsRegular(t *testing.T) {
	for _, keys := range []int{25, 42, 60, 100} {
		r := rand.New(rand.NewPCG(1, uint64(keys)))
		var teeth, batches shot
		for i := range 24 {
			at, random := float64(600+3600*i), 600+r.Float64()*86_000
			for range keys {
				teeth.left = append(teeth.left, at+5*r.Float64())
				batches.left = append(batches.left, random+5*r.Float64())
			}
		}
		if got := FindBursts(teeth.bins(), shotNow, ExpiryOptions{}); len(got.Bursts) != 24 {
			t.Errorf("%d keys a tooth: %d of 24 teeth found", keys, len(got.Bursts))
		}
		if got := FindBursts(batches.bins(), shotNow, ExpiryOptions{}); keys < 100 && len(got.Bursts) > 0 {
			t.Errorf("%d keys a batch at random times: %d bursts", keys, len(got.Bursts))
		}
	}
}

// A narrow cluster that holds its whole group is a herd, whatever its shape:
// the writes of a warm-up may speed up towards its end.
func TestFindBurstsSkewed(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	rising := func(n int, width time.Duration) (s shot) {
		for range n {
			s.left = append(s.left, 500+width.Seconds()*max(r.Float64(), r.Float64()))
		}
		return s
	}
	for name, s := range map[string]shot{
		"two instants":     {left: append(repeat(500, 1), repeat(500.001, 999)...)},
		"5,000 keys, 20 s": rising(5000, 20*time.Second),
		"100 keys, 5 s":    rising(100, 5*time.Second),
	} {
		got := FindBursts(s.bins(), shotNow, ExpiryOptions{})
		if len(got.Bursts) != 1 || got.Bursts[0].Keys < uint64(len(s.left)*9/10) {
			t.Errorf("%s: %+v, want one burst of nearly all %d keys", name, got.Bursts, len(s.left))
		}
	}
}

func repeat(left float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = left
	}
	return out
}
