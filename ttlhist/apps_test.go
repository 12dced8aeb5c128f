package ttlhist

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
)

// An app is a keyspace of an application of some size, drawn by chance.
type app struct {
	r    *rand.Rand
	keys []scan.Key
}

func (a *app) add(pattern string, id int, left time.Duration) {
	a.keys = append(a.keys, scan.Key{Name: fmt.Appendf(nil, pattern, id), ExpireMS: testNow + left.Milliseconds(), Type: "string"})
}

var appPatterns = []string{"article:%d", "menu:store-%d", "geo:%d:tiles", "search:%d", "feed:%d", "profile:%d:card"}

// background adds what most keyspaces have besides cached values.
func (a *app) background() {
	for range 100 + a.r.IntN(300) { // sessions of half an hour, renewed now and then
		a.add("sess:%016x", a.r.IntN(1<<60), time.Duration(a.r.Int64N(int64(30*time.Minute))))
	}
	for i := range a.r.IntN(40) {
		a.add("lock:job:%d", i, time.Duration(a.r.Int64N(int64(time.Minute))))
	}
	window := time.Duration(60_000-testNow%60_000) * time.Millisecond
	for i := range a.r.IntN(100) {
		a.add("win:%d", i, window-time.Duration(a.r.IntN(3))*time.Millisecond)
	}
	for i := range a.r.IntN(5) {
		a.keys = append(a.keys, scan.Key{Name: fmt.Appendf(nil, "conf:%d", i), ExpireMS: scan.NoExpiry})
	}
}

// written adds n keys of each of some patterns, born at a time before now by
// born, with a TTL and a jitter; those that would be dead are written again.
func (a *app) written(patterns, n int, ttl time.Duration, jitter float64, born func() time.Duration) {
	for p := range patterns {
		for i := range n/2 + a.r.IntN(n) {
			life := func() time.Duration {
				return time.Duration(float64(ttl) * (1 + jitter*(2*a.r.Float64()-1)))
			}
			left := life() - born()
			for left < 0 {
				left += life()
			}
			a.add(appPatterns[p], i, left)
		}
	}
}

// TestApps judges keyspaces of other applications: healthy ones must not be
// warned about, herds must be found.
func TestApps(t *testing.T) {
	runs := 40
	if os.Getenv("HERDSCAN_EVAL") != "" {
		runs = 400
	}
	ttls := []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour}
	for _, c := range []struct {
		name     string
		herd     bool
		mistakes float64 // largest share of wrong answers
		make     func(a *app, ttl time.Duration)
	}{
		{"steady", false, 0.01, func(a *app, ttl time.Duration) {
			a.written(6, 30, ttl, 0, func() time.Duration { return time.Duration(a.r.Int64N(int64(ttl))) })
		}},
		{"steady, many", false, 0.01, func(a *app, ttl time.Duration) {
			a.written(3, 1000, ttl, 0.1, func() time.Duration { return time.Duration(a.r.Int64N(int64(ttl))) })
		}},
		{"steady, wide jitter", false, 0.01, func(a *app, ttl time.Duration) {
			a.written(6, 20, ttl, 0.5, func() time.Duration { return time.Duration(a.r.Int64N(int64(ttl))) })
		}},
		{"deploy long ago, jitter", false, 0.03, func(a *app, ttl time.Duration) {
			a.written(5, 30, ttl, 0.15, func() time.Duration { return 6*ttl + ttl/2 + time.Duration(a.r.Int64N(int64(ttl/10))) })
		}},
		{"deploy, fixed TTL", true, 0.05, func(a *app, ttl time.Duration) {
			a.written(5, 30, ttl, 0, func() time.Duration { return ttl/2 + time.Duration(a.r.Int64N(int64(ttl/10))) })
		}},
		{"deploy, fixed TTL, many", true, 0.01, func(a *app, ttl time.Duration) {
			a.written(5, 1000, ttl, 0, func() time.Duration { return ttl/2 + time.Duration(a.r.Int64N(int64(min(ttl/20, 2*time.Minute)))) })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wrong := 0
			for i := range runs {
				a := &app{r: rand.New(rand.NewPCG(uint64(i), 31))}
				a.background()
				c.make(a, ttls[i%len(ttls)])
				herds := 0
				for _, f := range Analyse(sum(a.keys), Options{}).Findings {
					if f.Rule == "HS401" && f.Severity >= rule.Warning {
						herds++
						if !c.herd {
							t.Logf("run %d, TTL %v: %s: %s", i, ttls[i%len(ttls)], f.Subject, f.Why)
						}
					}
				}
				if (herds > 0) != c.herd {
					wrong++
					if c.herd {
						t.Logf("run %d, TTL %v: nothing found", i, ttls[i%len(ttls)])
					}
				}
			}
			t.Logf("%d of %d wrong", wrong, runs)
			if float64(wrong) > c.mistakes*float64(runs) {
				t.Errorf("%d of %d wrong, want at most %.0f %%", wrong, runs, 100*c.mistakes)
			}
		})
	}
}
