package comb

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/eval/synth"
)

func TestDetectCombs(t *testing.T) {
	tests := []struct {
		name   string
		bin    time.Duration
		span   float64
		period float64
		width  float64
		events int
		walk   float64
		first  float64
		rate   float64 // of the background
		lock   Lock
		harm   bool
	}{
		{name: "cron each 5 min on a quiet log", bin: time.Second, span: 86400, period: 300, width: 1, events: 60, first: 120, rate: 0.5, lock: WallClock, harm: true},
		{name: "TTL of 10 min rebuilt in 1.2 s", bin: FineBin, span: 43200, period: 601.2, width: 1, events: 100, walk: 0.1, first: 77.7, rate: 2, lock: Drifting, harm: true},
		{name: "fast retries", bin: FineBin, span: 1200, period: 5.1, width: 0.2, events: 25, first: 3.3, rate: 1, lock: Drifting, harm: true},
		{name: "hourly, busy, 12 teeth", bin: time.Second, span: 43200, period: 3600, width: 2, events: 120, first: 1020, rate: 4, lock: WallClock, harm: true},
		{name: "a period nobody would write", bin: time.Second, span: 43200, period: 777.7, width: 1, events: 50, first: 11, rate: 0.3, lock: Free, harm: true},
		{name: "health check of 4 replicas at once", bin: FineBin, span: 21600, period: 30, width: 0.01, events: 4, first: 4, rate: 0.001, lock: WallClock},
		{name: "health check", bin: FineBin, span: 21600, period: 30, width: 0.01, events: 1, first: 4, rate: 0.001, lock: WallClock},
		{name: "a replica fleet of 12", bin: FineBin, span: 21600, period: 900, width: 0.5, events: 12, first: 60, rate: 0.1, lock: WallClock, harm: true},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := synth.Rand(uint64(i))
			s := seriesOf(tt.bin, synth.Poisson(r, tt.span, tt.rate), synth.Teeth(r, tt.span, tt.first, tt.period, tt.width, tt.events, tt.walk))
			res := Detect(s, over(tt.span))
			if !tt.harm && len(res.Combs) == 0 {
				return // single events are below what is looked at
			}
			if len(res.Combs) != 1 {
				t.Fatalf("%d combs, want 1: %+v", len(res.Combs), res.Combs)
			}
			c := res.Combs[0]
			if off := math.Abs(c.Period.Seconds() - tt.period); off > max(4*c.PeriodErr.Seconds(), 0.001*tt.period) {
				t.Errorf("period %v, want %v s", c.Period, tt.period)
			}
			if c.Lock != tt.lock && !(tt.lock == WallClock && c.Lock == Undetermined) {
				t.Errorf("lock %v, want %v (drift %v ± %v)", c.Lock, tt.lock, c.Drift, c.DriftErr)
			}
			if c.Harm != tt.harm {
				t.Errorf("harm %v, want %v (height %.1f)", c.Harm, tt.harm, c.Height)
			}
			want := int((tt.span-tt.first)/tt.period) + 1
			if len(c.Teeth) < want-1 || len(c.Teeth) > want+1 {
				t.Errorf("%d teeth, want %d", len(c.Teeth), want)
			}
			if c.LogP > -2 {
				t.Errorf("log10 p %.1f", c.LogP)
			}
			if off := math.Abs(c.Anchor.Sub(epoch).Seconds() - tt.first); off > max(tt.width, 1) {
				t.Errorf("anchor %v after the start, want %v s", c.Anchor.Sub(epoch), tt.first)
			}
		})
	}
}

func TestDetectTwoCombsOfOnePeriod(t *testing.T) {
	r := synth.Rand(5)
	span := 43200.0
	s := seriesOf(FineBin, synth.Poisson(r, span, 0.5),
		synth.Teeth(r, span, 60, 300, 0.8, 60, 0), synth.Teeth(r, span, 200.3, 301.1, 0.8, 60, 0.1))
	res := Detect(s, over(span))
	locks := map[Lock]int{}
	for _, c := range res.Combs {
		locks[c.Lock]++
	}
	if len(res.Combs) != 2 || locks[WallClock] != 1 || locks[Drifting] != 1 {
		t.Errorf("want a clock and a timer, got %v", locks)
	}
}

// TestDetectNotFooled holds what is periodic, bursty or stepped without being a herd.
func TestDetectNotFooled(t *testing.T) {
	wave := func(period float64, f func(x float64) float64) []float64 {
		r := synth.Rand(uint64(period))
		var out []float64
		for _, at := range synth.Poisson(r, 43200, 10) {
			if r.Float64() < f(math.Mod(at, period)/period) {
				out = append(out, at)
			}
		}
		return out
	}
	square := func(x float64) float64 { return map[bool]float64{true: 1, false: 0.1}[x < 0.5] }
	sine := func(x float64) float64 { return (1 + math.Sin(2*math.Pi*x)) / 2 }
	saw := func(x float64) float64 { return 1 - x }
	for _, period := range []float64{60, 90, 600, 3600} {
		for name, f := range map[string]func(float64) float64{"square": square, "sine": sine, "saw": saw} {
			t.Run(fmt.Sprint(name, period), func(t *testing.T) {
				if res := Detect(seriesOf(time.Second, wave(period, f)), over(43200)); len(res.Combs)+len(res.Spikes) > 0 {
					t.Errorf("fooled: %+v", res)
				}
			})
		}
	}
}

func TestDetectSpike(t *testing.T) {
	r := synth.Rand(9)
	span := 21600.0
	s := seriesOf(FineBin, synth.Diurnal(r, span, 1, 0.7), synth.Teeth(r, 9000.5, 9000, 1e6, 1.2, 150, 0))
	res := Detect(s, over(span))
	if len(res.Combs) != 0 || len(res.Spikes) != 1 {
		t.Fatalf("want one spike: %+v", res)
	}
	x := res.Spikes[0]
	if off := x.At.Sub(epoch) - 9000*time.Second; off.Abs() > time.Second || x.Count < 140 || x.Width > 3*time.Second || x.LogP > -2 {
		t.Errorf("spike %+v", x)
	}
}

func TestDetectTooFew(t *testing.T) {
	s := NewSeries(time.Second)
	for i := range int64(12) {
		s.Add(epoch.UnixNano()+i*60e9, 1)
	}
	res := Detect(s, over(3600))
	if res.Undecided != "12 events: too few to judge, 20 needed" || res.Need != 20 {
		t.Errorf("%+v", res)
	}
	s.Add(epoch.UnixNano(), 50)
	if res := Detect(s, over(3600)); res.Undecided != "" {
		t.Errorf("%q", res.Undecided)
	}
	short := NewSeries(time.Second)
	short.Add(epoch.UnixNano(), 100)
	if res := Detect(short, over(5)); !strings.Contains(res.Undecided, "too short to judge") {
		t.Errorf("%q", res.Undecided)
	}
	if res := Detect(NewSeries(0), Options{}); res.Undecided == "" {
		t.Error("an empty series is decided")
	}
}

// TestDetectOrder adds the same events in other orders and in merged parts.
func TestDetectOrder(t *testing.T) {
	r := synth.Rand(3)
	span := 20000.0
	at := append(synth.Hawkes(r, span, 0.3, 0.6, 5), synth.Teeth(r, span, 50, 400.4, 1, 40, 0.1)...)
	want, err := json.Marshal(Detect(seriesOf(FineBin, at), over(span)))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		q := rand.New(rand.NewPCG(seed, 1))
		q.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		cut := q.IntN(len(at))
		a, b := seriesOf(FineBin, at[:cut]), seriesOf(FineBin, at[cut:])
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(Detect(a, over(span))); string(got) != string(want) {
			t.Fatalf("seed %d: another answer:\n%s\n%s", seed, got, want)
		}
	}
}

// TestNullCalibration holds the false-alarm bound to its promise on traffic without herds.
func TestNullCalibration(t *testing.T) {
	const n = 240
	below := map[float64]int{1e-2: 0, 1e-3: 0}
	spikes := 0
	for i := range uint64(n) {
		span := []float64{3600, 7200, 21600}[i%3]
		res := Detect(null(i, span), over(span))
		least := 1.0
		for _, c := range res.Combs {
			least = min(least, math.Pow(10, c.LogP))
		}
		for p := range below {
			if least < p {
				below[p]++
			}
		}
		spikes += min(len(res.Spikes), 1)
	}
	for p, k := range below {
		if float64(k) > 2*p*n {
			t.Errorf("p < %g in %d of %d series", p, k, n)
		}
	}
	if spikes > 4 {
		t.Errorf("one-offs in %d of %d series", spikes, n)
	}
}

func TestTriedRaisesTheBar(t *testing.T) {
	r := synth.Rand(12)
	s := seriesOf(time.Second, synth.Poisson(r, 15000, 0.1), synth.Teeth(r, 15000, 100, 3600, 1, 100, 0))
	o := over(15000)
	alone := Detect(s, o)
	o.Tried = 1_000_000
	among := Detect(s, o)
	if len(alone.Combs) != 1 || len(among.Combs) != 0 {
		t.Errorf("5 teeth: alone %d combs, among a million series %d", len(alone.Combs), len(among.Combs))
	}
}

func FuzzDetect(f *testing.F) {
	f.Add(int64(0), int64(60e9), int64(1), uint16(50), uint8(3), true)
	f.Add(int64(math.MinInt64), int64(math.MaxInt64/8), int64(7), uint16(40), uint8(0), false)
	f.Add(int64(math.MaxInt64), int64(-1e9), int64(1), uint16(300), uint8(20), true)
	f.Add(int64(1.7e18), int64(86400e9*365*20), int64(1e9), uint16(30), uint8(1), true)
	f.Fuzz(func(t *testing.T, start, step, jump int64, n uint16, weight uint8, fine bool) {
		bin := time.Second
		if fine {
			bin = FineBin
		}
		s := NewSeries(bin)
		at := start
		for i := range int64(n % 500) {
			s.Add(at, uint64(weight)<<(i%60))
			at += step
			if i%7 == 3 {
				at += jump
			}
		}
		o := Options{}
		if weight%2 == 0 {
			o.From, o.To = time.Unix(0, start), time.Unix(0, at)
		}
		res := Detect(s, o)
		if again := Detect(s, o); !reflect.DeepEqual(res, again) {
			t.Error("two answers")
		}
		for _, c := range res.Combs {
			if c.Period <= 0 || math.IsNaN(c.LogP) || math.IsNaN(c.Height) || math.IsNaN(c.Share) || len(c.Teeth) == 0 {
				t.Errorf("nonsense: %+v", c)
			}
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	day := 86400.0
	cases := []struct {
		name   string
		bin    time.Duration
		span   float64
		rate   float64
		period float64
		events int
	}{
		{"hour_1k", FineBin, 3600, 0.3, 0, 0},
		{"day_quiet", FineBin, day, 0.1, 0, 0},
		{"day_1M", time.Second, day, 11.6, 0, 0},
		{"day_1M_comb", FineBin, day, 11, 300, 180},
		{"month_2M", time.Second, 30 * day, 0.77, 0, 0},
		{"month_2M_comb", time.Second, 30 * day, 0.7, 300, 20},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			r := synth.Rand(1)
			at := synth.Poisson(r, c.span, c.rate)
			if c.period > 0 {
				at = append(at, synth.Teeth(r, c.span, 100, c.period, 1, c.events, 0.05)...)
			}
			s := seriesOf(c.bin, at)
			s.Total()
			b.ReportMetric(float64(len(at)), "events")
			b.ReportAllocs()
			for b.Loop() {
				Detect(s, over(c.span))
			}
		})
	}
}

func BenchmarkDetectFamilies(b *testing.B) {
	day := 86400.0
	var all []Named
	for i := range 2000 {
		r := synth.Rand(uint64(i))
		at := synth.Diurnal(r, day, 0.02*math.Exp(2*r.NormFloat64()), 0.8)
		if i%10 == 0 {
			at = append(at, synth.Teeth(r, day, 120, 300, 1, 20, 0)...)
		}
		all = append(all, Named{Name: fmt.Sprint("q", i), Series: seriesOf(time.Second, at)})
	}
	for b.Loop() {
		DetectFamilies(all, over(day))
	}
}
