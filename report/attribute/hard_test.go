package attribute

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint/schedule"
)

// atMinute moves the start of the log so that a second of it falls on a full
// minute.
func (w *world) atMinute(sec float64) {
	w.from = w.from.Truncate(time.Minute).Add(-seconds(sec))
	w.look = w.from.Add(w.span + 5*time.Second)
}

// everyHerd is a job on a timer that counts from a start of its own.
func (w *world) everyHerd(every time.Duration) {
	w.kind, w.name = Cron, "jobs/timer"
	e := w.entry("jobs/timer", "0 0 1 1 *", "/opt/ship-parcels")
	e.Schedule = &schedule.Schedule{Dialect: schedule.Robfig, Text: "@every " + every.String(), Interval: every}
	for t := 17.0; t < w.span.Seconds(); t += every.Seconds() {
		w.batch(w.at(t+0.3*w.Float64()), host(9), 30, "parcels")
	}
}

// hardSimulations are cases in which the evidence is thin or misleads. Where a
// tie is all that can be said, the true kind must be one of the two.
var hardSimulations = []struct {
	name string
	span time.Duration
	tie  bool
	run  func(w *world)
}{
	{"ttl of 60 s at :00, short log, whole seconds, no cache", 9 * time.Minute, true, func(w *world) {
		w.coarse = true
		w.atMinute(0)
		w.ttlHerd(120, 60, 0.05+0.1*w.Float64(), false)
	}},
	{"ttl of 60 s at :00, short log, whole seconds", 9 * time.Minute, false, func(w *world) {
		w.coarse = true
		w.atMinute(0)
		w.ttlHerd(120, 60, 0.05+0.1*w.Float64(), true)
	}},
	{"ttl of an hour, two days", 48 * time.Hour, false, func(w *world) { w.ttlHerd(120, 3600, 0.6+0.6*w.Float64(), true) }},
	{"hourly cron of a zone at a half hour, two days", 48 * time.Hour, false, func(w *world) {
		w.kind, w.name = Cron, "jobs/cron"
		e := w.entry("jobs/cron", "0 * * * *", "/opt/ship-parcels")
		e.Zone, _ = time.LoadLocation("Asia/Kolkata")
		for _, f := range w.fires(e) {
			w.batch(f.Add(seconds(0.1+w.Float64())), host(9), 40, "parcels")
		}
	}},
	{"cron that sleeps a random half minute", 4 * time.Hour, false, func(w *world) { w.cronHerd(0, 30) }},
	{"timer that counts from its own start", 3 * time.Hour, false, func(w *world) { w.everyHerd(7 * time.Minute) }},
	{"snapshot a day after the log", 2 * time.Hour, false, func(w *world) {
		w.ttlHerd(200, 300, 0.8, false)
		w.name = "price:"
		w.look = w.from.Add(w.span + 24*time.Hour)
		for i := range 200 {
			w.keys[fmt.Sprintf("price:%d", i)] = w.look.Add(seconds(60 + 3*w.Float64()))
		}
	}},
	{"warm-up, no cache", 2 * time.Hour, true, func(w *world) { w.warmHerd(); clear(w.keys) }},
	{"short logs: ttl", 7 * time.Minute, false, func(w *world) {
		w.look = w.from.Add(w.span/2 + time.Duration(w.IntN(60))*time.Second)
		w.ttlHerd(40+w.IntN(60), []float64{25, 30, 40, 45}[w.IntN(4)], 0.3+0.6*w.Float64(), true)
	}},
	{"short logs: ttl, no cache", 7 * time.Minute, true, func(w *world) {
		w.ttlHerd(40+w.IntN(60), []float64{25, 30, 40, 45, 60}[w.IntN(5)], 0.3+0.6*w.Float64(), false)
	}},
	{"short logs: hot key", 7 * time.Minute, false, func(w *world) {
		w.hotHerd([]float64{20, 30, 45}[w.IntN(3)], 0.6+w.Float64(), 60+150*w.Float64(), false)
	}},
	{"short logs: cron", 9 * time.Minute, false, func(w *world) {
		w.kind, w.name = Cron, "jobs/cron"
		e := w.entry("jobs/cron", "* * * * *", "sleep 7; /opt/ship-parcels")
		for _, f := range w.fires(e) {
			w.batch(f.Add(seconds(7.1+0.4*w.Float64())), host(9), 40, "parcels")
		}
	}},
	{"short logs: two replicas", 9 * time.Minute, false, func(w *world) {
		w.kind, w.name = ReplicaJob, "jobs/app.java"
		e := w.entry("jobs/app.java", "* * * * *", "reconcileParcels")
		for _, f := range w.fires(e) {
			for i := range 2 {
				w.batch(f.Add(seconds(0.3*w.Float64()+0.05)), host(20+i), 12, "parcels")
			}
		}
	}},
	{"cron whose name says nothing", 2 * time.Hour, false, func(w *world) {
		w.kind, w.name = Cron, "jobs/cron"
		e := w.entry("jobs/cron", "*/5 * * * *", "/opt/run-42")
		for _, f := range w.fires(e) {
			w.batch(f.Add(seconds(0.1+w.Float64())), host(9), 40, "parcels")
		}
	}},
	{"two jobs of one minute, the one that sleeps works", 2 * time.Hour, false, func(w *world) {
		w.kind, w.name = Cron, "jobs/second"
		w.entry("jobs/first", "4-59/5 * * * *", "/opt/run-41")
		e := w.entry("jobs/second", "4-59/5 * * * *", "sleep 20; /opt/run-42")
		for _, f := range w.fires(e) {
			w.batch(f.Add(seconds(20.1+w.Float64())), host(9), 40, "parcels")
		}
	}},
	{"keys of two clients", 2 * time.Hour, false, func(w *world) {
		w.clients = 2
		w.ttlHerd(200, 300, 0.7, true)
	}},
	{"hot key among many of its pattern", 2 * time.Hour, false, func(w *world) {
		w.hotHerd(300, 0.8, 120, false)
		w.name = "rates"
		w.keys["rates:eur"] = w.keys["rates:all"]
		w.spreadKeys("rates:%d", 300, 300)
	}},
}

func TestHardCases(t *testing.T) {
	n := 6
	if v, err := strconv.Atoi(os.Getenv("SIMULATIONS")); err == nil {
		n = v
	}
	for _, sim := range hardSimulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			detected, right := 0, 0
			for seed := range n {
				w := newWorld(uint64(5000+seed), sim.span)
				sim.run(w)
				e := w.evidence()
				v := tallest(e, Attribute(e))
				if v == nil {
					continue
				}
				detected++
				best := v.Best()
				ok := best.Kind == w.kind && strings.Contains(best.Name, w.name)
				if !ok && sim.tie && v.Tied {
					ok = slices.ContainsFunc(v.Suspects[:2], func(c Suspect) bool { return c.Kind == w.kind })
				}
				if ok {
					right++
					continue
				}
				t.Logf("seed %d: %s %q %.1f, want %s %q; %s", seed, best.Kind, best.Name, best.Nats, w.kind, w.name, short(e, v))
				for _, c := range append(v.Suspects, v.Cleared...) {
					if !strings.HasPrefix(c.Name, "decoys") && !c.refuted() || c.Kind == w.kind && strings.Contains(c.Name, w.name) {
						t.Logf("   %s %q %.1f for %v against %v", c.Kind, c.Name, c.Nats, c.For, c.Against)
					}
				}
			}
			t.Logf("detected %d, right %d of %d", detected, right, n)
			if 6*right < 5*detected {
				t.Errorf("right %d of %d", right, detected)
			}
		})
	}
}
