package comb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomGrid has bins of a mean rate, a share of them much taller.
func randomGrid(r *rand.Rand, bins int, mean, tall float64) *grid {
	g := &grid{w: 1, n: int32(bins)}
	for x := range int32(bins) {
		c := 0.0
		for p := r.ExpFloat64(); p < mean; p += r.ExpFloat64() {
			c++
		}
		if r.Float64() < tall {
			c += float64(r.IntN(3 + int(5*mean)))
		}
		if c > 0 {
			g.push(x, c)
		}
	}
	return g
}

// plainPeaks looks at each bin.
func plainPeaks(g *grid, c []float64) []peak {
	upTo := make([]float64, len(c)+1)
	sums(c, upTo)
	v := newAround()
	var out []peak
	for i := range g.x {
		lam := v.background(g, upTo, i)
		if l := llr(g.c[i], lam); g.c[i]-lam >= minExcess && l > laxLLR {
			out = append(out, peak{i, lam, l})
		}
	}
	return out
}

// TestPeaksOfBlocks holds the peaks found by blocks against those of a look at
// each bin, before and after the tall ones are hushed.
func TestPeaksOfBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for _, mean := range []float64{0.01, 0.1, 0.5, 1, 3, 10, 100} {
		for _, tall := range []float64{0, 0.003, 0.05, 0.5} {
			for _, bins := range []int{1, 20, 500, 4000} {
				g := randomGrid(r, bins, mean, tall)
				var m workshop
				m.findBursts(g, g, 0)
				want := plainPeaks(g, g.c)
				quiet := slices.Clone(g.c)
				for _, p := range want {
					if p.llr > strongLLR {
						quiet[p.i] = p.lam
					}
				}
				want = plainPeaks(g, quiet)
				found += len(want)
				near := func(a, b peak) bool {
					return a.i == b.i && math.Abs(a.lam-b.lam) < 1e-9 && math.Abs(a.llr-b.llr) < 1e-6
				}
				if !slices.EqualFunc(m.peaks, want, near) {
					t.Fatalf("mean %v, %v tall, %d bins: %v, want %v", mean, tall, bins, m.peaks, want)
				}
			}
		}
	}
	if found < 1000 {
		t.Fatalf("%d peaks: the grids test nothing", found)
	}
}

// TestMayStandOut checks that the quick test refuses no count that stands out.
func TestMayStandOut(t *testing.T) {
	for lam := 0.001; lam < 2000; lam *= 1.07 {
		for c := lam + minExcess; c < 20*(lam+10); c += 0.25 + lam/50 {
			if llr(c, lam) > laxLLR && !mayStandOut(c, lam) {
				t.Fatalf("%v over %v is refused with a log likelihood ratio of %v", c, lam, llr(c, lam))
			}
		}
	}
}

// TestLongestPeriod checks that no chain with a longer period scores as much.
func TestLongestPeriod(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var f follower
	scored := 0
	for range 400 {
		period, level := 20+r.Float64()*2000, r.IntN(3)
		l := list{level: level, w: math.Ldexp(1, level)}
		for k := range 3 + r.IntN(12) {
			l.at = append(l.at, period*float64(k)+r.NormFloat64()*0.2)
		}
		for range r.IntN(10) {
			l.at = append(l.at, r.Float64()*l.at[2])
		}
		slices.Sort(l.at)
		_, score := f.follow(l, period, func(float64) bool { return false })
		if score <= 0 {
			continue
		}
		scored++
		if longest := l.longest(score); period > longest {
			t.Fatalf("a chain of %v scores %v, but %v is said to be the longest: %v", period, score, longest, l.at)
		}
	}
	if scored < 300 {
		t.Fatalf("%d chains: the lists test nothing", scored)
	}
}

// TestNearestWall compares with a look at each period.
func TestNearestWall(t *testing.T) {
	for p := 0.01; p < 1e8; p *= 1.003 {
		want := wallPeriods[0]
		for _, h := range wallPeriods {
			if math.Abs(math.Log(p/h)) < math.Abs(math.Log(p/want)) {
				want = h
			}
		}
		if got := nearestWall(p); got != want {
			t.Fatalf("nearest to %v: %v, want %v", p, got, want)
		}
	}
}

// TestRanked compares with sorting.
func TestRanked(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 1; n < 60; n++ {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(r.IntN(20))
		}
		sorted := slices.Sorted(slices.Values(v))
		for k := range v {
			if got := ranked(slices.Clone(v), k); got != sorted[k] {
				t.Fatalf("place %d of %v: %v, want %v", k, v, got, sorted[k])
			}
		}
	}
}
