package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/eval/synth"
)

// traffic is a kind of traffic without a herd.
type traffic struct {
	name string
	draw func(r *rand.Rand, span float64) []float64
}

var traffics = []traffic{
	{"Poisson, 0.02 to 5/s", func(r *rand.Rand, span float64) []float64 {
		return synth.Poisson(r, span, 0.02*math.Pow(250, r.Float64()))
	}},
	{"Hawkes, branching 0.5 to 0.95", func(r *rand.Rand, span float64) []float64 {
		return synth.Hawkes(r, span, 0.05+0.1*r.Float64(), 0.5+0.45*r.Float64(), 0.2*math.Pow(100, r.Float64()))
	}},
	{"batches of 10 to 60", func(r *rand.Rand, span float64) []float64 {
		return synth.Batches(r, span, 0.003*math.Pow(30, r.Float64()), 10+50*r.Float64(), 0.5)
	}},
	{"diurnal, up to 0.1 to 6/s", func(r *rand.Rand, span float64) []float64 {
		return synth.Diurnal(r, span, 0.1*math.Pow(60, r.Float64()), 0.95)
	}},
}

var levels = []float64{1e-2, 1e-3, 1e-4, 1e-6}

// calibration is the share of series without a herd whose smallest p is below each level.
func calibration(ctx context.Context, s settings) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d series, logs of 1 h, 6 h and 24 h, stamps of 1 s and of 1 µs.\n\n| traffic | series |", s.null)
	for _, p := range levels {
		fmt.Fprintf(&b, " p < %g |", p)
	}
	b.WriteString(" one-offs |\n|---|---|" + strings.Repeat("---|", len(levels)+1) + "\n")
	each := s.null / len(traffics)
	for k, kind := range traffics {
		least, oneOffs, err := nulls(ctx, kind, each, s.seed+uint64(k)*1_000_000)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %d |", kind.name, each)
		for _, p := range levels {
			n := 0
			for _, v := range least {
				if v < math.Log10(p) {
					n++
				}
			}
			fmt.Fprintf(&b, " %.4f |", float64(n)/float64(each))
		}
		fmt.Fprintf(&b, " %.4f |\n", float64(oneOffs)/float64(each))
	}
	return b.String(), nil
}

// nulls returns the smallest log10 p of a comb in each series, and how many series have a one-off.
func nulls(ctx context.Context, kind traffic, n int, seed uint64) (least []float64, oneOffs int, err error) {
	least = make([]float64, n)
	spiky := make([]bool, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				least[i], spiky[i] = nullSeries(kind, seed+uint64(i), i)
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, yes := range spiky {
		if yes {
			oneOffs++
		}
	}
	return least, oneOffs, ctx.Err()
}

func nullSeries(kind traffic, seed uint64, i int) (least float64, spiky bool) {
	span := []float64{3600, 6 * 3600, 24 * 3600}[i%3]
	bin := []time.Duration{time.Second, comb.FineBin}[i%2]
	start := time.Unix(1_700_000_000+int64(seed%100_000), 0)
	s := comb.NewSeries(bin)
	for _, t := range kind.draw(synth.Rand(seed), span) {
		s.Add(start.UnixNano()+int64(t*1e9), 1)
	}
	r := comb.Detect(s, comb.Options{From: start, To: start.Add(time.Duration(span * 1e9))})
	for _, c := range r.Combs {
		least = min(least, c.LogP)
	}
	return least, len(r.Spikes) > 0
}
