package comb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// near checks a figure against a prediction of it.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	t.Logf("%s: simulated %.2f, predicted %.2f", what, got, want)
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: simulated %.2f, predicted %.2f: off by more than %.0f %%", what, got, want, 100*tolerance)
	}
}

// TestPredictAgainstChance compares the busiest second with that of many
// drawn waves.
func TestPredictAgainstChance(t *testing.T) {
	for _, c := range []struct {
		keys, ttl, width float64
		jitter           Jitter
		generation       int
	}{
		{5000, 3600, 5, Jitter{Fraction: 0.01}, 1},
		{5000, 3600, 5, Jitter{Fraction: 0.15}, 1},
		{5000, 3600, 5, Jitter{Fraction: 0.15}, 2},
		{5000, 3600, 60, Jitter{Fraction: 0.05}, 2},
		{20000, 600, 5, Jitter{Fraction: 0.15}, 1},
		{20000, 600, 5, Jitter{Fraction: 0.15}, 3},
		{20000, 600, 5, Jitter{Fraction: 0.3, OneSided: true}, 1},
		{20000, 600, 5, Jitter{}, 1},
	} {
		w := Wave{Keys: c.keys, Width: fromSeconds(c.width), TTL: fromSeconds(c.ttl)}
		got := drawnBusiest(w, c.jitter, c.generation)
		want := Predict(w, c.jitter, c.generation)
		near(t, "busiest second", got, want.PeakAfter, 0.15)
		if c.jitter.Fraction == 0 && want.PeakBefore != want.PeakAfter {
			t.Errorf("no jitter changes %v to %v", want.PeakBefore, want.PeakAfter)
		}
	}
}

func fromSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// drawnBusiest is the mean busiest second of drawn waves.
func drawnBusiest(w Wave, j Jitter, generation int) float64 {
	const waves = 12
	r := rand.New(rand.NewPCG(4, 5))
	shortest, longest := j.Range(w.TTL)
	total := 0.0
	for range waves {
		var times []time.Duration
		for range int(w.Keys) {
			at := r.Float64() * w.Width.Seconds()
			for range generation {
				at += shortest.Seconds() + r.Float64()*(longest-shortest).Seconds()
			}
			times = append(times, fromSeconds(at))
		}
		slices.Sort(times)
		total += float64(Simulation{Queries: times}.Busiest(0, 1<<62))
	}
	return total / waves
}

func TestSmallestJitter(t *testing.T) {
	for _, c := range []struct {
		keys, ttl, width, target float64
		ok                       bool
	}{
		{5000, 3600, 5, 100, true},
		{5000, 3600, 5, 20, true},
		{5000, 3600, 5, 3, false},
		{20000, 600, 5, 200, true},
		{20000, 600, 5, 20, false},
		{300, 300, 2, 20, true},
		{100, 300, 60, 50, true},
	} {
		w := Wave{Keys: c.keys, Width: fromSeconds(c.width), TTL: fromSeconds(c.ttl)}
		for _, oneSided := range []bool{false, true} {
			j, ok := SmallestJitter(w, c.target, oneSided)
			if ok != c.ok {
				t.Errorf("%+v one-sided %v: possible %v, want %v", c, oneSided, ok, c.ok)
			}
			if !ok || j.Fraction == 0 {
				continue
			}
			near(t, "busiest second for the target", drawnBusiest(w, j, 1), c.target, 0.15)
		}
	}
	if _, ok := SmallestJitter(Wave{Keys: 10}, 5, false); ok {
		t.Error("a jitter of an unknown TTL is no answer")
	}
}

func TestHumanDurations(t *testing.T) {
	all := HumanDurations()
	for i := 1; i < len(all); i++ {
		if all[i] <= all[i-1] {
			t.Errorf("%v follows %v", all[i], all[i-1])
		}
	}
	for d, want := range map[time.Duration]time.Duration{
		0: time.Second, 59 * time.Second: time.Minute, time.Minute: time.Minute,
		3599*time.Second + time.Millisecond: time.Hour, 100 * 365 * 24 * time.Hour: 0,
	} {
		if got := NextHuman(d); got != want {
			t.Errorf("NextHuman(%v) = %v, want %v", d, got, want)
		}
	}
	for d, want := range map[time.Duration]time.Duration{
		61 * time.Second: time.Minute, 58 * time.Second: time.Minute, 3700 * time.Second: time.Hour,
		time.Millisecond: time.Second, 100 * 365 * 24 * time.Hour: 10 * 365 * 24 * time.Hour,
	} {
		if got, off := NearestHuman(d); got != want || off != d-want {
			t.Errorf("NearestHuman(%v) = %v, %v, want %v", d, got, off, want)
		}
	}
}
