package attribute

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/retry"
	"github.com/herdscan/herdscan/querylog"
)

func TestSplitWords(t *testing.T) {
	for name, want := range map[string][]string{
		"session:*":                 {"session"},
		"user_profile:{id}:v2":      {"user", "profile"},
		"cache:productPage:en":      {"product"},
		"OrderLines":                {"order", "lines"},
		"/opt/warm-cache --all":     {"opt", "warm"},
		"clé:ünïcode":               {"clé", "ünïcode"},
		"cart:carts":                {"cart"},
		"":                          nil,
		"\xff\xfe:price\x00:\x1b[1": {"price"},
	} {
		got := slices.DeleteFunc(splitWords(name), func(w string) bool { return w == "opt" })
		want = slices.DeleteFunc(want, func(w string) bool { return w == "opt" })
		if !slices.Equal(got, want) {
			t.Errorf("splitWords(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestLikeness(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"product", "products", 1},
		{"category", "categories", 1},
		{"box", "boxes", 1},
		{"address", "addresses", 1},
		{"cat", "category", 0.6},
		{"sess", "sessions", 0.6},
		{"orders", "customerorders", 0.6},
		{"or", "orders", 0},
		{"price", "prize", 0},
		{"stock", "orders", 0},
	} {
		if got := likeness(c.a, c.b); got != c.want {
			t.Errorf("likeness(%q, %q) = %g, want %g", c.a, c.b, got, c.want)
		}
	}
}

func TestVocabulary(t *testing.T) {
	v := vocabulary{}
	v.statement(&querylog.Class{Shape: "select sku, amount from prices where region_code = ?", Tables: []string{"prices"}})
	table, _ := v.match(splitWords("price:*"))
	column, _ := v.match(splitWords("amounts:*"))
	none, _ := v.match(splitWords("session:*"))
	if table != nameNats || column <= 0 || column >= table || none != 0 {
		t.Errorf("table %g, column %g, none %g", table, column, none)
	}
	if all, _ := v.match(splitWords("price:amount:sku:region")); all != namesNats {
		t.Errorf("all names together: %g", all)
	}
}

func TestSleeps(t *testing.T) {
	for command, want := range map[string]time.Duration{
		"sleep 12; /opt/x": 12 * time.Second, "sleep 2m && x": 2 * time.Minute, "cd /x; sleep 1.5 && y": 1500 * time.Millisecond,
		"/opt/x --sleep 12; y": 0, "usleep 100; x": 0, "x": 0, "sleep $((RANDOM % 60)); x": 0, "sleep 999999999999999999999; x": 0,
	} {
		if got := sleeps(command); got != want {
			t.Errorf("sleeps(%q) = %v, want %v", command, got, want)
		}
	}
}

func TestDur(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 12 * time.Millisecond: "12 ms", 752703 * time.Microsecond: "753 ms", 1067 * time.Millisecond: "1.07 s", 30753 * time.Millisecond: "30.8 s",
		time.Minute: "60 s", 2 * time.Minute: "2m", 5 * time.Minute: "5m", 3601200 * time.Millisecond: "60m 1.2s", 3 * time.Hour: "3h", 26*time.Hour + 30*time.Minute: "26h 30m", -time.Second: "-1 s",
	} {
		if got := dur(d); got != want {
			t.Errorf("dur(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestDrift(t *testing.T) {
	s := subject{period: 602, res: 1, spread: 0.5}
	for k := range 10 {
		s.onsets = append(s.onsets, 40+602*float64(k))
	}
	if per, err, scatter, run := s.drift(600); math.Abs(per-2) > 1e-9 || err > 1e-6 || scatter > 1e-6 || run != 9 {
		t.Errorf("%g ± %g, scatter %g, run %g", per, err, scatter, run)
	}
	for k := range 8 { // a restart sets the train to a new phase
		s.onsets = append(s.onsets, 6200+602*float64(k))
	}
	if per, _, scatter, run := s.drift(600); math.Abs(per-2) > 1e-6 || scatter > 1e-6 || run != 9 {
		t.Errorf("with a jump: %g, scatter %g, run %g", per, scatter, run)
	}
	s.onsets = s.onsets[:1]
	if _, err, _, _ := s.drift(600); !math.IsInf(err, 1) {
		t.Errorf("one tooth: error %g", err)
	}
}

// train makes a finding of teeth at one period.
func train(from time.Time, n int, period, width time.Duration, lock comb.Lock, drift time.Duration) querylog.Finding {
	f := querylog.Finding{
		Rule: "HS501", Severity: rule.Warning, Subject: "select a from orders where id = ?", HostsATooth: 4, ConnsATooth: 8, Texts: 40,
		Causes:  []querylog.Cause{{Kind: querylog.CauseTTL, Score: 0.5}},
		Members: []querylog.Class{{Hash: 1, Shape: "select a from orders where id = ?", Tables: []string{"orders"}, Verb: "select", Count: uint64(40 * n), Timed: 1, Median: time.Second}},
	}
	for k := range n {
		f.Teeth = append(f.Teeth, comb.Tooth{At: from.Add(time.Duration(k) * period), Width: width, Count: 40})
	}
	f.Count = uint64(40 * n)
	f.Comb = &comb.Comb{Period: period, PeriodErr: 10 * time.Millisecond, Width: width, Lock: lock, Drift: drift, DriftErr: 10 * time.Millisecond, Teeth: f.Teeth, Height: 40}
	return f
}

func logOf(from time.Time, span time.Duration, fs ...querylog.Finding) *querylog.Analysis {
	return &querylog.Analysis{From: from, To: from.Add(span), Resolution: time.Second, Statements: 10000, Findings: fs}
}

func TestEvents(t *testing.T) {
	from := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	first := from.Add(17 * time.Minute)
	e := Evidence{Log: logOf(from, 3*time.Hour, train(first, 15, 601*time.Second, time.Second, comb.Drifting, time.Second))}
	bare := Attribute(e).Verdicts[0]
	for name, ev := range map[string]Event{"at the deploy": {Kind: Deploy, At: first.Add(-3 * time.Second)}, "a TTL after it": {Kind: Flush, At: first.Add(-605 * time.Second)}} {
		e.Events = []Event{ev}
		v := Attribute(e).Verdicts[0]
		if v.Best().Kind != TTL || v.Best().Nats <= bare.Best().Nats || v.Confidence != Strong {
			t.Errorf("%s: %s %.1f (without it %.1f), %v", name, v.Best().Kind, v.Best().Nats, bare.Best().Nats, v.Confidence)
		}
	}
	e.Events = []Event{{Kind: Deploy, At: from.Add(5 * time.Hour)}}
	if v := Attribute(e).Verdicts[0]; v.Best().Nats != bare.Best().Nats {
		t.Errorf("an event that has nothing to do with it: %.1f, without it %.1f", v.Best().Nats, bare.Best().Nats)
	}
	if !asks(&bare, SourceEvents) || !asks(&bare, SourceCache) {
		t.Errorf("asks for %v", bare.Missing)
	}
}

func TestColdStart(t *testing.T) {
	from := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	at := from.Add(20 * time.Minute)
	f := train(at, 1, time.Second, 2*time.Second, comb.Undetermined, 0)
	f.Rule, f.Comb = "HS504", nil
	f.Members = append(f.Members, querylog.Class{Hash: 2, Shape: "select b from customers", Tables: []string{"customers"}, Verb: "select", Count: 40})
	e := Evidence{Log: logOf(from, time.Hour, f)}
	r := Attribute(e)
	if v := r.Verdicts[0]; v.Best().Kind != ColdStart || v.Best().Name != "" || r.Outcome != Once {
		t.Errorf("%s %q, outcome %v", v.Best().Kind, v.Best().Name, r.Outcome)
	}
	e.Events = []Event{{Kind: Deploy, At: at.Add(-5 * time.Second)}}
	if v := Attribute(e).Verdicts[0]; v.Best().Kind != ColdStart || !strings.HasPrefix(v.Best().Name, "deploy at") || v.Confidence != Strong {
		t.Errorf("with the deploy: %s %q %v", v.Best().Kind, v.Best().Name, v.Confidence)
	}
	e.Events = []Event{{Kind: Outage, At: at.Add(-30 * time.Second), To: at.Add(-time.Second)}}
	e.Log.Findings[0].Members[0].Verb = "update"
	if v := Attribute(e).Verdicts[0]; v.Best().Kind != Retry {
		t.Errorf("writes after an outage: %s", v.Best().Kind)
	}
}

func TestOtherZone(t *testing.T) {
	w := newWorld(1, time.Hour)
	w.lint.Entries = nil
	entry := w.entry("jobs/nightly", "0 3 * * *", "/opt/orders-report")
	from := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	f := train(from.Add(17*time.Hour+30*time.Minute), 9, 24*time.Hour, time.Second, comb.WallClock, 0) // 3:00 at UTC-14:30, or 9.5 h later
	f.HostsATooth, f.ConnsATooth = 1, 1
	r := Attribute(Evidence{Log: logOf(from, 10*24*time.Hour, f), Lint: &w.lint})
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == "HS601" })
	if i < 0 || !strings.Contains(r.Findings[i].Message, place(entry)) || !strings.Contains(r.Findings[i].Message, "9.5 h") {
		t.Errorf("findings %+v", r.Findings)
	}
}

// TestOtherClock reads the log as if its zone were another one.
func TestOtherClock(t *testing.T) {
	w := newWorld(21, time.Hour)
	w.look = w.from.Add(w.span + 5*time.Second)
	w.ttlHerd(200, 300, 0.6, true)
	e := w.evidence()
	for _, hours := range []float64{-9.5, 5} {
		wrong := *e.Log
		shift := time.Duration(hours * float64(time.Hour))
		wrong.From, wrong.To, wrong.Findings = e.Log.From.Add(shift), e.Log.To.Add(shift), nil
		for _, f := range e.Log.Findings {
			if f.Comb == nil {
				continue
			}
			c := *f.Comb
			f.Teeth, c.Teeth = slices.Clone(f.Teeth), nil
			for i := range f.Teeth {
				f.Teeth[i].At = f.Teeth[i].At.Add(shift)
			}
			f.Comb = &c
			wrong.Findings = append(wrong.Findings, f)
		}
		r := Attribute(Evidence{Log: &wrong, Caches: e.Caches})
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == "HS601" })
		if i < 0 || !strings.Contains(r.Findings[i].Message, "price:*") {
			t.Errorf("%+g h: %+v", hours, r.Findings)
			continue
		}
		t.Log(r.Findings[i].Message)
	}
	if r := Attribute(e); slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == "HS601" }) {
		t.Errorf("with the right clock: %+v", r.Findings)
	}
}

func TestRetryPolicies(t *testing.T) {
	from := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	f := train(from.Add(10*time.Minute), 8, 6*time.Second, time.Second, comb.Free, 0)
	for i := range f.Teeth {
		f.Teeth[i].Count = uint64(400 - 45*i)
	}
	f.Rule, f.Spacing, f.Growth, f.Outage = "HS505", 6*time.Second, 1, from.Add(10*time.Minute-2*time.Second)
	for name, c := range map[string]struct {
		policy retry.Policy
		fits   bool
	}{
		"the wait and an attempt": {retry.Policy{Shape: retry.Fixed, Delay: 5 * time.Second}, true},
		"longer than the period":  {retry.Policy{Shape: retry.Fixed, Delay: 9 * time.Second}, false},
		"far shorter":             {retry.Policy{Shape: retry.Fixed, Delay: time.Second}, false},
		"random":                  {retry.Policy{Shape: retry.Fixed, Delay: 5 * time.Second, Jitter: retry.Jittered}, false},
		"growing":                 {retry.Policy{Shape: retry.Exponential, Delay: 5 * time.Second, Multiplier: 2}, false},
		"grown to its cap":        {retry.Policy{Shape: retry.Exponential, Delay: time.Second, Multiplier: 2, Max: 5 * time.Second}, true},
	} {
		w := newWorld(1, time.Hour)
		w.lint.Entries, w.lint.Settings = nil, nil
		w.policy("orders-db", c.policy)
		v := Attribute(Evidence{Log: logOf(from, time.Hour, f), Lint: &w.lint}).Verdicts[0]
		if v.Best().Kind != Retry || (v.Best().Setting != nil) != c.fits {
			t.Errorf("%s: %s %q", name, v.Best().Kind, v.Best().Name)
		}
		if !c.fits && !slices.ContainsFunc(v.Cleared, func(c Suspect) bool { return c.Setting != nil }) {
			t.Errorf("%s: not cleared: %+v", name, v.Cleared)
		}
	}
}

func TestOutcomes(t *testing.T) {
	from := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	note := train(from.Add(time.Minute), 8, 6*time.Second, time.Second, comb.Free, 0)
	note.Severity = rule.Note
	short := logOf(from, 10*time.Second)
	short.Undecided = "10s of log: too short to judge a period (need 20 s)"
	for name, c := range map[string]struct {
		e    Evidence
		want Outcome
	}{
		"nothing":  {Evidence{}, NothingGiven},
		"short":    {Evidence{Log: short}, TooShort},
		"quiet":    {Evidence{Log: logOf(from, time.Hour)}, NoHerd},
		"harmless": {Evidence{Log: logOf(from, time.Hour, note)}, NoHerd},
		"herd":     {Evidence{Log: logOf(from, time.Hour, train(from.Add(time.Minute), 8, 301*time.Second, time.Second, comb.Drifting, time.Second))}, Herd},
	} {
		if r := Attribute(c.e); r.Outcome != c.want || r.Why == "" {
			t.Errorf("%s: %v: %s", name, r.Outcome, r.Why)
		}
	}
}

// TestSameAnswer attributes twice: maps must not show.
func TestSameAnswer(t *testing.T) {
	w := newWorld(12, time.Hour)
	w.ttlHerd(80, 300, 0.5, true)
	e := w.evidence()
	first := Attribute(e)
	for range 5 {
		again := Attribute(e)
		if d := cmp.Diff(texts(first), texts(again)); d != "" {
			t.Fatal(d)
		}
	}
}

// texts is all that a result says.
func texts(r *Result) (out []string) {
	for _, v := range r.Verdicts {
		for _, c := range append(v.Suspects, v.Cleared...) {
			out = append(out, string(c.Kind), c.Name, c.Why)
			out = append(append(out, c.For...), c.Against...)
		}
		out = append(out, v.Doubts...)
	}
	for _, f := range r.Findings {
		out = append(out, f.Rule, f.Message)
	}
	return out
}
