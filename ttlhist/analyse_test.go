package ttlhist

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
)

// loadKeys returns a keyspace with planted herds among healthy groups, in the
// proportions of a shop.
func loadKeys(n int, seed uint64) []scan.Key {
	r := rand.New(rand.NewPCG(seed, 2))
	base := testNow + 86_400_000
	keys := make([]scan.Key, 0, n)
	add := func(exp int64, typ, format string, args ...any) {
		keys = append(keys, scan.Key{Name: fmt.Appendf(nil, format, args...), ExpireMS: exp, Type: typ})
	}
	for i := range n {
		switch p := r.IntN(100); {
		case p < 30:
			add(base+3_600_000+r.Int64N(60_000), "string", "product:%d:view", i)
		case p < 45:
			add(testNow+r.Int64N(86_400_000), "string", "session:%016x%016x", r.Uint64(), r.Uint64())
		case p < 60:
			add(base*85/100+testNow*15/100-86_400_000*85/100+86_400_000*85/100+r.Int64N(86_400_000*30/100), "string", "user:%d:profile", i)
		case p < 70:
			add(base+r.Int64N(24)*3_600_000+r.Int64N(5000), "string", "page:/c/%d/p/%d", r.IntN(3000), i)
		case p < 78:
			add(base+r.Int64N(60_000), "string", "rate:10.%d.%d.%d:%d", r.IntN(256), r.IntN(256), r.IntN(256), i)
		case p < 86:
			add(scan.NoExpiry, "string", "cfg:tenant:%d:flag:%d", r.IntN(500), i)
		case p < 90:
			exp := scan.NoExpiry
			if r.IntN(2) == 0 {
				exp = base + 30_000
			}
			add(exp, "string", "lock:order:%d", i)
		case p < 94:
			add(base+604_800_000+r.Int64N(3_600_000), "hash", "cart:%d", i)
		case p < 96:
			add(scan.NoExpiry, "list", "queue:mail:%d", i)
		case p < 98:
			add(scan.NoExpiry, "set", "followers:%d", i)
		default:
			add(base+7_200_000, "zset", "lb:%d:daily", i)
		}
	}
	return keys
}

func herdOfPattern(a *Analysis, pattern string) *Finding {
	for i := range a.Findings {
		if f := &a.Findings[i]; f.Rule == "HS401" && slices.Equal(f.Patterns, []string{pattern}) {
			return f
		}
	}
	return nil
}

func TestShop(t *testing.T) {
	a := Analyse(sum(loadKeys(60_000, 1)), Options{})
	for _, c := range []struct {
		pattern string
		teeth   int
	}{{"product:*:view", 1}, {"page:/c/*/p/*", 24}, {"rate:*:*", 1}, {"lb:*:daily", 1}} {
		f := herdOfPattern(a, c.pattern)
		if f == nil {
			t.Errorf("%s: no herd", c.pattern)
			continue
		}
		if f.Severity != rule.Warning || len(f.Herd.Teeth) != c.teeth {
			t.Errorf("%s: %s with %d teeth, want a warning with %d", c.pattern, f.Severity, len(f.Herd.Teeth), c.teeth)
		}
	}
	if f := herdOfPattern(a, "page:/c/*/p/*"); f != nil && (f.Herd.Spacing < 3599*time.Second || f.Herd.Spacing > 3601*time.Second) {
		t.Errorf("spacing %v, want 1 h", f.Herd.Spacing)
	}
	for _, quiet := range []string{"session:*", "user:*:profile"} {
		if f := herdOfPattern(a, quiet); f != nil {
			t.Errorf("%s: a herd where there is none: %+v", quiet, f.Herd.Teeth[0])
		}
	}
	var locks uint64
	for _, f := range a.Findings {
		if f.Rule == "HS402" {
			locks += f.Count
		}
	}
	if locks < 1000 || locks > 1400 {
		t.Errorf("%d locks without TTL, want about 1200", locks)
	}
}

// steady returns n keys of a pattern, written steadily with one TTL.
func steady(r *rand.Rand, format string, n int, ttl time.Duration) []scan.Key {
	var keys []scan.Key
	for i := range n {
		keys = append(keys, scan.Key{Name: fmt.Appendf(nil, format, i), ExpireMS: testNow + r.Int64N(ttl.Milliseconds())})
	}
	return keys
}

// burst returns n keys of a pattern that expire within a width, after a time.
func burst(r *rand.Rand, format string, n int, after, width time.Duration) []scan.Key {
	var keys []scan.Key
	for i := range n {
		keys = append(keys, scan.Key{Name: fmt.Appendf(nil, format, 1_000_000+i), ExpireMS: testNow + after.Milliseconds() + r.Int64N(width.Milliseconds()+1)})
	}
	return keys
}

func findings(a *Analysis, id string) []Finding {
	var all []Finding
	for _, f := range a.Findings {
		if f.Rule == id {
			all = append(all, f)
		}
	}
	return all
}

func TestHerdWithKnownTTL(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	keys := append(steady(r, "article:%d", 3000, 10*time.Minute), burst(r, "article:%d", 900, 200*time.Second, 4*time.Second)...)
	a := Analyse(sum(keys), Options{Target: 50})
	f := herdOfPattern(a, "article:*")
	if f == nil {
		t.Fatalf("no herd in %+v", a.Findings)
	}
	h := f.Herd
	if h.Base.TTL != 10*time.Minute {
		t.Errorf("TTL %v (%s), want 10m", h.Base.TTL, h.Base.From)
	}
	if born := h.BornFrom.Sub(time.UnixMilli(testNow)); born < -401*time.Second || born > -398*time.Second {
		t.Errorf("born %v from the snapshot, want -400s", born)
	}
	if h.NextIn < 199*time.Second || h.NextIn > 201*time.Second {
		t.Errorf("next tooth in %v, want 200s", h.NextIn)
	}
	if !h.Jitter.Helps || h.Jitter.First.PeakAfter > 20 || !h.Jitter.Enough || h.Jitter.Smallest.Fraction > 0.05 {
		t.Errorf("jitter %+v: 900 keys over 180 s should come to some 15 a second", h.Jitter)
	}
}

func TestSmallPatternsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	var keys []scan.Key
	for _, p := range []string{"menu:%d", "banner:%d", "price:%d:eur", "stock:%d", "tax:%d"} {
		keys = append(keys, burst(r, p, 12, 300*time.Second, 2*time.Second)...)
	}
	keys = append(keys, steady(r, "visit:%d", 400, 30*time.Minute)...)
	a := Analyse(sum(keys), Options{})
	herds := findings(a, "HS401")
	if len(herds) != 1 || len(herds[0].Patterns) != 5 || herds[0].Count < 60 {
		t.Fatalf("findings %+v, want one herd of 5 patterns and 60 keys", herds)
	}
	if len(a.Undecided) != 0 {
		t.Errorf("undecided %v: they are part of the herd", a.Undecided)
	}
}

func TestTooFew(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	a := Analyse(sum(burst(r, "menu:%d", 12, 300*time.Second, time.Second)), Options{})
	if len(a.Findings) != 0 || len(a.Undecided) != 1 || a.Undecided[0].Why != "too few to judge (12 of 20)" {
		t.Errorf("findings %v, undecided %v", a.Findings, a.Undecided)
	}
	if empty := Analyse(&Summary{}, Options{}); len(empty.Findings) != 0 || empty.Keys != 0 {
		t.Errorf("an empty Summary gives %+v", empty)
	}
}

func TestKinds(t *testing.T) {
	for pattern, want := range map[string]Kind{
		"lock:order:*": LockKey, "order:*:lock": LockKey, "user_lock:*": LockKey, "orderLock:*": LockKey, "cache:lock:*": LockKey,
		"clock:*": Data, "blocked:users": Data, "unlock:*": Data, "lb:*:daily": Data, "user:*": Data, "rates:all": Data,
		"rl:*:*": Counter, "rate_limit:*": Counter, "rate-limit:*": Counter, "rack::attack:*": Counter, "throttle:*": Counter,
		"bull:video:wait": Queue, "queue:mail": Queue, "celery": Queue, "resque:queue:*": Queue, "delayed:jobs": Queue,
		"sess:*": Session, "spring:session:sessions:*": Session, "PHPREDIS_SESSION:*": Session,
		"cache:product:*": Cache, "page:home": Cache, "views.decorators.cache.cache_page.*": Cache,
	} {
		if got, why := kindOf(pattern, nil, 0, nil); got != want {
			t.Errorf("%s is a %s (%s), want %s", pattern, got, why, want)
		}
	}
	rules := []KindRule{{Queue, regexp.MustCompile(`^mail:`)}}
	if got, _ := kindOf("mail:lock", nil, 0, rules); got != Queue {
		t.Errorf("the user's rule does not count: %s", got)
	}
	if got, _ := kindOf("inbox:*", map[string]uint64{"list": 3}, 3, nil); got != Queue {
		t.Errorf("a list without TTL is a %s, want a queue", got)
	}
}

func TestHarmlessHerds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	minute := time.Duration(60_000-testNow%60_000) * time.Millisecond
	for name, keys := range map[string][]scan.Key{
		"locks":                   burst(r, "lock:%d", 100, 30*time.Second, 10*time.Millisecond),
		"counters":                burst(r, "throttle:%d", 100, 37*time.Second, time.Second),
		"fixed window by another": burst(r, "fw:%d", 100, minute-3*time.Millisecond, 3*time.Millisecond),
	} {
		a := Analyse(sum(append(keys, steady(r, "user:%d", 500, time.Hour)...)), Options{})
		herds := findings(a, "HS401")
		if len(herds) != 1 || herds[0].Severity != rule.Note {
			t.Errorf("%s: %+v, want one note", name, herds)
		}
	}
	pinned := burst(r, "cache:%d", 100, minute, 0)
	if herds := findings(Analyse(sum(pinned), Options{}), "HS401"); len(herds) != 1 || herds[0].Severity != rule.Warning {
		t.Errorf("cache values at the full minute: %+v, want a warning", herds)
	}
}

func TestWallClock(t *testing.T) {
	midnight := time.UnixMilli(testNow).UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	var keys []scan.Key
	for i := range 50 {
		keys = append(keys, scan.Key{Name: fmt.Appendf(nil, "daily:%d", i), ExpireMS: midnight.UnixMilli()})
	}
	a := Analyse(sum(keys), Options{})
	if f := findings(a, "HS407"); len(f) != 1 || f[0].Herd.Pinned != Midnight {
		t.Errorf("HS407 %+v, want midnight", f)
	}
	if f := findings(a, "HS401"); len(f) != 1 || f[0].Severity != rule.Warning {
		t.Errorf("HS401 %+v, want a warning: values until midnight are refilled", f)
	}
	s := &Summary{}
	s.Begin(Source{Now: time.UnixMilli(testNow), Resolution: time.Second})
	r := rand.New(rand.NewPCG(3, 1))
	for _, k := range steady(r, "item:%d", 300, time.Hour) {
		k.ExpireMS -= k.ExpireMS % 1000
		s.Add(&k)
	}
	if f := findings(Analyse(s, Options{}), "HS407"); len(f) != 0 {
		t.Errorf("HS407 %+v from a source of whole seconds", f)
	}
}

func TestEvictionPolicy(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	data := steady(r, "cache:%d", 300, time.Hour)
	sessions := steady(r, "sess:%d", 300, time.Hour)
	queue := []scan.Key{{Name: []byte("queue:mail"), ExpireMS: scan.NoExpiry, Type: "list"}}
	lock := []scan.Key{{Name: []byte("lock:x"), ExpireMS: testNow + 1000, Type: "string"}}
	for _, c := range []struct {
		name, policy string
		memory       uint64
		keys         [][]scan.Key
		want         int // -1: no finding
	}{
		{"queue, allkeys", "allkeys-lru", 1, [][]scan.Key{data, queue}, int(rule.Warning)},
		{"queue, allkeys without a limit", "allkeys-lru", 0, [][]scan.Key{data, queue}, -1},
		{"queue, volatile", "volatile-lru", 1, [][]scan.Key{data, queue}, -1},
		{"lock with TTL, volatile", "volatile-ttl", 1, [][]scan.Key{data, lock}, int(rule.Warning)},
		{"queue, noeviction", "noeviction", 1, [][]scan.Key{data, queue}, -1},
		{"sessions, allkeys", "allkeys-lfu", 1, [][]scan.Key{data, sessions}, int(rule.Note)},
		{"queue without a cache", "allkeys-lru", 1, [][]scan.Key{queue}, -1},
	} {
		s := &Summary{}
		s.Begin(Source{Now: time.UnixMilli(testNow), Policy: c.policy, MaxMemory: c.memory})
		for _, keys := range c.keys {
			for i := range keys {
				s.Add(&keys[i])
			}
		}
		got := -1
		for _, f := range findings(Analyse(s, Options{}), "HS403") {
			got = int(f.Severity)
		}
		if got != c.want {
			t.Errorf("%s: severity %d, want %d", c.name, got, c.want)
		}
	}
}

func TestOtherRules(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	hot := scan.Key{Name: []byte("price:1"), ExpireMS: testNow + 3000, HasFreq: true, Freq: 200}
	for _, c := range []struct {
		id   string
		keys []scan.Key
		want int
	}{
		{"HS402", []scan.Key{{Name: []byte("lock:order:1"), ExpireMS: scan.NoExpiry}}, 1},
		{"HS402", []scan.Key{{Name: []byte("lock:order:1"), ExpireMS: scan.NoExpiry, FieldExpireMS: testNow}}, 0},
		{"HS404", []scan.Key{hot}, 1},
		{"HS404", []scan.Key{{Name: []byte("price:1"), ExpireMS: testNow + 300_000, HasFreq: true, Freq: 200}}, 0},
		{"HS405", steady(r, "item:%d", 1000, time.Hour), 1},
		{"HS405", steady(r, "lock:%d", 1000, time.Hour), 0},
		{"HS406", []scan.Key{{Name: []byte("cache:x"), ExpireMS: scan.NoExpiry}}, 1},
		{"HS406", []scan.Key{{Name: []byte("cache:x"), ExpireMS: scan.NoExpiry, FieldExpireMS: testNow}}, 0},
		{"HS406", []scan.Key{{Name: []byte("user:x"), ExpireMS: scan.NoExpiry}}, 0},
		{"HS409", append(steady(r, "v1:item:%d", 100, 10*time.Minute), steady(r, "v2:item:%d", 100, time.Hour)...), 1},
		{"HS409", append(steady(r, "v1:item:%d", 300, time.Hour), steady(r, "v2:item:%d", 300, time.Hour)...), 0},
		{"HS408", burst(r, "item:%d", 100, time.Minute, 10*time.Millisecond), 1},
	} {
		a := Analyse(sum(c.keys), Options{Budget: 50})
		if got := len(findings(a, c.id)); got != c.want {
			t.Errorf("%s: %d findings, want %d: %+v", c.id, got, c.want, a.Findings)
		}
	}
}

func TestOriginalTTLs(t *testing.T) {
	s := &Summary{}
	s.Begin(Source{Now: time.UnixMilli(testNow), Resolution: time.Second})
	r := rand.New(rand.NewPCG(6, 1))
	for _, k := range burst(r, "frag:%d", 60, 20*time.Second, 3*time.Second) {
		k.ExpireMS -= k.ExpireMS % 1000
		k.TTL = time.Minute - time.Duration(r.IntN(2))*time.Second
		s.Add(&k)
	}
	f := herdOfPattern(Analyse(s, Options{}), "frag:*")
	if f == nil || f.Herd.Base.TTL != time.Minute || f.Herd.Base.From != Original {
		t.Fatalf("%+v, want a herd with the TTL 60 s that the cache knows", f)
	}
}

func TestIdleTimesTellTheTTL(t *testing.T) {
	s := &Summary{}
	s.Begin(Source{Now: time.UnixMilli(testNow)})
	r := rand.New(rand.NewPCG(6, 1))
	for _, k := range burst(r, "frag:%d", 60, 20*time.Second, 3*time.Second) {
		k.HasIdle = true
		k.Idle = (90*time.Second - time.Duration(k.ExpireMS-testNow)*time.Millisecond).Truncate(time.Second)
		s.Add(&k)
	}
	f := herdOfPattern(Analyse(s, Options{}), "frag:*")
	if f == nil || f.Herd.Base.TTL != 90*time.Second || f.Herd.Base.From != LeftPlusIdle {
		t.Fatalf("%+v, want a herd with TTL 90 s", f)
	}
}

// Keys that are read all the time have idle times of about zero: what remains
// is then no TTL.
func TestShortIdleTimesTellNothing(t *testing.T) {
	s := &Summary{}
	s.Begin(Source{Now: time.UnixMilli(testNow)})
	r := rand.New(rand.NewPCG(6, 2))
	for _, k := range burst(r, "frag:%d", 60, 20*time.Minute, 2*time.Second) {
		s.Add(&k)
		s.ObserveLife(k.Name, time.Duration(k.ExpireMS-testNow)*time.Millisecond, time.Duration(r.IntN(2))*time.Second)
	}
	f := herdOfPattern(Analyse(s, Options{}), "frag:*")
	if f == nil || f.Herd.Base.From == LeftPlusIdle || !f.Herd.BornFrom.IsZero() {
		t.Fatalf("%+v, want a herd whose birth is not known", f)
	}
}

// Deadlines on the full minute say nothing about when the keys were written,
// and without a tooth ahead there is no herd to describe.
func TestPinnedDeadlinesHaveNoBirth(t *testing.T) {
	const minute = 60_000
	next := (testNow/minute + 2) * minute
	for teeth, want := range map[int]bool{1: true, 40: false} {
		s := &Summary{}
		s.Begin(Source{Now: time.UnixMilli(testNow)})
		for i := range 200 {
			k := scan.Key{Name: fmt.Appendf(nil, "page:%d", i), ExpireMS: next + int64(i%teeth*minute), HasIdle: true, Idle: time.Minute}
			s.Add(&k)
		}
		for _, f := range Analyse(s, Options{}).Findings {
			switch {
			case f.Herd != nil && (f.Herd.Next.Keys == 0 || !f.Herd.BornFrom.IsZero()):
				t.Errorf("%d teeth: %s: next tooth %+v, born %v", teeth, f.Rule, f.Herd.Next, f.Herd.BornFrom)
			case f.Rule == "HS407" && (f.Herd != nil) != want:
				t.Errorf("%d teeth: HS407 with herd %+v", teeth, f.Herd)
			}
		}
	}
}

func TestRulesAreComplete(t *testing.T) {
	for i, r := range Rules() {
		if want := fmt.Sprintf("HS4%02d", i+1); r.ID != want {
			t.Errorf("rule %d is %s, want %s", i, r.ID, want)
		}
		if r.Name == "" || r.Title == "" || r.Why == "" || r.Decided == "" || r.Before == "" || r.After == "" {
			t.Errorf("%s has gaps", r.ID)
		}
	}
}

// A TTL that is known of a few keys of a herd is not that of all.
func TestCommonBaseNeedsHalfOfTheKeys(t *testing.T) {
	a := &analyser{Analysis: &Analysis{Groups: []Group{
		{Pattern: "page:*", Base: BaseTTL{TTL: time.Hour, From: Original}}, {Pattern: "board:*"},
	}}}
	teeth := []Tooth{{To: time.UnixMilli(testNow).Add(time.Minute)}}
	for keys, want := range map[uint64]time.Duration{1000: time.Hour, 999: 0} {
		got := a.commonBase(map[string]*Member{"page:*": {Keys: keys}, "board:*": {Keys: 1000}}, teeth)
		if got.TTL != want {
			t.Errorf("known of %d keys, unknown of 1000: TTL %s, want %s", keys, got.TTL, want)
		}
	}
}

// TestOriginalTTLsWithJitter knows TTLs that differ: a random part that is only
// added, one around the TTL, and one that is too small to matter.
func TestOriginalTTLsWithJitter(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		from, to time.Duration
		want     time.Duration
		oneSided bool
	}{
		"an hour and up to a minute":     {hour, hour + time.Minute, hour, true},
		"an hour and up to half an hour": {hour, hour + 26*time.Minute, hour, true},
		"around an hour":                 {hour - 5*time.Minute, hour + 5*time.Minute, hour, false},
		"a second less":                  {hour - time.Second, hour, hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			var h histogram
			h.raise(secondLevel)
			for ttl := c.from; ttl <= c.to; ttl += time.Second {
				h.add(ttl.Milliseconds(), 1+uint64(ttl/time.Second)%7)
			}
			for range 2 * int(hour/c.from) {
				h.add(c.to.Milliseconds(), 1)
			}
			ttl, j, ok := originalTTL(&h)
			if !ok || ttl != c.want || j.OneSided != c.oneSided {
				t.Errorf("TTL %v, jitter %+v, want %v", ttl, j, c.want)
			}
		})
	}
}

// A herd across patterns with several teeth says of each number what it counts: keys and patterns of the largest tooth.
func TestCrossHerdOfSeveralTeeth(t *testing.T) {
	var s Summary
	s.Begin(Source{Kind: "redis", Now: time.UnixMilli(testNow), Resolution: time.Millisecond})
	add := func(at int64, n int, patterns ...string) {
		for _, p := range patterns {
			for i := range n {
				s.Add(&scan.Key{Name: fmt.Appendf(nil, "%s:%d", p, i), ExpireMS: testNow + at + int64(i)})
			}
		}
	}
	add(1_800_000, 60, "a", "b", "c")
	add(3_600_000, 100, "x", "y")
	for _, f := range findings(Analyse(&s, Options{}), "HS401") {
		if len(f.Patterns) < 2 || len(f.Herd.Teeth) < 2 {
			continue
		}
		const want = "200 keys of 2 patterns expire within 1 s: they were written together, as after a deploy, a flush or a warm-up. There are 2 such teeth, of 5 patterns in all."
		if f.Why != want {
			t.Errorf("%q, want %q", f.Why, want)
		}
		return
	}
	t.Error("no herd across patterns with two teeth")
}

// TestOriginalTTLsThatDiffer knows TTLs that are no one TTL with a jitter: those of keys that all end on the hour, and
// one TTL with a few strays.
func TestOriginalTTLsThatDiffer(t *testing.T) {
	var hours, strays histogram
	for i := range int64(23) {
		hours.add((i+1)*3_600_000+i, 800)
	}
	strays.add(600_000, 900)
	strays.add(601_000, 90)
	strays.add(86_400_000, 3)
	if ttl, _, known := originalTTL(&hours); ttl != 0 || !known {
		t.Errorf("1 to 23 hours: TTL %v, known %v, want none, known", ttl, known)
	}
	if ttl, j, known := originalTTL(&strays); ttl != 10*time.Minute || j.Fraction != 0 || !known {
		t.Errorf("10 minutes with strays: TTL %v, jitter %v, known %v", ttl, j, known)
	}
}
