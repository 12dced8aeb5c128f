package querylog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// sampledLog writes a log with a stampede of 600 copies each five minutes, of
// which one of rate was logged, statement by statement or connection by connection.
func sampledLog(rate int, kind string) (log string, copies int) {
	r := rand.New(rand.NewPCG(8, 15))
	const span = time.Hour
	all := background(r, 20, span)
	every(5*time.Minute, 97*time.Second, span, func(k int, at time.Duration) {
		for i := range 600 {
			all = append(all, planted{at: at + ms(r, 900), took: time.Second, query: "SELECT * FROM rates WHERE base = 'EUR'", host: i % 4, thread: 1000*(k+1) + i, sent: 1})
			copies++
		}
	})
	logged := map[int]bool{}
	var kept []planted
	for _, e := range all {
		yes := r.IntN(rate) == 0
		if kind == "session" {
			if _, ok := logged[e.thread]; !ok {
				logged[e.thread] = yes
			}
			yes = logged[e.thread]
		}
		if yes {
			kept = append(kept, e)
		}
	}
	return slowLog(kept), copies
}

func TestSampling(t *testing.T) {
	const rate = 8
	for _, kind := range []string{"query", "session", ""} {
		t.Run("by "+kind, func(t *testing.T) {
			log, copies := sampledLog(rate, kind)
			o := AnalyseOptions{SampleRate: rate}
			if kind != "" {
				o.SampleRate = 3 // what the log says counts
				log = strings.Replace(log, "# Query_time", fmt.Sprintf("# Log_slow_rate_type: %s  Log_slow_rate_limit: %d\n# Query_time", kind, rate), 1)
			}
			a := Analyse(summarise(t, Options{}, text(log)), o)
			if a.SampleRate != rate {
				t.Fatalf("rate %g", a.SampleRate)
			}
			seen := map[string]bool{}
			for _, f := range a.Findings {
				seen[f.Rule] = true
				switch f.Rule {
				case "HS501", "HS502":
					checkScaled(t, &f, rate, copies)
				case "HS507":
					if !strings.Contains(f.Reason, "one of 8") || kind != "" && !strings.Contains(f.Reason, map[string]string{"query": "thinned", "session": "connection"}[kind]) {
						t.Errorf("reason %q", f.Reason)
					}
				}
			}
			for _, r := range []string{"HS501", "HS502", "HS507"} {
				if !seen[r] {
					t.Errorf("no %s", r)
				}
			}
		})
	}
}

// checkScaled wants estimates that are as far from the truth as they say.
func checkScaled(t *testing.T, f *Finding, rate float64, copies int) {
	t.Helper()
	if f.Severity < rule.Warning && f.PartOf == "" {
		t.Errorf("%s is a note: %s", f.Rule, f.Reason)
	}
	if want := math.Sqrt(float64(f.Count) * (rate - 1)); math.Abs(float64(f.Error)-want) > 1 {
		t.Errorf("%s: error %d, want %.0f", f.Rule, f.Error, want)
	}
	if off := math.Abs(float64(f.Count) - float64(copies)); off > 4*float64(f.Error) {
		t.Errorf("%s: %d ± %d of %d", f.Rule, f.Count, f.Error, copies)
	}
	var teeth, hosts uint64
	for _, x := range f.Teeth {
		teeth += x.Count
	}
	for _, h := range f.Hosts {
		hosts += h.Count
	}
	for what, n := range map[string]uint64{"teeth": teeth, "clients": hosts, "member": f.Members[0].Count} {
		if r := float64(n) / float64(f.Count); r < 0.9 || r > 1.1 {
			t.Errorf("%s: %d statements by %s, %d in all", f.Rule, n, what, f.Count)
		}
	}
	if f.Second < 400 || f.AtOnce < 400 || f.AtOnce > 800 {
		t.Errorf("%s: busiest second %d, %d at once", f.Rule, f.Second, f.AtOnce)
	}
	if c := f.Comb; c != nil && (c.Height < 400 || c.Peak < 400 || c.Peak > 800) {
		t.Errorf("height %g, peak %d", c.Height, c.Peak)
	}
}

// TestMixedRates refuses to scale what was sampled at different rates.
func TestMixedRates(t *testing.T) {
	log, _ := sampledLog(8, "query")
	marked := strings.Replace(log, "# Query_time", "# Log_slow_rate_type: query  Log_slow_rate_limit: 8\n# Query_time", 1)
	a := Analyse(summarise(t, Options{}, text(log), text(marked)), AnalyseOptions{})
	if !a.MixedRates || a.SampleRate != 1 {
		t.Errorf("rate %g, mixed %v", a.SampleRate, a.MixedRates)
	}
	for _, f := range a.Findings {
		if f.Error != 0 {
			t.Errorf("%s has an error of %d", f.Rule, f.Error)
		}
	}
}
