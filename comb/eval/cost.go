package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/eval/synth"
)

// load is a series whose cost is measured.
type load struct {
	name           string
	bin            time.Duration
	span, rate     float64 // seconds, events a second
	period, events float64 // of a comb, 0 for none
}

const (
	hour = 3600.0
	day  = 24 * hour
)

var loads = []load{
	{"1 h, quiet", comb.FineBin, hour, 0.1, 0, 0},
	{"1 h, comb of 1 min", comb.FineBin, hour, 1, 60, 50},
	{"1 day, quiet", time.Second, day, 0.1, 0, 0},
	{"1 day, busy", time.Second, day, 5, 0, 0},
	{"1 day, comb of 5 min", time.Second, day, 1, 300, 100},
	{"1 day, comb of 5 min, 1 µs", comb.FineBin, day, 1, 300, 100},
	{"1 day, 1 M events, comb of 5 min, 1 µs", comb.FineBin, day, 11, 300, 170},
	{"30 days, quiet", time.Second, 30 * day, 0.01, 0, 0},
	{"30 days, 2 M events", time.Second, 30 * day, 0.77, 0, 0},
	{"30 days, 2 M events, comb of 1 h", time.Second, 30 * day, 0.7, hour, 250},
	{"30 days, 2 M events, comb of 1 min", time.Second, 30 * day, 0.5, 60, 16},
}

// cost is the time and memory of one Detect call by the length of the series; the best of three.
func cost(ctx context.Context, _ settings) (string, error) {
	var b strings.Builder
	b.WriteString("| series | events | non-empty bins | combs | time, ms | allocated, MB |\n|---|---|---|---|---|---|\n")
	for _, l := range loads {
		r := synth.Rand(1)
		at := synth.Poisson(r, l.span, l.rate)
		if l.period > 0 {
			at = append(at, synth.Teeth(r, l.span, 100, l.period, 1, int(l.events), 0.05)...)
		}
		start := time.Unix(1_700_000_000, 0)
		s := comb.NewSeries(l.bin)
		for _, t := range at {
			s.Add(start.UnixNano()+int64(t*1e9), 1)
		}
		o := comb.Options{From: start, To: start.Add(time.Duration(l.span * 1e9))}
		s.Total()
		best, combs, bytes := time.Duration(1<<62), 0, uint64(0)
		for range 3 {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			from := time.Now()
			combs = len(comb.Detect(s, o).Combs)
			best = min(best, time.Since(from))
			runtime.ReadMemStats(&after)
			bytes = after.TotalAlloc - before.TotalAlloc
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f | %.1f |\n", l.name, len(at), s.Len(), combs, best.Seconds()*1e3, float64(bytes)/1e6)
	}
	return b.String(), nil
}
