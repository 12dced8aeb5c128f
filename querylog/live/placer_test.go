package live

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/herdscan/herdscan/querylog"
)

// TestPlacer writes rows as sessions in several time zones do, and wants their
// true times back.
func TestPlacer(t *testing.T) {
	start := time.Date(2026, 3, 24, 6, 0, 0, 0, time.UTC)
	hours := func(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
	tests := []struct {
		name  string
		gap   time.Duration // between two rows, on average
		rows  int
		zones []time.Duration // of the connections, in turn
	}{
		{"one zone", time.Second, 20000, []time.Duration{0}},
		{"one zone, long pauses", 3 * time.Hour, 300, []time.Duration{0}},
		{"one connection ahead", time.Second, 20000, []time.Duration{0, 0, 0, 0, hours(3)}},
		{"one connection behind", time.Second, 20000, []time.Duration{0, 0, 0, 0, hours(-5)}},
		{"half an hour off", time.Second, 20000, []time.Duration{0, 0, 0, hours(5.5)}},
		{"several zones", time.Second, 20000, []time.Duration{0, 0, 0, 0, hours(3), hours(-5), hours(0.75)}},
		{"everybody ahead of now", time.Second, 20000, []time.Duration{hours(5)}},
		{"most ahead of now", time.Second, 40000, []time.Duration{hours(5), hours(5), hours(5), 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(71, 72))
			var truth []time.Time
			var rows []querylog.Event
			at := start
			for range tt.rows {
				at = at.Add(time.Duration(r.ExpFloat64() * float64(tt.gap)))
				id := r.IntN(len(tt.zones))
				took := time.Duration(r.IntN(5)) * time.Millisecond
				truth = append(truth, at.Add(-took))
				rows = append(rows, querylog.Event{
					Time: at.Add(-took).Add(tt.zones[id]), Duration: took, ThreadID: uint64(id), Query: []byte("SELECT 1"),
					Has: querylog.HasTime | querylog.HasDuration | querylog.HasThread,
				})
			}
			i, wrong := 0, 0
			now := at.Add(time.Second)
			quarters := map[int]uint64{}
			for _, e := range rows {
				quarters[int(math.Floor(float64(e.Time.Sub(now))/float64(quarter)))]++
			}
			p := placer{now: now, ahead: aheadOf(quarters), emit: func(e *querylog.Event) {
				if !e.Time.Equal(truth[i]) {
					wrong++
				}
				i++
			}}
			for i := range rows {
				p.add(&rows[i])
				if len(p.held) > heldRows {
					t.Fatalf("%d rows held", len(p.held))
				}
			}
			p.finish()
			if i != len(rows) || wrong > 0 {
				t.Errorf("%d of %d rows came out, %d at a wrong time", i, len(rows), wrong)
			}
			if tt.zones[0] == 0 && len(tt.zones) == 1 && p.moved > 0 {
				t.Errorf("%d rows moved without need", p.moved)
			}
		})
	}
}

// TestPlacerFalse has sessions that set their timestamp to another year.
func TestPlacerFalse(t *testing.T) {
	start := time.Date(2026, 3, 24, 6, 0, 0, 0, time.UTC)
	var got []time.Time
	p := placer{now: start.Add(time.Hour), emit: func(e *querylog.Event) { got = append(got, e.Time) }}
	for i := range 100 {
		at := start.Add(time.Duration(i) * time.Second)
		if i%10 == 5 {
			at = time.Date(2001, 9, 9, 1, 46, 40, 0, time.UTC)
		}
		p.add(&querylog.Event{Time: at, Has: querylog.HasTime})
	}
	p.finish()
	for i, at := range got {
		if d := at.Sub(start.Add(time.Duration(i) * time.Second)).Abs(); d > 2*time.Second {
			t.Errorf("row %d at %v", i, at)
		}
	}
	if p.moved != 10 {
		t.Errorf("%d rows moved, 10 are false", p.moved)
	}
}
