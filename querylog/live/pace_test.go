package live

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name  string
		costs []time.Duration
		next  []time.Duration // after the start
	}{
		{"quick looks keep the interval", []time.Duration{ms, 2 * ms, 10 * ms}, []time.Duration{100 * ms, 200 * ms, 300 * ms}},
		{"a slow look is paid off", []time.Duration{ms, 50 * ms, ms}, []time.Duration{100 * ms, 600 * ms, 700 * ms}},
		{"looks longer than the interval", []time.Duration{200 * ms, 300 * ms}, []time.Duration{2000 * ms, 5000 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := pace{every: 100 * ms, share: 0.1}
			now := start
			for i, cost := range tt.costs {
				if !p.due(now) {
					t.Fatalf("look %d is not due", i)
				}
				p.took(now, now.Add(cost))
				if got := p.next.Sub(start); got != tt.next[i] {
					t.Errorf("look %d: next after %v, want %v", i, got, tt.next[i])
				}
				if p.due(p.next.Add(-1)) {
					t.Errorf("look %d: due too early", i)
				}
				now = p.next
			}
			if total := now.Sub(start); float64(p.spent) > p.share*float64(total) {
				t.Errorf("looking took %v of %v", p.spent, total)
			}
		})
	}
}

// TestNextLook wants both clocks to go, whether or not anything counts.
func TestNextLook(t *testing.T) {
	now := time.Now()
	for _, counting := range []bool{false, true} {
		r := &recording{w: &sampler{counting: counting}, counts: pace{next: now.Add(time.Second)}, list: pace{next: now.Add(time.Millisecond)}}
		if got := r.nextLook(); got != r.list.next {
			t.Errorf("counting %v: the next look is in %v", counting, got.Sub(now))
		}
		r.list.next = now.Add(time.Minute)
		if got := r.nextLook(); got != r.counts.next {
			t.Errorf("counting %v: the next look is in %v", counting, got.Sub(now))
		}
	}
}
