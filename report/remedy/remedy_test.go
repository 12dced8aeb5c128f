package remedy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The two layers of one herd on the hour: thousands of keys, and one of them hot.
var onTheHour = Case{
	Kind: TTLHerd, Peak: 900, Keys: 4000, Width: 8 * time.Second, TTL: time.Hour, Period: time.Hour,
	Copies: 400, Identical: 0.08, Reads: 400, Rebuild: 1200 * time.Millisecond, Processes: 14, Deploy: true,
}

func TestAdviseOrder(t *testing.T) {
	pinned := Case{Kind: TTLHerd, Keys: 500, Width: time.Second, TTL: time.Hour, PinnedTo: "midnight"}
	for _, x := range []struct {
		name  string
		c     Case
		yes   string // remedies that help, in order
		parts string
		no    string
	}{
		{"two layers", onTheHour, "", "ttl_jitter coalesce serve_stale lock early_refresh", ""},
		{"many keys", Case{Kind: TTLHerd, Keys: 4000, Width: time.Second, TTL: time.Hour}, "ttl_jitter", "serve_stale", "coalesce lock early_refresh"},
		{"pinned", pinned, "ttl_jitter", "serve_stale", "coalesce lock early_refresh"},
		{"one hot key", Case{Kind: HotKey, Peak: 402, Processes: 14}, "coalesce serve_stale lock early_refresh", "", "ttl_jitter"},
		{"hot key of as many processes", Case{Kind: HotKey, Peak: 40, Processes: 400}, "serve_stale lock early_refresh", "", "coalesce ttl_jitter"},
		{"hot key, little traffic", Case{Kind: HotKey, Peak: 2, Reads: 1, Rebuild: time.Second, Processes: 1}, "coalesce serve_stale lock", "", "early_refresh ttl_jitter"},
		{"balance", Case{Kind: HotKey, Peak: 402, Processes: 14, Names: []string{"account_balances"}}, "no_cache coalesce lock early_refresh", "", "serve_stale ttl_jitter"},
		{"harmless", Case{Kind: HotKey, Peak: 30, Rebuild: 3 * time.Millisecond, Slowest: 4 * time.Millisecond, AtOnce: 1, Processes: 3}, "none coalesce serve_stale lock early_refresh", "", "ttl_jitter"},
		{"within the budget", Case{Kind: Budget, Keys: 30, Peak: 30, Width: time.Second, TTL: time.Minute, Budget: 100}, "none", "serve_stale", "ttl_jitter coalesce lock early_refresh"},
		{"cold start", Case{Kind: ColdStart, Peak: 2000, Keys: 5000, Total: 5000, Processes: 8}, "warm_up", "stagger ttl_jitter", "coalesce lock serve_stale early_refresh"},
		{"cold start of one value", Case{Kind: ColdStart, Peak: 150, Identical: 1, Keys: 1, Processes: 8}, "coalesce lock warm_up", "stagger", "ttl_jitter serve_stale early_refresh"},
		{"warm-up job", Case{Kind: WarmUpJob, Peak: 3000, Keys: 3000, Width: time.Second, TTL: 5 * time.Minute, Period: 10 * time.Minute}, "outlive ttl_jitter", "serve_stale", "coalesce lock early_refresh"},
		{"cron", Case{Kind: CronPileUp, Peak: 900, Jobs: 5, Largest: 300, Period: time.Hour}, "cron_minutes", "", "run_once ttl_jitter"},
		{"one large cron job", Case{Kind: CronPileUp, Peak: 900, Jobs: 5, Largest: 850, Period: time.Hour}, "", "", "cron_minutes run_once ttl_jitter"},
		{"retries", Case{Kind: RetryStorm, Peak: 900, Clients: 900, Spacing: 30 * time.Second}, "backoff", "retry_budget", "coalesce"},
		{"replicas", Case{Kind: ReplicaJob, Peak: 900, Processes: 5, Period: 2 * time.Minute}, "run_once", "cron_minutes", ""},
		{"missing", Case{Kind: MissingKey, MissRate: 90, Missing: 200}, "negative_cache", "", "coalesce ttl_jitter"},
		{"random ids", Case{Kind: MissingKey, MissRate: 90, Missing: 1e6}, "", "", "negative_cache coalesce ttl_jitter"},
		{"writes", Case{Kind: HotKey, Peak: 900, Write: true}, "", "", "coalesce serve_stale lock early_refresh ttl_jitter"},
		{"unknown", Case{Kind: "unknown", Peak: 900}, "", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := map[Helps][]string{}
			for _, r := range Advise(x.c) {
				got[r.Helps] = append(got[r.Helps], string(r.Name))
				if r.Helps == No && r.Why == "" {
					t.Errorf("%s does not help, and nothing says why", r.Name)
				}
			}
			for h, want := range map[Helps]string{Yes: x.yes, Partly: x.parts, No: x.no} {
				if s := strings.Join(got[h], " "); s != want {
					t.Errorf("helps %q: %s, want %s", h, s, want)
				}
			}
		})
	}
}

func TestBestOfTwoLayers(t *testing.T) {
	c := onTheHour
	c.Lang = "go"
	best, ok := Best(c, Advise(c))
	if !ok || best.Helps != Yes || best.Effect.PeakAfter > 60 {
		t.Fatalf("%+v", best)
	}
	for _, part := range []string{"rand.N(", "flights.DoChan("} {
		if !strings.Contains(best.Code, part) {
			t.Errorf("no %s in\n%s", part, best.Code)
		}
	}
	if _, ok := Best(Case{}, nil); ok {
		t.Error("nothing to do is a fix")
	}
	c = Case{Kind: HotKey, Peak: 402, Processes: 14, Names: []string{"userPermissions"}}
	if best, _ := Best(c, Advise(c)); best.Name != Coalesce || !strings.Contains(best.Caveats[0], "permission") {
		t.Errorf("%+v", best)
	}
}

func TestJitterIsNoWiderThanNeeded(t *testing.T) {
	c := Case{Kind: TTLHerd, Peak: 500, Keys: 500, Width: time.Second, TTL: time.Hour}
	usual, _ := c.jitterOf()
	c.Rebuild = 20 * time.Millisecond
	known, _ := c.jitterOf()
	c.Budget = 5
	strict, enough := c.jitterOf()
	if usual.Fraction != 0.15 || known.Fraction >= usual.Fraction || known.Fraction == 0 {
		t.Errorf("±%.2f not knowing what a load takes, ±%.2f knowing it", usual.Fraction, known.Fraction)
	}
	if strict.Fraction <= known.Fraction || !enough {
		t.Errorf("±%.2f for a strict budget, enough: %v", strict.Fraction, enough)
	}
	c.Budget = 0.1
	if r := jitter(c); r.Helps != Partly || len(r.Caveats) == 0 {
		t.Errorf("a budget that no jitter reaches: %+v", r)
	}
}

func TestConflicts(t *testing.T) {
	c := onTheHour
	c.Policy, c.LockTTL, c.LocksBesideBlobs, c.PinnedTo = "allkeys-lru", time.Second, true, "midnight"
	for name, want := range map[Name]int{Lock: 2, ServeStale: 1, Jitter: 1, Coalesce: 0} {
		r := find(t, Advise(c), name)
		if len(r.Conflicts) != want {
			t.Errorf("%s: %+v, want %d", name, r.Conflicts, want)
		}
		for _, x := range r.Conflicts {
			if x.Remedy != name || x.Setting == "" || x.Why == "" || x.Instead == "" {
				t.Errorf("%+v", x)
			}
		}
	}
	if r := find(t, Advise(c), Jitter); r.Code != "" {
		t.Error("code for a TTL where a deadline is set")
	}
	once := Case{Kind: ReplicaJob, Peak: 10, Processes: 2, Policy: "volatile-ttl"}
	if r := find(t, Advise(once), RunOnce); len(r.Conflicts) != 1 {
		t.Errorf("a claim that may be evicted: %+v", r.Conflicts)
	}
	c.Policy, c.LockTTL, c.PinnedTo = "noeviction", time.Minute, ""
	for _, r := range Advise(c) {
		if len(r.Conflicts) > 0 {
			t.Errorf("%+v", r.Conflicts)
		}
	}
}

func TestPitfalls(t *testing.T) {
	c := onTheHour
	for name, want := range map[Name][]string{
		Lock:         {"compare-and-delete", "connection pool"},
		Coalesce:     {"first caller's context", "error"},
		ServeStale:   {"bound the staleness"},
		EarlyRefresh: {"cold start"},
		Jitter:       {"changes the form of keys"},
	} {
		all := strings.Join(find(t, Advise(c), name).Caveats, "\n")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: no %q in %q", name, w, all)
			}
		}
	}
	if lease := (Case{Slowest: 7 * time.Second}).lease(); lease <= 7*time.Second {
		t.Errorf("a lease of %v for loads of 7 s", lease)
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"account_balances": "balance", "userPermissions": "permission", "stock:*": "stock", "livestock": "", "stockings": "", "": "",
		"SELECT qty FROM inventory": "inventory",
	} {
		if got, _ := (Case{Names: []string{name}}).mustBeExact(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if !slices.IsSorted(exactWords) {
		t.Error("the words are searched by halves")
	}
}

// TestAdviseHolds draws cases: whatever is known, nothing panics, no effect
// makes things worse, and curves are of one length.
func TestAdviseHolds(t *testing.T) {
	kinds := []Kind{TTLHerd, WarmUpJob, HotKey, ColdStart, CronPileUp, RetryStorm, ReplicaJob, MissingKey, Budget, "", "?"}
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, most float64) float64 {
			if rapid.Bool().Draw(t, name+" known") {
				return rapid.Float64Range(0, most).Draw(t, name)
			}
			return 0
		}
		long := func(name string, most time.Duration) time.Duration {
			return time.Duration(number(name, float64(most)))
		}
		c := Case{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Lang: rapid.SampledFrom(append(Langs(), "", "cobol")).Draw(t, "lang"),
			Peak: number("peak", 1e6), Total: number("total", 1e7), Baseline: number("baseline", 1e3), Width: long("width", time.Hour),
			Period: long("period", 25*time.Hour), Keys: number("keys", 1e7), TTL: long("ttl", 30*24*time.Hour), Budget: number("budget", 1e4),
			Reads: number("reads", 1e5), Copies: number("copies", 1e5), AtOnce: number("at once", 1e3), Identical: number("identical", 1),
			Rebuild: long("rebuild", time.Minute), Slowest: long("slowest", time.Hour), Processes: rapid.IntRange(0, 1000).Draw(t, "processes"),
			Jobs: rapid.IntRange(0, 70).Draw(t, "jobs"), Largest: number("largest", 1e6), Minutes: []int{0, 30}, Clients: number("clients", 1e6),
			Spacing: long("spacing", time.Hour), MissRate: number("misses", 1e5), Missing: number("missing", 1e7), Policy: "allkeys-lfu",
		}
		list := Advise(c)
		order := []Helps{}
		for _, r := range list {
			order = append(order, r.Helps)
			if e := r.Effect; e != nil && !(e.PeakAfter >= 0 && e.PeakAfter <= e.PeakBefore) {
				t.Fatalf("%s: %+v", r.Name, *e)
			}
			if k := r.Curve; k != nil && (len(k.Before) != len(k.After) || len(k.Before) > maxSteps || k.Step < time.Second) {
				t.Fatalf("%s: a curve of %d and %d steps of %v", r.Name, len(k.Before), len(k.After), k.Step)
			}
			if r.Text == "" || strings.Contains(r.Text+r.Why, "NaN") || strings.Contains(r.Code, "{{") {
				t.Fatalf("%+v", r)
			}
		}
		if !slices.IsSortedFunc(order, func(a, b Helps) int { return rank(a) - rank(b) }) {
			t.Fatalf("not the best first: %v", order)
		}
		Best(c, list)
	})
}

// TestBackoffBounds wants a first pause that a single failure can bear, a cap
// that people write, and enough attempts to outlive it.
func TestBackoffBounds(t *testing.T) {
	for _, clients := range []float64{5, 200, 5000, 1e6} {
		for _, spacing := range []time.Duration{0, 20 * time.Millisecond, 6 * time.Second, 30 * time.Second, 4 * time.Minute} {
			w := Case{Kind: RetryStorm, Peak: clients, Clients: clients, Spacing: spacing}.retries()
			if w.Pause < 100*time.Millisecond || w.Pause > time.Second || w.Cap < 10*time.Second || w.Cap < spacing || w.Cap > 5*time.Minute {
				t.Errorf("%.0f clients %v apart: bounds of %v to %v", clients, spacing, w.Pause, w.Cap)
			}
			if longest := w.Pause << (attemptsOf(w) - 1); longest < w.Cap {
				t.Errorf("%d attempts from %v never reach %v", attemptsOf(w), w.Pause, w.Cap)
			}
		}
	}
}
