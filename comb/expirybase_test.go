package comb

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestFitBase(t *testing.T) {
	tests := []struct {
		name        string
		want        time.Duration
		right, none float64 // smallest share of right answers, largest share of wrong ones
		make        func(r *rand.Rand, s *shot)
	}{
		{"steady 300", time.Hour, 0.7, 0.03, func(r *rand.Rand, s *shot) { s.steady(r, 300, 3600) }},
		{"steady 20k", time.Hour, 0.97, 0.03, func(r *rand.Rand, s *shot) { s.steady(r, 20000, 3600) }},
		{"jitter 15 %", time.Hour, 0.9, 0.05, func(r *rand.Rand, s *shot) { s.jittered(r, 3000, 3600, 0.15) }},
		{"herd and background", 10 * time.Minute, 0.95, 0.03, func(r *rand.Rand, s *shot) { s.steady(r, 3000, 600); s.burst(r, 900, 5, 600) }},
		{"herd alone", 0, 1, 0, func(r *rand.Rand, s *shot) { s.burst(r, 1000, 10, 3600) }},
		{"few", 0, 1, 0, func(r *rand.Rand, s *shot) { s.steady(r, 15, 600) }},
	}
	const shots = 40
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			right, wrong := 0, 0
			for i := range shots {
				r := rand.New(rand.NewPCG(uint64(i), 9001))
				var s shot
				c.make(r, &s)
				bins := s.bins()
				f := FitBase(bins, shotNow, ExpiryOptions{}, FindBursts(bins, shotNow, ExpiryOptions{}))
				switch f.TTL {
				case c.want:
					right++
				case 0:
				default:
					wrong++
					t.Logf("%+v", f)
				}
			}
			t.Logf("right %d, wrong %d of %d", right, wrong, shots)
			if float64(right) < c.right*shots || float64(wrong) > c.none*shots {
				t.Errorf("right %d, wrong %d of %d", right, wrong, shots)
			}
		})
	}
}
