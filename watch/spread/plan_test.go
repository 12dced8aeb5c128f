package spread

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// start is when the keys of all tests are read.
var start = time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)

// A cache is keys by name, with their expiries from start on in ms.
type cache struct{ keys []scan.Key }

func (c *cache) add(name string, left int64) {
	k := scan.Key{Name: []byte(name), ExpireMS: scan.NoExpiry}
	if left > 0 {
		k.ExpireMS = start.UnixMilli() + left
	}
	c.keys = append(c.keys, k)
}

// tooth adds n keys that die within width ms.
func (c *cache) tooth(prefix string, n int, left, width int64) {
	for i := range n {
		c.add(fmt.Sprintf("%s:%d", prefix, len(c.keys)), left+width*int64(i)/int64(n))
	}
}

func (c *cache) plan(o Options) (*Plan, error) {
	col, sum := NewCollector(o), &ttlhist.Summary{}
	sum.Begin(ttlhist.Source{Name: "test", Now: start, Resolution: time.Millisecond})
	for i := range c.keys {
		sum.Add(&c.keys[i])
		col.Add(&c.keys[i])
	}
	return col.Plan(ttlhist.Analyse(sum, ttlhist.Options{Kinds: o.Kinds}), start)
}

// A tester is a test, of rapid or not.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// must plans, and checks what holds for every plan.
func (c *cache) must(t tester, o Options) *Plan {
	t.Helper()
	p, err := c.plan(o)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, c, p)
	return p
}

// checkPlan checks the laws of a plan against the keys it was made of.
func checkPlan(t tester, c *cache, p *Plan) {
	t.Helper()
	at := make(map[string]int64, len(c.keys))
	for _, k := range c.keys {
		at[string(k.Name)] = k.ExpireMS
	}
	seen := make(map[string]bool)
	var last int64
	for _, ch := range p.Changes {
		name := string(ch.Name)
		switch {
		case seen[name]:
			t.Fatalf("%s is changed twice", name)
		case at[name] != ch.Old:
			t.Fatalf("%s expires at %d, the plan says %d", name, at[name], ch.Old)
		case ch.Old == scan.NoExpiry:
			t.Fatalf("%s has no TTL", name)
		case !p.AllowLonger && ch.New >= ch.Old:
			t.Fatalf("%s would live longer by %d ms", name, ch.New-ch.Old)
		case ch.New < p.Floor.UnixMilli():
			t.Fatalf("%s would die %d ms before the floor", name, p.Floor.UnixMilli()-ch.New)
		case ch.New < last:
			t.Fatalf("%s is not in order", name)
		}
		seen[name], last, at[name] = true, ch.New, ch.New
		if ttlhist.PatternOf(ch.Name) != p.Pattern && !strings.Contains(p.Pattern, "*") {
			t.Fatalf("%s is not of %s", name, p.Pattern)
		}
	}
	// The load after, counted anew from the keys.
	var after []int64
	m := ttlhist.NewMatcher(p.Pattern)
	for name, ms := range at {
		if m.Match([]byte(name)) == ttlhist.Exact && ms != scan.NoExpiry {
			after = append(after, ms)
		}
	}
	slices.Sort(after)
	if n := busiest(after); n != p.After.Busiest {
		t.Fatalf("the busiest second after has %d keys, the plan says %d", n, p.After.Busiest)
	}
	if len(p.Changes) > 0 && p.After.Busiest >= p.Before.Busiest {
		t.Fatalf("nothing is gained: %d before, %d after", p.Before.Busiest, p.After.Busiest)
	}
	if p.Target > 0 && len(p.Teeth) > 0 && p.Reached != (float64(p.After.Busiest) <= p.Target) {
		t.Fatalf("Reached is %v with %d keys for a target of %g", p.Reached, p.After.Busiest, p.Target)
	}
}

// busiest counts in the slow and simple way.
func busiest(at []int64) (most uint64) {
	for i := range at {
		n := uint64(0)
		for j := i; j < len(at) && at[j] < at[i]+1000; j++ {
			n++
		}
		most = max(most, n)
	}
	return most
}

func TestJitter(t *testing.T) {
	var c cache
	c.tooth("session", 3000, 600_000, 900)
	for i := range 500 {
		c.add(fmt.Sprintf("session:w%d", 10000+i), 1000+int64(i)*7000) // spread already, up to 3500 s
	}
	c.tooth("other", 3000, 600_000, 900)
	p := c.must(t, Options{Pattern: "session:*", Jitter: 0.15, Margin: 10 * time.Second})
	if len(p.Changes) < 2990 || len(p.Changes) > 3000 {
		t.Errorf("%d keys are moved", len(p.Changes))
	}
	if !strings.HasPrefix(string(p.Changes[0].Name), "session:") {
		t.Errorf("%s is moved", p.Changes[0].Name)
	}
	reach := time.Duration(0.15 * float64(p.TTL))
	if p.EarlierMost > reach+time.Second || p.EarlierMost < reach*9/10 {
		t.Errorf("a life is shortened by %s, want up to %s", p.EarlierMost, reach)
	}
	// Even teeth are no higher than what a random TTL of the same width gives.
	e := comb.Predict(comb.Wave{Keys: 3000, Width: 900 * time.Millisecond, TTL: p.TTL}, comb.Jitter{Fraction: 0.15, OneSided: true}, 1)
	if float64(p.After.Busiest) > e.PeakAfter || float64(p.After.Busiest) < 3000/(reach.Seconds()+1) {
		t.Errorf("%d keys in the busiest second, comb predicts %.1f", p.After.Busiest, e.PeakAfter)
	}
	if p.AllAfter.Busiest < 3000 || p.AllBefore.Busiest < 6000 {
		t.Errorf("all keys: %d before, %d after", p.AllBefore.Busiest, p.AllAfter.Busiest)
	}
}

func TestJitterLonger(t *testing.T) {
	var c cache
	c.tooth("page:x", 1000, 600_000, 900)
	p := c.must(t, Options{Pattern: "page:x:*", Jitter: 0.1, AllowLonger: true})
	if p.LaterMost < 55*time.Second || p.EarlierMost < 55*time.Second || p.After.Busiest > 10 {
		t.Errorf("%s earlier, %s later, %d keys a second", p.EarlierMost, p.LaterMost, p.After.Busiest)
	}
}

func TestTarget(t *testing.T) {
	var c cache
	c.tooth("page", 2000, 900_000, 500)
	c.tooth("page", 1000, 1_200_000, 500)
	c.tooth("page", 40, 1_300_000, 10) // below the target
	p := c.must(t, Options{Pattern: "page:*", Target: 50, Margin: 10 * time.Second})
	if !p.Reached || p.After.Busiest < 48 {
		t.Errorf("reached %v: %d keys in the busiest second", p.Reached, p.After.Busiest)
	}
	// 2,000 keys at 50 a second take 40 s: no life is shortened by more.
	if p.EarlierMost > 41*time.Second || p.EarlierMost < 38*time.Second {
		t.Errorf("a life is shortened by %s", p.EarlierMost)
	}
	if len(p.Changes) > 3000 || p.Teeth[2].Move != 0 {
		t.Errorf("%d keys are moved, %d of the low tooth", len(p.Changes), p.Teeth[2].Move)
	}

	p = c.must(t, Options{Pattern: "page:*", Target: 5000})
	if len(p.Changes) != 0 || !strings.Contains(p.Why, "target") {
		t.Errorf("%d changes, %q", len(p.Changes), p.Why)
	}
}

// TestTargetSmallest compares the spread with what is needed at least: n keys
// in a tooth need (n-1)/target seconds.
func TestTargetSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(200, 1500).Draw(t, "n")
		target := rapid.IntRange(2, n/10).Draw(t, "target")
		var c cache
		c.tooth("page", n, 3_600_000, int64(rapid.IntRange(1, 900).Draw(t, "width")))
		p := c.must(t, Options{Pattern: "page:*", Target: float64(target)})
		need := float64(n) / float64(target)
		if !p.Reached || p.EarlierMost.Seconds() > need*1.02+1 {
			t.Fatalf("reached %v with %s for %d keys at %d a second: %g s would do", p.Reached, p.EarlierMost, n, target, need)
		}
	})
}

func TestTargetOutOfReach(t *testing.T) {
	var c cache
	c.tooth("page", 3000, 60_000, 500)
	c.tooth("page", 300, 3_000_000, 500)
	p := c.must(t, Options{Pattern: "page:*", Target: 20, Margin: 10 * time.Second})
	// 50 s less the time of writing are left for 3,000 keys.
	if p.Reached || p.After.Busiest < 60 || p.After.Busiest > 64 {
		t.Errorf("reached %v: %d keys in the busiest second", p.Reached, p.After.Busiest)
	}
	// With more time behind the tooth it is.
	p = c.must(t, Options{Pattern: "page:*", Target: 20, Margin: 10 * time.Second, AllowLonger: true})
	if !p.Reached || p.EarlierMost > 51*time.Second || p.LaterMost < 75*time.Second {
		t.Errorf("reached %v: %s earlier, %s later", p.Reached, p.EarlierMost, p.LaterMost)
	}
}

// TestPlanLaws makes plans for caches of any kind.
func TestPlanLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c cache
		for range rapid.IntRange(0, 4).Draw(t, "teeth") {
			c.tooth("page", rapid.IntRange(1, 400).Draw(t, "n"), int64(rapid.IntRange(1, 3_600_000).Draw(t, "left")), int64(rapid.IntRange(1, 100_000).Draw(t, "width")))
		}
		r := rand.New(rand.NewPCG(1, uint64(len(c.keys))))
		for i := range rapid.IntRange(1, 300).Draw(t, "others") {
			c.add(fmt.Sprintf("page:%d", 1_000_000+i), r.Int64N(3_600_000)-100)
		}
		o := Options{
			Pattern: "page:*", AllowLonger: rapid.Bool().Draw(t, "longer"), Seed: rapid.Uint64().Draw(t, "seed"),
			Margin: time.Duration(rapid.IntRange(0, 600).Draw(t, "margin")) * time.Second,
		}
		if rapid.Bool().Draw(t, "by target") {
			o.Target = float64(rapid.IntRange(1, 200).Draw(t, "target"))
		} else {
			o.Jitter = rapid.Float64Range(0.001, 1).Draw(t, "jitter")
		}
		p, err := c.plan(o)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, &c, p)
		again, _ := c.plan(o)
		if !slices.EqualFunc(p.Changes, again.Changes, sameChange) {
			t.Fatal("the same plan made twice differs")
		}
	})
}

func sameChange(a, b scan.Change) bool {
	return string(a.Name) == string(b.Name) && a.Old == b.Old && a.New == b.New && a.DB == b.DB
}

func TestTooLate(t *testing.T) {
	var c cache
	c.tooth("page", 1000, 5_000, 500)
	p := c.must(t, Options{Pattern: "page:*", Jitter: 0.5, Margin: 10 * time.Second})
	if len(p.Changes) != 0 || !strings.Contains(p.Why, "too late") {
		t.Errorf("%d changes, %q", len(p.Changes), p.Why)
	}
}

func TestNoHerd(t *testing.T) {
	var c cache
	for i := range 1000 {
		c.add(fmt.Sprintf("page:%d", i), 1000+int64(i)*3600)
	}
	c.add("few:1", 100_000)
	p := c.must(t, Options{Pattern: "page:*", Jitter: 0.15})
	if len(p.Changes) != 0 || !strings.Contains(p.Why, "no herd") {
		t.Errorf("%d changes, %q", len(p.Changes), p.Why)
	}
	p = c.must(t, Options{Pattern: "few:*", Jitter: 0.15})
	if len(p.Changes) != 0 || !strings.Contains(p.Why, "too few") {
		t.Errorf("%d changes, %q", len(p.Changes), p.Why)
	}
	_, err := c.plan(Options{Pattern: "nothing:*", Jitter: 0.15})
	var none *PatternError
	if !errors.As(err, &none) || !slices.Contains(none.Near, "page:*") {
		t.Errorf("error is %v", err)
	}
}

func TestRefused(t *testing.T) {
	for _, name := range []string{"lock:order", "queue:mail", "ratelimit"} {
		pattern := name + ":*"
		var c cache
		c.tooth(name, 1000, 600_000, 500)
		var refused *RefusedError
		if _, err := c.plan(Options{Pattern: pattern, Jitter: 0.15}); !errors.As(err, &refused) {
			t.Errorf("%s: error is %v", pattern, err)
		}
		p := c.must(t, Options{Pattern: pattern, Jitter: 0.15, Kinds: []ttlhist.KindRule{{Kind: ttlhist.Cache, Match: regexp.MustCompile("^" + name)}}})
		if len(p.Changes) == 0 {
			t.Errorf("%s: nothing is moved though it is called a cache: %s", pattern, p.Why)
		}
	}
	// Fixed windows that end on the full minute are counters, whatever their name.
	var c cache
	for i := range 600 {
		c.add(fmt.Sprintf("win:%d", i), int64(1+i%10)*60_000)
	}
	var refused *RefusedError
	if _, err := c.plan(Options{Pattern: "win:*", Jitter: 0.15}); !errors.As(err, &refused) || !strings.Contains(refused.Why, "counters") {
		t.Errorf("error is %v", err)
	}
}

func TestCheckTypes(t *testing.T) {
	p := &Plan{Options: Options{Pattern: "emails:*"}}
	if err := p.CheckTypes([]scan.Detail{{Type: "string"}, {Type: "hash"}}); err != nil {
		t.Error(err)
	}
	if err := p.CheckTypes([]scan.Detail{{Type: "string"}, {Type: "list"}}); err == nil {
		t.Error("lists are not refused")
	}
	p.Kinds = []ttlhist.KindRule{{Kind: ttlhist.Cache, Match: regexp.MustCompile("emails")}}
	if err := p.CheckTypes([]scan.Detail{{Type: "list"}}); err != nil {
		t.Error(err)
	}
}

// TestGuardedKeys spreads a row that joins patterns of which one is a lock's.
func TestGuardedKeys(t *testing.T) {
	words := []string{"alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mallory", "niaj", "olivia", "peggy", "rupert", "lock", "sybil"}
	var d cache
	for _, w := range words {
		for j := range 2 {
			d.add(fmt.Sprintf("u:%s:cart:%d", w, j), 600_123)
		}
	}
	p, err := d.plan(Options{Pattern: "u:*:cart:*", Jitter: 0.15})
	if err != nil {
		t.Fatal(err)
	}
	if p.Guarded != 2 {
		t.Errorf("%d keys are guarded, want the 2 of u:lock", p.Guarded)
	}
	for _, ch := range p.Changes {
		if strings.Contains(string(ch.Name), "lock") {
			t.Errorf("%s is moved", ch.Name)
		}
	}
	if len(p.Changes) < 30 {
		t.Errorf("%d keys are moved: %s", len(p.Changes), p.Why)
	}
}

func TestSharpen(t *testing.T) {
	p := &Plan{Changes: []scan.Change{{Old: 10_000, New: 5000}, {Old: 20_000, New: 15_000}, {Old: 30_000, New: 25_000}, {Old: 40_000, New: 39_999}}}
	if left := p.Sharpen([]int64{10_002, 60_000, scan.Gone, 39_998}); left != 3 {
		t.Errorf("%d keys left the plan", left)
	}
	if len(p.Changes) != 1 || p.Changes[0].Old != 10_002 || p.Changes[0].New != 5000 {
		t.Errorf("left are %v", p.Changes)
	}
}

func TestSample(t *testing.T) {
	p := &Plan{Changes: make([]scan.Change, 1000)}
	if n := len(p.Sample(100)); n != 100 {
		t.Errorf("%d keys", n)
	}
	p.Changes = p.Changes[:7]
	if n := len(p.Sample(100)); n != 7 {
		t.Errorf("%d keys", n)
	}
}

func BenchmarkPlan(b *testing.B) {
	var c cache
	for i := range 6 {
		c.tooth("page", 50_000, int64(i+1)*300_000, 900)
	}
	for _, o := range []Options{{Pattern: "page:*", Jitter: 0.15}, {Pattern: "page:*", Target: 200}} {
		b.Run(fmt.Sprintf("target %g", o.Target), func(b *testing.B) {
			for b.Loop() {
				p, err := c.plan(o)
				if err != nil || len(p.Changes) == 0 || math.IsNaN(p.Target) {
					b.Fatal(err)
				}
			}
		})
	}
}
