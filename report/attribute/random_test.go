package attribute

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
)

var randomStart = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// randomFinding draws a herd of any shape, sensible or not.
func randomFinding(t *rapid.T, i int) querylog.Finding {
	id := rapid.SampledFrom([]string{"HS501", "HS502", "HS503", "HS504", "HS505", "HS506"}).Draw(t, "rule")
	f := querylog.Finding{
		Rule: id, Severity: rule.Severity(rapid.IntRange(0, 2).Draw(t, "severity")), Subject: fmt.Sprint("select ", i),
		HostsATooth: rapid.IntRange(0, 9).Draw(t, "hosts"), ConnsATooth: rapid.IntRange(0, 8).Draw(t, "conns"),
		Identical: rapid.Float64Range(0, 1).Draw(t, "identical"), Texts: rapid.Uint64Range(0, 99).Draw(t, "texts"),
		Growth: rapid.Float64Range(0, 3).Draw(t, "growth"), Spacing: time.Duration(rapid.IntRange(0, 9).Draw(t, "spacing")) * time.Second,
	}
	kinds := []querylog.CauseKind{querylog.CauseTTL, querylog.CauseReplicaJob, querylog.CauseMissingKey, querylog.CauseUnknown}
	f.Causes = []querylog.Cause{{Kind: rapid.SampledFrom(kinds).Draw(t, "cause"), Score: rapid.Float64Range(0, 1).Draw(t, "score")}}
	for n := range rapid.IntRange(0, 3).Draw(t, "members") {
		m := querylog.Class{
			Hash: uint64(rapid.IntRange(0, 5).Draw(t, "hash")), Shape: fmt.Sprint("select a from orders where b = ", n), Tables: []string{"orders"},
			Verb: rapid.SampledFrom([]string{"select", "update", ""}).Draw(t, "verb"), Count: rapid.Uint64Range(0, 1000).Draw(t, "count"),
			Timed: rapid.Uint64Range(0, 1).Draw(t, "timed"), Median: time.Duration(rapid.IntRange(0, 3000).Draw(t, "median")) * time.Millisecond,
			Follower: rapid.Bool().Draw(t, "follower"),
		}
		f.Members, f.Count = append(f.Members, m), f.Count+m.Count
	}
	at := float64(rapid.IntRange(0, 500).Draw(t, "first"))
	period := rapid.Float64Range(0.001, 4000).Draw(t, "period")
	for range rapid.IntRange(0, 30).Draw(t, "teeth") {
		f.Teeth = append(f.Teeth, comb.Tooth{At: randomStart.Add(seconds(at)), Width: time.Second, Count: rapid.Uint64Range(0, 500).Draw(t, "height")})
		at += period * rapid.Float64Range(0.9, 1.1).Draw(t, "gap")
	}
	if id == "HS502" && len(f.Members) > 0 {
		f.Bursts = []querylog.Burst{{Count: 60}}
	}
	if id != "HS506" && id != "HS504" && rapid.Bool().Draw(t, "comb") {
		f.Comb = &comb.Comb{
			Period: seconds(period), PeriodErr: time.Duration(rapid.IntRange(0, 100).Draw(t, "error")) * time.Millisecond,
			Width: time.Duration(rapid.IntRange(0, 9).Draw(t, "width")) * time.Second, Lock: comb.Lock(rapid.IntRange(0, 3).Draw(t, "lock")),
			Drift: time.Duration(rapid.IntRange(-900, 900).Draw(t, "drift")) * time.Millisecond, Teeth: f.Teeth, Height: 20,
		}
	}
	return f
}

// TestAnything gives attribution herds of any shape: it must not panic, and
// what it says must keep its form.
func TestAnything(t *testing.T) {
	w := newWorld(9, time.Hour)
	w.ttlHerd(60, 300, 0.4, true)
	base := w.evidence()
	rapid.Check(t, func(t *rapid.T) {
		e := base
		e.Log = &querylog.Analysis{From: randomStart, To: randomStart.Add(time.Duration(rapid.IntRange(0, 100000).Draw(t, "span")) * time.Second), Resolution: time.Second}
		for i := range rapid.IntRange(0, 5).Draw(t, "findings") {
			e.Log.Findings = append(e.Log.Findings, randomFinding(t, i))
		}
		r := Attribute(e)
		for i, v := range r.Verdicts {
			checkForm(t, r, i, &v)
		}
	})
}

func checkForm(t *rapid.T, r *Result, i int, v *Verdict) {
	if len(v.Suspects) == 0 {
		t.Fatalf("verdict %d has no suspect", i)
	}
	for _, c := range append(v.Suspects, v.Cleared...) {
		if c.Why == "" || c.RefutedBy == "" || !(c.Score >= 0 && c.Score <= 0.99) || c.Nats != c.Nats {
			t.Fatalf("verdict %d: %+v", i, c)
		}
	}
	for _, c := range v.Cleared {
		if len(c.Against) == 0 {
			t.Fatalf("verdict %d clears %s %q without a reason", i, c.Kind, c.Name)
		}
	}
	if v.Same == i || v.Same >= len(r.Verdicts) || v.Same >= 0 && r.Verdicts[v.Same].Same >= 0 {
		t.Fatalf("verdict %d is part of %d", i, v.Same)
	}
	if v.Tied && len(v.Suspects) < 2 {
		t.Fatalf("verdict %d is tied with nobody", i)
	}
}

// BenchmarkAttribute is a large report: 300 herds, 1,000 patterns, 5,000
// schedules and 30 days of log.
func BenchmarkAttribute(b *testing.B) {
	w := newWorld(3, time.Hour)
	for i := range 1000 {
		w.spreadKeys("pattern"+fmt.Sprint(string(rune('a'+i%26)), string(rune('a'+i/26%26)), string(rune('a'+i/676)))+":%d", 30, 3600)
	}
	for i := range 5000 {
		w.entry(fmt.Sprint("crontab", i), fmt.Sprintf("%d %s * * *", i%60, []string{"*", "3", "*/2", "4,16"}[i%4]), fmt.Sprint("/opt/job", i))
	}
	e := w.evidence()
	e.Log = &querylog.Analysis{From: w.from, To: w.from.Add(30 * 24 * time.Hour), Resolution: time.Second}
	for i := range 300 {
		f := querylog.Finding{Rule: "HS501", Severity: rule.Warning, Subject: fmt.Sprint("select ", i), HostsATooth: 4, ConnsATooth: 8, Texts: 50, Causes: []querylog.Cause{{}}}
		f.Members = []querylog.Class{{Hash: uint64(i), Shape: fmt.Sprintf("select a from t%d", i), Tables: []string{fmt.Sprint("t", i)}, Verb: "select", Count: 9000}}
		for k := range 700 {
			f.Teeth = append(f.Teeth, comb.Tooth{At: w.from.Add(time.Duration(k) * time.Duration(3601+i) * time.Second), Width: time.Second, Count: 30})
		}
		f.Comb = &comb.Comb{Period: time.Duration(3601+i) * time.Second, Width: time.Second, Lock: comb.Drifting, Drift: time.Second, Teeth: f.Teeth, Height: 30}
		e.Log.Findings = append(e.Log.Findings, f)
	}
	b.ResetTimer()
	for b.Loop() {
		Attribute(e)
	}
}
