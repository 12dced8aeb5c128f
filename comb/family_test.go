package comb

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/eval/synth"
)

// TestDetectFamilies puts one cron herd over three series, a TTL herd over
// two, followers and unrelated traffic together.
func TestDetectFamilies(t *testing.T) {
	span := 21600.0
	poisson := func(seed uint64, rate float64) []float64 { return synth.Poisson(synth.Rand(seed), span, rate) }
	cron := func(seed uint64, events int) []float64 {
		return synth.Teeth(synth.Rand(seed), span, 120, 300, 0.8, events, 0)
	}
	ttl := func(seed uint64, events int) []float64 {
		return synth.Teeth(synth.Rand(seed), span, 77, 601.3, 0.8, events, 0.05)
	}
	series := []Named{
		{Name: "stock", Series: seriesOf(FineBin, cron(1, 40), poisson(1, 0.1))},
		{Name: "BEGIN", Series: seriesOf(FineBin, cron(2, 10), ttl(2, 10), poisson(2, 0.2)), Follower: true},
		{Name: "digest", Series: seriesOf(FineBin, cron(3, 25), poisson(3, 0.1))},
		{Name: "page", Series: seriesOf(FineBin, ttl(4, 60), poisson(4, 0.3))},
		{Name: "rollup", Series: seriesOf(FineBin, cron(5, 12))},
		{Name: "facets", Series: seriesOf(FineBin, ttl(6, 30), poisson(6, 0.1))},
		{Name: "cart", Series: seriesOf(FineBin, poisson(7, 0.5))},
		{Name: "once", Series: seriesOf(FineBin, synth.Teeth(synth.Rand(8), span, 120.2, 3600, 0.1, 2, 0))}, // 12 events: too few alone
	}
	each, families := DetectFamilies(series, over(span))
	if len(each) != len(series) || each[7].Need == 0 {
		t.Errorf("%d results; the last: %+v", len(each), each[7])
	}
	if len(families) != 2 {
		t.Fatalf("%d families, want 2: %+v", len(families), families)
	}
	for _, f := range families {
		var names []string
		for _, m := range f.Members {
			names = append(names, m.Name)
		}
		want := []string{"stock", "digest", "rollup", "once", "BEGIN"}
		if f.Comb.Lock == Drifting {
			want = []string{"page", "facets", "BEGIN"}
		}
		if !slices.Equal(names, want) {
			t.Errorf("period %v: members %v, want %v", f.Comb.Period, names, want)
		}
	}
	againEach, again := DetectFamilies(series, over(span))
	if !reflect.DeepEqual(again, families) || !reflect.DeepEqual(againEach, each) {
		t.Error("another answer at the second call")
	}
}

// TestDetectFamiliesWeak finds a herd of which each series shows only a few events.
func TestDetectFamiliesWeak(t *testing.T) {
	span := 21600.0
	var series []Named
	for i := range uint64(40) {
		r := synth.Rand(i)
		at := synth.Poisson(r, span, 0.002)
		for tooth := 60.0; tooth < span; tooth += 900 {
			if r.Float64() < 0.5 {
				at = append(at, tooth+r.Float64())
			}
		}
		series = append(series, Named{Name: fmt.Sprint("q", i), Series: seriesOf(time.Second, at)})
	}
	each, families := DetectFamilies(series, over(span))
	for i, r := range each {
		if len(r.Combs) > 0 {
			t.Errorf("series %d has a comb of its own", i)
		}
	}
	if len(families) != 1 || (families[0].Comb.Period-900*time.Second).Abs() > time.Second {
		t.Fatalf("want one family of 15 min: %+v", families)
	}
	if n := len(families[0].Members); n == 0 {
		t.Error("no members")
	}
}

// TestFollowersFoundNoFamily has a comb in a follower alone.
func TestFollowersFoundNoFamily(t *testing.T) {
	s := seriesOf(FineBin, synth.Teeth(synth.Rand(1), 21600, 60, 300, 1, 30, 0))
	each, families := DetectFamilies([]Named{{Name: "COMMIT", Series: s, Follower: true}, {Name: "again", Series: NewSeries(FineBin)}}, over(21600))
	if len(families) != 0 || len(each[0].Combs) != 1 {
		t.Errorf("%d families, %d combs", len(families), len(each[0].Combs))
	}
	if _, families := DetectFamilies(nil, Options{}); families != nil {
		t.Error("a family of nothing")
	}
}

func TestSurges(t *testing.T) {
	span := 7200.0
	var series []Named
	for i := range uint64(6) {
		at := synth.Batches(synth.Rand(i), span, 0.02, 3, 1)
		if i < 4 {
			at = append(at, synth.Teeth(synth.Rand(i+50), 4001, 4000, 1e6, 0.6, 25, 0)...)
		}
		series = append(series, Named{Name: fmt.Sprint("q", i), Series: seriesOf(FineBin, at)})
	}
	each, _ := DetectFamilies(series, over(span))
	got := Surges(series, each, over(span))
	if len(got) != 1 || len(got[0].Members) < 3 || (got[0].At.Sub(epoch)-4000*time.Second).Abs() > 2*time.Second {
		t.Fatalf("want one surge of four series: %+v", got)
	}
	quiet := series[4:]
	each, _ = DetectFamilies(quiet, over(span))
	if got := Surges(quiet, each, over(span)); len(got) != 0 {
		t.Errorf("surges where there is none: %+v", got)
	}
}
