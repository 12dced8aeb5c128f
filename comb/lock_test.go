package comb

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/herdscan/herdscan/comb/eval/synth"
)

func TestLockOf(t *testing.T) {
	tests := []struct {
		name    string
		period  float64
		err     float64
		periods float64
		bin     float64
		want    Lock
	}{
		{"exact hour over 3 days", 3600, 0.001, 72, 1, WallClock},
		{"hour and rebuild", 3601.2, 0.01, 23, 0.125, Drifting},
		{"a little short", 299.9, 0.001, 200, 0.125, Free},
		{"nobody's period", 777, 0.01, 50, 0.125, Free},
		{"5 hourly teeth at 1 s", 3600, 0.2, 4, 1, Undetermined},
		{"late starts or a tiny gain", 60.04, 0.002, 7, 0.125, Undetermined},
		{"late starts", 59.95, 0.008, 6, 0.125, WallClock},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := lockOf(line{b: tt.period, err: tt.err}, int(tt.periods)+1, tt.periods, tt.bin); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestLockAtTheChangeOfTheClock runs a daily job at 04:00 Paris time over the
// end of summer time, and one that was started again 40 minutes later.
func TestLockAtTheChangeOfTheClock(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	job := func(shift time.Duration) *Series {
		s := NewSeries(time.Second)
		for _, at := range synth.Poisson(synth.Rand(1), 50*86400, 0.05) {
			s.Add(from.UnixNano()+int64(at*1e9), 1)
		}
		for day := range 50 {
			at := time.Date(2026, 10, 1+day, 4, 0, 0, 0, paris)
			if shift > 0 {
				at = time.Date(2026, 10, 1+day, 2, 0, 0, 0, time.UTC)
				if day > 24 {
					at = at.Add(shift)
				}
			}
			for k := range 100 {
				s.Add(at.UnixNano()+int64(k)*2e7, 1)
			}
		}
		return s
	}
	o := Options{From: from, To: from.Add(50 * 24 * time.Hour), Zone: paris}
	for _, tt := range []struct {
		name  string
		shift time.Duration
		want  []Lock
	}{
		{"cron", 0, []Lock{WallClock}},
		{"started again", 40 * time.Minute, []Lock{Undetermined, Drifting, Free}},
	} {
		r := Detect(job(tt.shift), o)
		if len(r.Combs) != 1 || !slices.Contains(tt.want, r.Combs[0].Lock) || len(r.Combs[0].Teeth) < 49 {
			t.Errorf("%s: %d combs: %+v", tt.name, len(r.Combs), r.Combs)
		}
	}
}

func TestWallPeriodsRise(t *testing.T) {
	if !slices.IsSorted(wallPeriods) {
		t.Error("the table of periods is not in order")
	}
	for _, l := range []Lock{Undetermined, WallClock, Drifting, Free, Lock(9)} {
		if want := map[Lock]string{WallClock: "wall_clock", Drifting: "drifting", Free: "free"}[l]; want != "" && l.String() != want {
			t.Errorf("%v is not %s", l, want)
		}
	}
}
