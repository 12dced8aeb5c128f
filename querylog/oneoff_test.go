package querylog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// pageTraffic makes reads of some pages, each with bursts of its own at its own
// times, as N+1 batches are.
func pageTraffic(r *rand.Rand, span time.Duration) (out []planted) {
	page := func(at time.Duration, shape int) planted {
		return planted{at: at, took: 2 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM page_%c WHERE id = %d", 'a'+shape, r.IntN(1e6)), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1}
	}
	for shape := range 8 {
		for at := 0.0; at < span.Seconds(); at += r.ExpFloat64() * 2 {
			for range 1 + r.IntN(4) {
				out = append(out, page(time.Duration(at*1e9), shape))
			}
		}
	}
	return out
}

// TestSurge wants several reads that rise at once in a busy log to be told,
// though none of them nor their sum stands out, and nothing without that.
func TestSurge(t *testing.T) {
	const span, moment = 30 * time.Minute, 11 * time.Minute
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 41))
		events := append(background(r, 30, span), pageTraffic(r, span)...)
		quiet := Analyse(summarise(t, Options{}, text(slowLog(events))), AnalyseOptions{})
		for _, f := range quiet.Findings {
			if f.Severity >= rule.Warning {
				t.Errorf("seed %d: %s about %s in ordinary traffic: %d at %v", seed, f.Rule, f.Subject, f.Count, f.Teeth)
			}
		}
		for shape := range 8 {
			for i := range 22 {
				events = append(events, planted{at: moment + ms(r, 900), took: 50 * time.Millisecond, query: fmt.Sprintf("SELECT * FROM page_%c WHERE id = %d", 'a'+shape, i), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
			}
		}
		a := Analyse(summarise(t, Options{}, text(slowLog(events))), AnalyseOptions{})
		if len(a.Findings) == 0 || a.Findings[0].Rule != "HS504" || len(a.Findings) > 1 && a.Findings[1].Severity >= rule.Warning {
			t.Fatalf("seed %d: %s", seed, rulesOf(a))
		}
		f := a.Findings[0]
		pages := 0
		for _, m := range f.Members {
			if strings.Contains(m.Shape, "page_") {
				pages++
			}
		}
		if off := f.Teeth[0].At.Sub(logStart.Add(moment)).Abs(); off > time.Second || pages < 7 || f.Severity != rule.Warning || f.Causes[0].Kind != CauseColdStart {
			t.Errorf("seed %d: %v at %v, %d of 8 pages, causes %+v", seed, f.Severity, f.Teeth[0].At, pages, f.Causes)
		}
	}
}

// TestOneOffWrites wants no cache to be proposed for what writes.
func TestOneOffWrites(t *testing.T) {
	for _, query := range []string{"UPDATE flash SET stock = stock - 1 WHERE id = 5", "UPDATE flash SET stock = 1 WHERE id = %d"} {
		r := rand.New(rand.NewPCG(51, 52))
		events := background(r, 3, 30*time.Minute)
		for i := range 300 {
			q := query
			if strings.Contains(q, "%d") {
				q = fmt.Sprintf(q, i)
			}
			events = append(events, copies(r, 11*time.Minute, 1, q)...)
		}
		a := Analyse(summarise(t, Options{}, text(slowLog(events))), AnalyseOptions{})
		if len(a.Findings) == 0 || a.Findings[0].Rule != "HS504" {
			t.Fatal(rulesOf(a))
		}
		f := a.Findings[0]
		if f.Causes[0].Kind != CauseUnknown || strings.Contains(f.Fix.Text, "cache") || f.Avoidable != 0 {
			t.Errorf("%s: causes %+v, fix %q, %d avoidable", query, f.Causes, f.Fix.Text, f.Avoidable)
		}
	}
}
