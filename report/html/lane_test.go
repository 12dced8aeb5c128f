package html

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/herdscan/herdscan/report"
)

func laneGen(t *rapid.T) lane {
	l := lane{kind: "queries", unit: "queries/s", step: rapid.SampledFrom([]float64{1000, 5000, 60000}).Draw(t, "step")}
	at := int64(0)
	for range rapid.IntRange(1, 300).Draw(t, "values") {
		at += rapid.Int64Range(1, 400).Draw(t, "gap")
		l.at, l.n = append(l.at, at), append(l.n, float64(rapid.IntRange(1, 1000).Draw(t, "n")))
	}
	return l
}

// Each value is under a bar that is as high, and each bar is as high as a
// value under it: columns are reduced by maximum, whatever their width.
func TestBarsAreMaxima(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := laneGen(t)
		span := float64(l.at[len(l.at)-1]+1) * l.step * rapid.Float64Range(1, 3).Draw(t, "span")
		bars := l.bars(span)
		reached := make([]bool, len(bars))
		for i, at := range l.at {
			x := float64(at) * l.step / span * viewWidth
			found := false
			for j, b := range bars {
				if x >= b.from-1e-6 && x < b.to+1e-6 && b.n >= l.n[i] {
					found = true
					reached[j] = reached[j] || b.n == l.n[i]
				}
			}
			if !found {
				t.Fatalf("value %v at step %d is under no bar", l.n[i], at)
			}
		}
		if i := slices.Index(reached, false); i >= 0 {
			t.Fatalf("bar %+v is higher than its values", bars[i])
		}
	})
}

func TestThinnedKeepsPeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := laneGen(t)
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		thin := l.thinned(limit)
		if len(thin.at) > limit && len(l.at) > limit {
			t.Fatalf("%d values, want at most %d", len(thin.at), limit)
		}
		before, _ := l.peak()
		after, _ := thin.peak()
		if before != after {
			t.Fatalf("peak %v became %v", before, after)
		}
		for i, at := range l.at {
			j := slices.Index(thin.at, int64(float64(at)*l.step/thin.step))
			if j < 0 || thin.n[j] < l.n[i] {
				t.Fatalf("value %v at step %d is lost", l.n[i], at)
			}
		}
	})
}

// A tooth of one second in 30 days is drawn at its full height.
func TestOneSecondInAMonth(t *testing.T) {
	l := lane{kind: "queries", step: 1000, at: []int64{1234567}, n: []float64{911}}
	bars := l.bars(30 * day)
	if len(bars) != 1 || bars[0].n != 911 || bars[0].to-bars[0].from < 1 {
		t.Errorf("bars %+v", bars)
	}
	if got, want := path(bars, 911, 58), "M285 58V14H286V58"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
}

func TestTicks(t *testing.T) {
	from := time.Date(2026, 11, 3, 8, 20, 0, 0, time.UTC)
	labels := func(c chart) (all []string) {
		for _, tick := range c.Ticks() {
			all = append(all, tick.Label)
		}
		return all
	}
	for _, c := range []struct {
		name string
		c    chart
		want []string
	}{
		{"hours", chart{axis: clockAxis, from: from, span: 4 * 3600e3, zone: time.UTC}, []string{"09:00", "10:00", "11:00", "12:00"}},
		{"zone", chart{axis: clockAxis, from: from, span: 4 * 3600e3, zone: time.FixedZone("IST", 19800)}, []string{"14:00", "15:00", "16:00", "17:00"}},
		{"days", chart{axis: clockAxis, from: from, span: 30 * day, zone: time.UTC}, []string{"11-05", "11-12", "11-19", "11-26", "12-03"}},
		{"ahead", chart{axis: aheadAxis, from: from, span: 3600e3}, []string{"now", "+15m", "+30m", "+45m", "+60m"}},
		{"fold", chart{axis: offsetAxis, span: 600e3}, []string{"−4m", "−2m", "0", "+2m", "+4m"}},
		{"none", chart{axis: clockAxis}, nil},
	} {
		if got := labels(c.c); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The zone changes in the middle of this chart.
func TestOffsets(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	from := time.Date(2026, 10, 24, 0, 0, 0, 0, zone)
	got := offsets(from, from.AddDate(0, 0, 3), zone)
	if len(got) != 2 || got[0].Name != "CEST" || got[1].Name != "CET" || got[1].At != time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC).UnixMilli() {
		t.Errorf("offsets %+v", got)
	}
}

// Data that do not fit together make no chart, or a smaller one, and no panic.
func TestUnsoundData(t *testing.T) {
	at := sampleStart
	for _, tl := range []*report.Timeline{
		nil,
		{},
		{From: at, To: at},
		{From: at, To: at.Add(time.Hour)},
		{From: at, To: at.Add(time.Hour), Lanes: []report.Lane{{At: []int64{1, 2, 3}, N: []float64{1}}}},
		{From: at, To: at.Add(time.Hour), Lanes: []report.Lane{{At: []int64{-5, 7200}, N: []float64{1, math.MaxFloat64}, StepNS: 1e9}}},
		{From: at, To: at.Add(time.Hour), Lanes: []report.Lane{{Kind: "events", At: []int64{1}, StepNS: 1e9}}},
		{From: at, To: at.Add(time.Hour), Lanes: []report.Lane{{At: []int64{1, 2, 3}, N: []float64{math.NaN(), math.Inf(1), -1}, StepNS: 1e9}}},
	} {
		if c := timelineChart(tl, "t", maxPoints, report.Clock{}); c != nil {
			c.Ticks()
			c.Data()
		}
	}
	for _, c := range []*chart{
		graphChart(report.Graph{}, report.Clock{}), foldChart(&report.Fold{}, report.Clock{}), curveChart(&report.Curve{}, "c", report.Clock{}),
	} {
		if c != nil {
			t.Errorf("a chart of nothing: %+v", c)
		}
	}
}
