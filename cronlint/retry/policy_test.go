package retry

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestClippedFrom compares the formula with waits worked out one by one.
func TestClippedFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Policy{
			Shape: rapid.SampledFrom([]Shape{Fixed, Exponential}).Draw(t, "shape"), Jitter: Jittered, Clipped: true,
			Delay:      time.Duration(rapid.IntRange(1, 5000).Draw(t, "delay")) * time.Millisecond,
			Max:        time.Duration(rapid.IntRange(1, 60_000).Draw(t, "max")) * time.Millisecond,
			Multiplier: float64(rapid.IntRange(10, 40).Draw(t, "multiplier")) / 10,
			JitterLow:  float64(rapid.IntRange(1, 10).Draw(t, "low")) / 10,
			Attempts:   rapid.IntRange(2, 30).Draw(t, "attempts"),
		}
		want, found := 0, false
		least := float64(p.Delay) * p.JitterLow
		for retry := 1; retry < p.Attempts; retry++ {
			if least >= float64(p.Max)*(1-1e-12) {
				want, found = retry, true
				break
			}
			if p.Shape == Exponential {
				least *= p.Multiplier
			}
		}
		if got, ok := p.ClippedFrom(); ok != found || ok && got != want {
			t.Fatalf("%+v: from retry %d (%v), want %d (%v)", p, got, ok, want, found)
		}
	})
}

func TestWaits(t *testing.T) {
	tests := []struct {
		p    Policy
		want string
	}{
		{Policy{Shape: Fixed, Delay: 90 * time.Second}, "1m30s"},
		{Policy{Shape: Fixed, Delay: 2 * time.Hour}, "2h"},
		{Policy{Shape: Exponential, Delay: time.Second, Multiplier: 2, Attempts: 3}, "1s, 2s"},
		{Policy{Shape: Exponential, Delay: time.Second, Multiplier: 3, Max: 5 * time.Second}, "1s, 3s, 5s, ..."},
		{Policy{Shape: Exponential, Delay: 1 << 61, Multiplier: 1e9, Attempts: 9}, "640511h56m49.21369s, ..."},
		{Policy{Shape: Exponential}, "the same waits"},
	}
	for _, tt := range tests {
		if got := tt.p.waits(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}
