package comb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// A shot is one simulated snapshot: remaining times in seconds, and the bursts
// planted in it.
type shot struct {
	left   []float64
	bursts []planted
}

type planted struct {
	from, to float64
	keys     int
}

const shotNow = int64(1_800_000_000_000)

func (s shot) bins() []ExpiryBin {
	ms := make([]int64, len(s.left))
	for i, r := range s.left {
		ms[i] = shotNow + int64(r*1000)
	}
	slices.Sort(ms)
	var bins []ExpiryBin
	for _, t := range ms {
		if n := len(bins); n > 0 && bins[n-1].At == t {
			bins[n-1].Count++
			continue
		}
		bins = append(bins, ExpiryBin{t, 1})
	}
	return bins
}

// steady returns n keys written at a steady rate with one TTL.
func (s *shot) steady(r *rand.Rand, n int, ttl float64) {
	for range n {
		s.left = append(s.left, r.Float64()*ttl)
	}
}

// jittered returns n keys in the steady state of TTL (1 ± x).
func (s *shot) jittered(r *rand.Rand, n int, ttl, x float64) {
	for n > 0 {
		life := ttl * (1 + x*(2*r.Float64()-1))
		if age := r.Float64() * ttl * (1 + x); age < life {
			s.left = append(s.left, life-age)
			n--
		}
	}
}

// burst plants a herd of n keys in a width somewhere within the TTL.
func (s *shot) burst(r *rand.Rand, n int, width, ttl float64) {
	at := ttl*0.05 + r.Float64()*(ttl*0.9-width)
	s.bursts = append(s.bursts, planted{at, at + width, n})
	for range n {
		s.left = append(s.left, at+r.Float64()*width)
	}
}

// add adds another snapshot, later by a time.
func (s *shot) add(other shot, later float64) {
	for _, r := range other.left {
		s.left = append(s.left, r+later)
	}
	for _, b := range other.bursts {
		s.bursts = append(s.bursts, planted{b.from + later, b.to + later, b.keys})
	}
}

// batches returns about n keys written in batches of lo to hi at a time.
func (s *shot) batches(r *rand.Rand, n, lo, hi int, ttl float64) {
	for n > 0 {
		t := r.Float64() * ttl
		for range lo + r.IntN(hi-lo+1) {
			s.left = append(s.left, min(ttl, max(0, t+0.05*r.Float64())))
			n--
		}
	}
}

// hawkes returns self-exciting births: each key brings Poisson(branch) others
// within an exponential delay.
func (s *shot) hawkes(r *rand.Rand, n int, branch, delay, ttl float64) {
	var queue []float64
	for len(s.left) < n {
		if len(queue) == 0 {
			queue = append(queue, r.Float64()*ttl)
		}
		t := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if t < ttl {
			s.left = append(s.left, t)
		}
		for range poisson(r, branch) {
			queue = append(queue, t+r.ExpFloat64()*delay)
		}
	}
}

func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for t := r.ExpFloat64(); t < mean; t += r.ExpFloat64() {
		n++
	}
	return n
}

// diurnal returns births whose rate follows the day.
func (s *shot) diurnal(r *rand.Rand, n int, ttl float64) {
	for n > 0 {
		t := r.Float64() * ttl
		if r.Float64()*1.8 < 1+0.8*math.Sin(2*math.Pi*t/86400) {
			s.left = append(s.left, t)
			n--
		}
	}
}

var herdShots = []struct {
	name   string
	recall float64 // smallest share of planted bursts to be found
	make   func(r *rand.Rand, s *shot)
}{
	{"as many as the background", 0.99, func(r *rand.Rand, s *shot) { s.steady(r, 2500, 3600); s.burst(r, 2500, 1+29*r.Float64(), 3600) }},
	{"30 % in 1-30 s", 0.99, func(r *rand.Rand, s *shot) { s.steady(r, 1400, 3600); s.burst(r, 600, 1+29*r.Float64(), 3600) }},
	{"10 % in 1-20 s", 0.99, func(r *rand.Rand, s *shot) { s.steady(r, 1800, 3600); s.burst(r, 200, 1+19*r.Float64(), 3600) }},
	{"5 % in 1-10 s", 0.95, func(r *rand.Rand, s *shot) { s.steady(r, 1900, 3600); s.burst(r, 100, 1+9*r.Float64(), 3600) }},
	{"2 % of 20k in 1-10 s", 0.80, func(r *rand.Rand, s *shot) { s.steady(r, 19600, 3600); s.burst(r, 400, 1+9*r.Float64(), 3600) }},
	{"herd alone", 0.95, func(r *rand.Rand, s *shot) { s.burst(r, 1000, 1+29*r.Float64(), 3600) }},
	{"three herds", 0.97, func(r *rand.Rand, s *shot) {
		s.steady(r, 3000, 3600)
		for i := range 3 {
			var third shot
			third.burst(r, 200+r.IntN(600), 1+9*r.Float64(), 1200)
			s.add(third, float64(i)*1200)
		}
	}},
	{"300 among batches", 0.97, func(r *rand.Rand, s *shot) { s.batches(r, 3000, 5, 25, 3600); s.burst(r, 300, 1+9*r.Float64(), 3600) }},
	{"500 among jittered", 0.99, func(r *rand.Rand, s *shot) { s.jittered(r, 3000, 3600, 0.1); s.burst(r, 500, 1+9*r.Float64(), 3600) }},
	{"small herd alone", 0.95, func(r *rand.Rand, s *shot) {
		var late shot
		late.burst(r, 25, 3, 20)
		s.add(late, 10)
	}},
	{"24 hourly teeth", 0.99, func(r *rand.Rand, s *shot) {
		for i := range 24 {
			var tooth shot
			tooth.burst(r, 100, 5, 6)
			s.add(tooth, float64(i)*3600+1800)
		}
	}},
	{"a tooth a minute", 0.99, func(r *rand.Rand, s *shot) {
		s.steady(r, 2000, 3600)
		for i := range 60 {
			var tooth shot
			tooth.burst(r, 40, 2, 4)
			s.add(tooth, float64(i)*60)
		}
	}},
	{"small herd among few", 0.9, func(r *rand.Rand, s *shot) { s.steady(r, 30, 600); s.burst(r, 40, 5, 600) }},
}

var quietShots = []struct {
	name   string
	alarms float64 // largest share of snapshots with a burst
	make   func(r *rand.Rand, s *shot)
}{
	{"steady 30", 0.01, func(r *rand.Rand, s *shot) { s.steady(r, 30, 600) }},
	{"steady 150", 0.01, func(r *rand.Rand, s *shot) { s.steady(r, 150, 600) }},
	{"steady 300", 0.01, func(r *rand.Rand, s *shot) { s.steady(r, 300, 600) }},
	{"steady 20k", 0.01, func(r *rand.Rand, s *shot) { s.steady(r, 20000, 3600) }},
	{"jitter 15 %", 0.01, func(r *rand.Rand, s *shot) { s.jittered(r, 3000, 3600, 0.15) }},
	{"jitter 50 %, few", 0.01, func(r *rand.Rand, s *shot) { s.jittered(r, 27, 30, 0.5) }},
	{"batches", 0.01, func(r *rand.Rand, s *shot) { s.batches(r, 5000, 5, 25, 3600) }},
	{"diurnal", 0.01, func(r *rand.Rand, s *shot) { s.diurnal(r, 20000, 86400) }},
	{"hawkes", 0.04, func(r *rand.Rand, s *shot) { s.hawkes(r, 3000, 0.7, 3, 3600) }},
	{"hawkes, slow", 0.04, func(r *rand.Rand, s *shot) { s.hawkes(r, 3000, 0.7, 10, 3600) }},
	{"hawkes 0.8", 0.07, func(r *rand.Rand, s *shot) { s.hawkes(r, 5000, 0.8, 1, 3600) }},
	{"two TTLs", 0.01, func(r *rand.Rand, s *shot) { s.steady(r, 1500, 300); s.steady(r, 1500, 3600) }},
	{"two TTLs, few", 0.01, func(r *rand.Rand, s *shot) { s.steady(r, 25, 30); s.steady(r, 25, 300) }},
	{"sliding", 0.01, func(r *rand.Rand, s *shot) {
		for range 2000 {
			s.left = append(s.left, max(0, 1800-r.ExpFloat64()*120))
		}
	}},
}

// TestFindBursts checks the share of planted herds that are found and the
// share of healthy snapshots that raise an alarm.
func TestFindBursts(t *testing.T) {
	shots := 30
	if os.Getenv("HERDSCAN_EVAL") != "" {
		shots = 300
	}
	for _, c := range herdShots {
		t.Run("herd/"+c.name, func(t *testing.T) {
			hits, total, extra, keysOff := 0, 0, 0, 0.0
			for i := range shots {
				r := rand.New(rand.NewPCG(uint64(i), 5001))
				var s shot
				c.make(r, &s)
				e := FindBursts(s.bins(), shotNow, ExpiryOptions{})
				extra += len(e.Bursts)
				for _, p := range s.bursts {
					total++
					if b, ok := p.foundIn(e.Bursts); ok {
						hits++
						extra--
						keysOff += math.Abs(float64(b.Keys)-b.Baseline-float64(p.keys)) / float64(p.keys)
					}
				}
			}
			recall := float64(hits) / float64(total)
			t.Logf("recall %.3f of %d, %d other bursts, keys off by %.1f %%", recall, total, extra, 100*keysOff/float64(max(hits, 1)))
			if recall < c.recall {
				t.Errorf("recall %.3f, want at least %.2f", recall, c.recall)
			}
			if limit := shots / 20; extra > limit {
				t.Errorf("%d bursts that were not planted, want at most %d", extra, limit)
			}
		})
	}
	for _, c := range quietShots {
		t.Run("quiet/"+c.name, func(t *testing.T) {
			alarms, example := 0, ""
			for i := range shots {
				r := rand.New(rand.NewPCG(uint64(i), 7001))
				var s shot
				c.make(r, &s)
				if e := FindBursts(s.bins(), shotNow, ExpiryOptions{}); len(e.Bursts) > 0 {
					alarms++
					example = fmt.Sprintf("%+v phi %.1f", e.Bursts[0], e.Dispersion)
				}
			}
			share := float64(alarms) / float64(shots)
			t.Logf("alarms %.3f %s", share, example)
			if share > c.alarms {
				t.Errorf("%.3f of the snapshots raise an alarm, want at most %.2f: %s", share, c.alarms, example)
			}
		})
	}
}

func (p planted) foundIn(bursts []Burst) (Burst, bool) {
	for _, b := range bursts {
		from, to := float64(b.From-shotNow)/1000, float64(b.To-shotNow)/1000
		if from <= p.to && to >= p.from {
			return b, true
		}
	}
	return Burst{}, false
}

// TestNewestToothOfAnyShape writes three equal teeth through one pipeline each: within milliseconds, slowly at first.
// The newest is a tooth like the others, though its keys thin out below the longest remaining time.
func TestNewestToothOfAnyShape(t *testing.T) {
	const now, spacing = 1_800_000_000_000, 300_000
	for _, c := range []struct {
		name   string
		counts []uint64 // of the milliseconds of a tooth
	}{
		{"1,000 keys in 4 ms", []uint64{12, 234, 421, 333}},
		{"100 keys in 4 ms", []uint64{6, 14, 37, 43}},
		{"20,000 keys in 200 ms", ramp(20_000, 200)},
	} {
		var bins []ExpiryBin
		for tooth := range int64(3) {
			for i, n := range c.counts {
				bins = append(bins, ExpiryBin{At: now + 1_799_474 + tooth*spacing + int64(i), Count: n})
			}
		}
		e := FindBursts(bins, now, ExpiryOptions{})
		if len(e.Bursts) != 3 || !e.Bursts[len(e.Bursts)-1].Newest {
			t.Errorf("%s: %d of 3 teeth found: %+v", c.name, len(e.Bursts), e.Bursts)
		}
	}
}

// ramp spreads about n keys over some bins, with counts that grow from none.
func ramp(n, bins int) []uint64 {
	counts := make([]uint64, bins)
	for i := range counts {
		counts[i] = uint64(2 * n * (i + 1) / (bins * (bins + 1)))
	}
	return counts
}
