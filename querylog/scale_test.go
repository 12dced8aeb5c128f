package querylog

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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

// marked says in each record of a log at which rate it was sampled, as Percona Server does.
func marked(log, kind string, rate int) string {
	return strings.ReplaceAll(log, "# Query_time", fmt.Sprintf("# Log_slow_rate_type: %s  Log_slow_rate_limit: %d\n# Query_time", kind, rate))
}

func TestSampling(t *testing.T) {
	const rate = 8
	tests := []struct {
		name, kind string
		mark       int // in the log, 0 for none
		option     float64
	}{
		{"by query", "query", rate, 0},
		{"by session", "session", rate, 0},
		{"as the caller says", "", 0, rate},
		{"as the caller says against the log", "", 3, rate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log, copies := sampledLog(rate, tt.kind)
			if tt.mark > 0 {
				log = marked(log, "query", tt.mark)
				if tt.kind != "" {
					log = strings.ReplaceAll(log, "type: query", "type: "+tt.kind)
				}
			}
			a := Analyse(summarise(t, Options{}, text(log)), AnalyseOptions{SampleRate: tt.option})
			if a.SampleRate != rate || a.MixedRates {
				t.Fatalf("rate %g, mixed %v", a.SampleRate, a.MixedRates)
			}
			seen := map[string]bool{}
			for _, f := range a.Findings {
				seen[f.Rule] = true
				switch f.Rule {
				case "HS501", "HS502":
					checkScaled(t, &f, rate, copies)
				case "HS507":
					if !strings.Contains(f.Reason, "one of 8") || tt.kind != "" && !strings.Contains(f.Reason, map[string]string{"query": "thinned", "session": "connection"}[tt.kind]) {
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

// stampedes is a log of stampedes each five minutes over a span of hours: 600
// copies, of which one of rate(t) was logged and says so.
func stampedes(span time.Duration, rate func(at time.Duration) int) (log string, copies int) {
	r := rand.New(rand.NewPCG(15, 8))
	var parts []string
	keep := func(e planted) {
		if n := rate(e.at); r.IntN(n) == 0 {
			one := strings.TrimPrefix(slowLog([]planted{e}), bannerMySQL8)
			if n > 1 {
				one = marked(one, "query", n)
			}
			parts = append(parts, one)
		}
	}
	all := background(r, 20, span)
	every(5*time.Minute, 97*time.Second, span, func(k int, at time.Duration) {
		for i := range 600 {
			all = append(all, planted{at: at + ms(r, 900), took: time.Second, query: "SELECT * FROM rates WHERE base = 'EUR'", host: i % 4, thread: 1000*(k+1) + i, sent: 1})
			copies++
		}
	})
	slices.SortStableFunc(all, func(x, y planted) int { return cmp.Compare(x.at, y.at) })
	for _, e := range all {
		keep(e)
	}
	return strings.Join(parts, ""), copies
}

// TestChangingRate scales each tooth by the rate that was in force at its time.
func TestChangingRate(t *testing.T) {
	const span = 2 * time.Hour
	for name, rate := range map[string]func(time.Duration) int{
		"two rates":      func(at time.Duration) int { return map[bool]int{true: 4, false: 20}[at < span/2] },
		"switched on":    func(at time.Duration) int { return map[bool]int{true: 1, false: 10}[at < span/2] },
		"back and forth": func(at time.Duration) int { return []int{1, 6, 12}[int(at/(20*time.Minute))%3] },
	} {
		t.Run(name, func(t *testing.T) {
			log, copies := stampedes(span, rate)
			s := summarise(t, Options{}, text(log))
			a := Analyse(s, AnalyseOptions{})
			if !a.MixedRates {
				t.Error("the rates are taken for one")
			}
			var herds int
			var told uint64
			for _, f := range a.Findings {
				if f.Rule != "HS501" && f.Rule != "HS502" {
					continue
				}
				herds++
				if f.Comb != nil && (f.Comb.Height < 450 || f.Comb.Height > 750) {
					t.Errorf("a height of %g, 600 ran", f.Comb.Height)
				}
				ran := 600 * len(f.Teeth) // a tooth too small in the log to be seen is not one
				if off := math.Abs(float64(f.Count) - float64(ran)); off > 4*float64(f.Error)+0.05*float64(ran) {
					t.Errorf("%s: %d ± %d of %d", f.Rule, f.Count, f.Error, ran)
				}
				told += f.Count
				for _, x := range f.Teeth {
					if x.Count < 300 || x.Count > 1000 {
						t.Errorf("%s: a tooth of %d at %v, 600 ran", f.Rule, x.Count, x.At)
					}
				}
			}
			if herds == 0 || told < uint64(copies)*7/10 {
				t.Errorf("%d herds of %d statements, %d ran", herds, told, copies)
			}
			halves := &Summary{}
			half := strings.Index(log[len(log)/2:], "\n# Time") + len(log)/2 + 1
			for _, part := range []string{log[half:], log[:half]} {
				halves.Merge(summarise(t, Options{}, text(part)))
			}
			for _, x := range a.Findings {
				for _, y := range Analyse(halves, AnalyseOptions{}).Findings {
					if x.Rule == "HS501" && x.Fingerprint == y.Fingerprint && (x.Count != y.Count || x.Error != y.Error) {
						t.Errorf("%d ± %d, of two halves %d ± %d", x.Count, x.Error, y.Count, y.Error)
					}
				}
			}
			if back := reload(t, s); Analyse(back, AnalyseOptions{}).SampleRate != a.SampleRate {
				t.Error("the rate is lost in saving")
			}
		})
	}
}

func reload(t rapid.TB, s *Summary) *Summary {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(&b, true); err != nil {
		t.Fatal(err)
	}
	back, err := Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestAlwaysWritten takes statements that are logged whatever the rate for themselves.
func TestAlwaysWritten(t *testing.T) {
	var all []planted
	for k := range 40 {
		all = append(all,
			planted{at: time.Duration(k) * time.Minute, took: 20 * time.Second, query: "SELECT SUM(x) FROM report", sent: 1},
			planted{at: time.Duration(k)*time.Minute + time.Second, took: time.Second, query: "SELECT 1 FROM t", sent: 1})
	}
	s := summarise(t, Options{}, text(marked(slowLog(all), "query", 50)))
	v := s.Coverage()[0]
	if v.Always != 40 || len(v.Rates) != 1 || v.Rates[0].Count != 40 || v.SampleRate != 50 {
		t.Errorf("%+v", v)
	}
	for _, c := range s.classes {
		f := (&analyser{s: s}).factorOfAll([]*class{c})
		if want := map[bool]float64{true: 1, false: 50}[c.longest > AlwaysWritten]; f.rate != want {
			t.Errorf("%s weighs %g, want %g", c.shape, f.rate, want)
		}
	}
}

// TestMixedRates scales each source by its own rate.
func TestMixedRates(t *testing.T) {
	log, copies := sampledLog(8, "query")
	whole, _ := sampledLog(1, "query")
	a := Analyse(summarise(t, Options{}, text(whole), text(marked(log, "query", 8))), AnalyseOptions{})
	if !a.MixedRates || a.SampleRate <= 1 || a.SampleRate >= 8 {
		t.Errorf("rate %g, mixed %v", a.SampleRate, a.MixedRates)
	}
	for _, f := range a.Findings {
		if f.Rule == "HS501" && math.Abs(float64(f.Count)-2*float64(copies)) > 4*float64(f.Error) {
			t.Errorf("%d ± %d of %d", f.Count, f.Error, 2*copies)
		}
	}
}

// TestWeightsMerge checks that the parts of a log give the weights of the whole, however many bins it has.
func TestWeightsMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole weights
		parts := make([]weights, 3)
		for range rapid.IntRange(0, 300).Draw(t, "events") {
			at := rapid.Int64Range(0, 400*86400).Draw(t, "at") * 1e9
			rate := rapid.Uint64Range(2, 1000).Draw(t, "rate")
			whole.add(at, rate)
			parts[rapid.IntRange(0, 2).Draw(t, "part")].add(at, rate)
		}
		var merged weights
		for i := range parts {
			merged.merge(&parts[2-i])
		}
		if merged.width != whole.width || !maps.Equal(merged.bins, whole.bins) || len(whole.bins) > maxWeights {
			t.Fatalf("%+v, of the parts %+v", whole, merged)
		}
		back, ok := loadWeights(time.Duration(whole.width), whole.saved())
		if !ok || back.width != whole.width || !maps.Equal(back.bins, whole.bins) {
			t.Fatalf("%+v, saved %+v", whole, back)
		}
	})
}

func TestThresholds(t *testing.T) {
	log := func(n int, took time.Duration) Source {
		var list []planted
		for k := range n {
			list = append(list, planted{at: time.Duration(k) * time.Minute, took: took, query: "SELECT 1 FROM t", sent: 1})
		}
		return text(slowLog(list))
	}
	unindexed := strings.Builder{}
	for k := range 60 {
		for i, q := range []string{"SELECT a FROM t", "COMMIT"} {
			fmt.Fprintf(&unindexed, "# Time: 2026-03-24T14:%02d:%02d.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: %s  Lock_time: 0 Rows_sent: 0  Rows_examined: %d\n%s;\n",
				k, i, []string{"0.002", "2.5"}[i], []int{900, 0}[i], q)
		}
	}
	tests := []struct {
		name    string
		sources []Source
		want    []string // in the reasons of HS507, one each
	}{
		{"every statement", []Source{log(50, 200*time.Microsecond)}, nil},
		{"above a second", []Source{log(50, 1100*time.Millisecond)}, []string{"no statement below 1.1s is in the log"}},
		{"rotated", []Source{log(50, 1100*time.Millisecond), log(50, 1050*time.Millisecond), log(50, 1200*time.Millisecond)}, []string{"below 1.05s is in this or 2 more logs"}},
		{"another threshold", []Source{log(50, 1100*time.Millisecond), log(50, time.Microsecond)}, []string{"other logs here have another threshold"}},
		{"statements without index", []Source{text(unindexed.String())}, []string{"no statement below 2.5s is in the log: counts are lower bounds, and a herd of fast statements shows only once the server is slow; statements that read rows are there from 2ms on"}},
		{"too few to say", []Source{log(5, time.Second)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range Analyse(summarise(t, Options{}, tt.sources...), AnalyseOptions{}).Findings {
				if f.Rule == "HS507" {
					got = append(got, f.Reason)
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("%q, want %q", got, tt.want)
			}
			for i, w := range tt.want {
				if !strings.Contains(got[i], w) {
					t.Errorf("%q, want %q", got[i], w)
				}
			}
		})
	}
}
