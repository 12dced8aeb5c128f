package attribute

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// story is the incident that the tool is for: a deploy at 10:00 gives all keys a
// TTL of an hour; the database shows teeth near the full hour; the first suspect
// is the crontab line at :00.
func story() Evidence {
	w := newWorld(4242, 48*time.Hour)
	w.coarse = false
	w.lint.Entries, w.events = nil, nil
	clear(w.keys)
	w.from = time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC)
	w.look = w.from.Add(w.span + 20*time.Second)
	deploy := 30*60 + 4.0
	w.events = []Event{{Kind: Deploy, At: w.at(deploy)}}
	w.entry("deploy/crontab", "0 * * * *", "/opt/send-invoices --all")
	w.entry("deploy/crontab", "17 3 * * *", "/opt/backup")
	for i := range 3000 {
		w.refill(i, deploy+1+90*w.Float64(), 3600)
	}
	death := deploy + 2
	for death < w.span.Seconds() {
		end, last := death+1.2, death+1.2
		for t := death; t < end; t += w.exp(1.0 / 400) {
			w.run(w.at(t), host(w.IntN(14)), uint64(w.IntN(900)), 1.2, "select amount from price where sku = 'bestseller'")
			last = t + 1.2
		}
		if !w.at(last).After(w.look) {
			w.keys["price:bestseller"] = w.at(last + 3600)
		}
		death = last + 3600 + w.exp(1.0/400)
	}
	for k, at := range w.keys {
		if at.Before(w.look) {
			delete(w.keys, k)
		}
	}
	return w.evidence()
}

// refill keeps one product alive: it is asked for some time after it died.
func (w *world) refill(i int, write, ttl float64) {
	mean := 1 + 8*w.Float64()
	for write < w.span.Seconds()+60 {
		r := 0.02 + 0.02*w.Float64()
		w.run(w.at(write), host(w.IntN(14)), uint64(w.IntN(900)), r, "select id, title, stock from products where id = %d", i)
		if !w.at(write + r).After(w.look) {
			w.keys[fmt.Sprintf("product:%d", i)] = w.at(write + r + ttl)
		}
		write += r + ttl + w.exp(mean)
	}
}

func TestStory(t *testing.T) {
	e := story()
	r := Attribute(e)
	for _, v := range r.Verdicts {
		if v.Cache < 0 {
			t.Logf("%s: %s (part of %d, %v, layers %+v)", e.Log.Findings[v.Finding].Subject, v.Best().Why, v.Same, v.Confidence, v.Layers)
		}
	}
	ttl := slices.IndexFunc(r.Verdicts, func(v Verdict) bool { return v.Cache < 0 && v.Best().Kind == TTL })
	hot := slices.IndexFunc(r.Verdicts, func(v Verdict) bool { return v.Cache < 0 && v.Best().Kind == HotKey })
	if ttl < 0 || hot < 0 {
		t.Fatalf("ttl %d, hot key %d of %d verdicts", ttl, hot, len(r.Verdicts))
	}
	if v := &r.Verdicts[ttl]; !strings.Contains(v.Best().Name, "product:") || v.Confidence != Strong {
		t.Errorf("many keys: %q, %v: %v", v.Best().Name, v.Confidence, v.Doubts)
	}
	if v := &r.Verdicts[hot]; !strings.Contains(v.Best().Name, "price:") {
		t.Errorf("hot key: %q", v.Best().Name)
	}
	if l := r.Verdicts[ttl].Layers; len(l) != 2 || l[0].Kind != TTL || l[1].Kind != HotKey || l[1].Copies < 300 {
		t.Errorf("layers %+v", l)
	}
	if v := &r.Verdicts[len(r.Verdicts)-1]; v.Cache < 0 && v.Same != hot {
		t.Errorf("the stampede is part of %d, not of the hot key's comb", v.Same)
	}
	decoy := r.Verdicts[ttl].Cleared
	i := slices.IndexFunc(decoy, func(c Suspect) bool { return c.Name == "deploy/crontab:1" })
	if i < 0 || !strings.Contains(decoy[i].Against[0], "drift") {
		t.Errorf("the crontab line at :00 is not cleared for its drift: %+v", decoy)
	}
	for _, c := range r.Verdicts[ttl].Suspects {
		if c.Kind == Cron {
			t.Errorf("a schedule is a suspect: %+v", c)
		}
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == "HS603" && strings.Contains(f.Message, "deploy/crontab:1") }) {
		t.Errorf("no HS603 about the crontab: %v", r.Findings)
	}
}

// TestDecoysChangeNothing adds suspects that do not fit and looks whether the
// first cause stays.
func TestDecoysChangeNothing(t *testing.T) {
	for _, i := range []int{0, 3, 4, 6, 8, 9} {
		sim := simulations[i]
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(31, sim.span)
			sim.run(w)
			entries, settings := w.lint.Entries, w.lint.Settings
			w.lint.Entries, w.lint.Settings = nil, nil
			for _, e := range entries {
				if !strings.HasPrefix(e.File.Path, "decoys/") {
					w.lint.Entries = append(w.lint.Entries, e)
				}
			}
			for _, s := range settings {
				if s.Subject == "retry parcels-db" {
					w.lint.Settings = append(w.lint.Settings, s)
				}
			}
			e := w.evidence()
			bare := tallest(e, Attribute(e))
			if bare == nil {
				t.Fatal("nothing detected")
			}
			kind, name, nats := bare.Best().Kind, bare.Best().Name, bare.Best().Nats
			for n := range 12 {
				w.oneDecoy(n)
				r := Attribute(e)
				if got := tallest(e, r).Best(); got.Kind != kind || got.Name != name || got.Nats != nats {
					t.Fatalf("after %d decoys: %s %q %.1f, before: %s %q %.1f", n+1, got.Kind, got.Name, got.Nats, kind, name, nats)
				}
			}
		})
	}
}

// oneDecoy adds a schedule far from any tooth's period, or one that fires far
// too often or too seldom.
func (w *world) oneDecoy(n int) {
	spec := []string{"41 2 * * *", "* * * * *", "13 */6 * * 1", "23,51 * * * *"}[n%4]
	e := w.entry("more/decoys", spec, "/opt/other-thing")
	e.File = lint.NewFile("more/decoys", []byte(strings.Repeat("\n", n)+spec+" /opt/other-thing\n"))
	e.Field = lint.Span{Start: n, End: n + len(spec)}
}

func TestNothingGiven(t *testing.T) {
	if r := Attribute(Evidence{}); r.Outcome != NothingGiven || len(r.Verdicts) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestShortLogs(t *testing.T) {
	e := newWorld(6, 10*time.Second).evidence()
	e.Caches = nil
	if r := Attribute(e); r.Outcome != TooShort || !strings.Contains(r.Why, "too short") && !strings.Contains(r.Why, "too few") {
		t.Errorf("%v: %s", r.Outcome, r.Why)
	}
}

func TestRules(t *testing.T) {
	for i, r := range Rules() {
		if want := []string{"HS601", "HS602", "HS603", "HS604"}[i]; r.ID != want || r.Severity != rule.Note || r.Title == "" || r.Why == "" || r.Decided == "" || r.Before == "" || r.After == "" {
			t.Errorf("%+v", r)
		}
	}
}
