package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScanReply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cursor := strconv.FormatUint(rapid.Uint64().Draw(t, "cursor"), 10)
		want := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "names")
		raw := fmt.Appendf(nil, "*2\r\n$%d\r\n%s\r\n*%d\r\n", len(cursor), cursor, len(want))
		for _, name := range want {
			raw = fmt.Appendf(raw, "$%d\r\n%s\r\n", len(name), name)
		}
		gotCursor, names, err := scanReply(raw, nil)
		if err != nil || string(gotCursor) != cursor || len(names) != len(want) {
			t.Fatalf("cursor %s, %d names, %v", gotCursor, len(names), err)
		}
		for i := range want {
			if !bytes.Equal(names[i], want[i]) {
				t.Fatalf("name %d is %q, want %q", i, names[i], want[i])
			}
		}
		cut := rapid.IntRange(0, len(raw)-1).Draw(t, "cut")
		if _, _, err := scanReply(raw[:cut], nil); err == nil {
			t.Fatalf("no error for a reply cut at %d of %d", cut, len(raw))
		}
	})
}

func FuzzScanReply(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\n0\r\n*1\r\n$3\r\nkey\r\n"))
	f.Add([]byte("-NOPERM no\r\n"))
	f.Add([]byte("*2\r\n$-1\r\n*-1\r\n"))
	f.Add([]byte("*2\r\n+0\r\n*99999999999\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, names, err := scanReply(raw, nil)
		if err == nil && len(names) > len(raw) {
			t.Errorf("%d names from %d bytes", len(names), len(raw))
		}
		_, _ = (&replyParser{raw}).time()
		_, _ = (&replyParser{raw}).number()
	})
}

func TestReplyInt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64().Draw(t, "n")
		if got, err := replyInt(strconv.AppendInt(nil, want, 10)); err != nil || got != want {
			t.Fatalf("%d, %v, want %d", got, err, want)
		}
	})
	for _, bad := range []string{"", "-", "1x", "99999999999999999999", " 1"} {
		if _, err := replyInt([]byte(bad)); !errors.Is(err, errReply) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestReplyBufferReadsAll(t *testing.T) {
	t.Parallel()
	want := bytes.Repeat([]byte("0123456789"), 5000)
	var b replyBuffer
	if n, err := io.CopyN(&b, bytes.NewReader(want), int64(len(want))); err != nil || n != int64(len(want)) {
		t.Fatal(n, err)
	}
	if !bytes.Equal(b.b, want) {
		t.Error("the copy differs")
	}
}

// A clock that only moves when told to.
type testClock struct{ t time.Time }

func (c *testClock) now() time.Time { return c.t }

// walk plays a server that needs perKey for each key, until it has worked for d.
func (c *testClock) walk(p *pacer, perKey, d time.Duration) (keys int, elapsed time.Duration) {
	began := c.t
	for work := time.Duration(0); work < d; {
		n := p.size()
		service := time.Duration(n) * perKey
		work += service
		keys += n
		c.t = c.t.Add(service + p.rtt)
		p.done(service+p.rtt, n)
		if p.restUntil.After(c.t) {
			c.t = p.restUntil
		}
	}
	return keys, c.t.Sub(began)
}

func testPacer(o Options, rtt time.Duration) (*pacer, *testClock) {
	o, _ = o.withDefaults()
	c := &testClock{t: time.Unix(1_700_000_000, 0)}
	return newPacer(&o, rtt, c.now), c
}

func TestPacerKeepsPagesShort(t *testing.T) {
	t.Parallel()
	for perKey, wantKeys := range map[time.Duration]int{
		200 * time.Nanosecond: fastPageKeys, time.Microsecond: 250, 3 * time.Microsecond: 83, 100 * time.Microsecond: minPageKeys,
	} {
		p, c := testPacer(Options{}, 50*time.Microsecond)
		c.walk(p, perKey, 2*time.Second)
		if got := p.size(); got < wantKeys*7/10 || got > wantKeys*13/10 {
			t.Errorf("%v a key: pages of %d keys, want about %d", perKey, got, wantKeys)
		}
	}
}

func TestPacerKeepsDuty(t *testing.T) {
	t.Parallel()
	for _, duty := range []float64{0.1, 0.5, 0.9} {
		p, c := testPacer(Options{Duty: duty}, 20*time.Microsecond)
		const work = 3 * time.Second
		_, elapsed := c.walk(p, 2*time.Microsecond, work)
		if got := float64(work) / float64(elapsed); got > duty*1.05 || got < duty*0.8 {
			t.Errorf("duty is %.2f, want %.2f", got, duty)
		}
		if rests := p.rested; rests <= 0 {
			t.Errorf("no rest is accounted for")
		}
	}
}

func TestPacerBelievesTheServer(t *testing.T) {
	t.Parallel()
	p, c := testPacer(Options{}, 20*time.Microsecond)
	// The client is so slow that everything seems to take ten times as long.
	c.walk(p, 10*time.Microsecond, 100*time.Millisecond)
	p.calibrate(uint64(p.keys))
	p.rested = 0
	const work = 10 * time.Second
	keys, _ := c.walk(p, 10*time.Microsecond, work)
	if server := time.Duration(keys) * time.Microsecond; p.rested > 2*server {
		t.Errorf("rested %v for %v of the server's work", p.rested, server)
	}
}

func TestPacerFastNeverRests(t *testing.T) {
	t.Parallel()
	p, c := testPacer(Options{Fast: true}, 20*time.Microsecond)
	c.walk(p, 2*time.Microsecond, 3*time.Second)
	if p.rested != 0 || p.size() != fastPageKeys {
		t.Errorf("rested %v, pages of %d", p.rested, p.size())
	}
}

func TestPacerKeepsRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{5, 1000, 50_000} {
		p, c := testPacer(Options{Rate: rate}, 20*time.Microsecond)
		keys, elapsed := c.walk(p, 2*time.Microsecond, time.Duration(rate)*20*time.Microsecond)
		if got := float64(keys) / elapsed.Seconds(); got > float64(rate)*1.05 || got < float64(rate)*0.8 {
			t.Errorf("%.0f keys/s, want %d", got, rate)
		}
	}
}

func TestPacerChains(t *testing.T) {
	t.Parallel()
	for rtt, want := range map[time.Duration]int{
		30 * time.Microsecond: 1, 500 * time.Microsecond: 1, time.Millisecond: 2, 3 * time.Millisecond: 8, time.Second: 8,
	} {
		p, _ := testPacer(Options{}, rtt)
		if got := p.chains(); got != want {
			t.Errorf("round trip %v: %d chains, want %d", rtt, got, want)
		}
		if p, _ := testPacer(Options{Fast: true}, 0); p.chains() != 2 {
			t.Errorf("fast: %d chains, want 2", p.chains())
		}
	}
}

func TestGuardSlowsAndRecovers(t *testing.T) {
	t.Parallel()
	p, _ := testPacer(Options{}, 0)
	g := guard{pacer: p, rest: time.Millisecond}
	feed := func(d time.Duration, n int) {
		for range n {
			g.add(d)
		}
	}
	feed(time.Millisecond, guardWindow)
	if p.duty != defaultDuty || p.backoffs != 0 {
		t.Errorf("duty %g and %d backoffs on a server at ease", p.duty, p.backoffs)
	}
	feed(5*time.Millisecond, 3*guardWindow)
	if p.duty != defaultDuty/8 || p.backoffs != 3 {
		t.Errorf("duty %g and %d backoffs after three bad windows", p.duty, p.backoffs)
	}
	feed(5*time.Millisecond, 100*guardWindow)
	if p.duty != minDuty {
		t.Errorf("duty fell to %g", p.duty)
	}
	feed(time.Millisecond, guardSamples)
	if p.duty != defaultDuty {
		t.Errorf("duty is %g after the server recovered", p.duty)
	}
	fast := guard{pacer: p, rest: time.Millisecond, passive: true}
	for range guardWindow {
		fast.add(time.Second)
	}
	if p.duty != defaultDuty {
		t.Error("a passive guard slowed the scan")
	}
}

func TestProducts(t *testing.T) {
	t.Parallel()
	for info, want := range map[string][2]string{
		"redis_version:7.0.15\r\nredis_mode:standalone":                               {"redis", "7.0.15"},
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.1":           {"valkey", "9.0.1"},
		"redis_version:7.2.0\r\ndragonfly_version:df-v1.34.1":                         {"dragonfly", "v1.34.1"},
		"redis_version:7.4.3\r\ngarnet_version:1.0.84":                                {"garnet", "1.0.84"},
		"version:2.12.0\r\nkvrocks_version:2.12.0\r\nredis_version:7.0.0":             {"kvrocks", "2.12.0"},
		"redis_version:6.3.4\r\nmvcc_depth:0":                                         {"keydb", "6.3.4"},
		"redis_version:6.3.4\r\nexecutable:/usr/bin/keydb-server":                     {"keydb", "6.3.4"},
		"# Clients\r\nconnected_clients:1":                                            {"", ""},
		"redis_version:7.1.0\r\nos:Amazon ElastiCache\r\nmaxmemory_policy:noeviction": {"redis", "7.1.0"},
	} {
		got := parseInfo(info)
		if got.Kind != want[0] || got.Version != want[1] {
			t.Errorf("%q: %s %s, want %s %s", info, got.Kind, got.Version, want[0], want[1])
		}
	}
}

func TestParseInfo(t *testing.T) {
	t.Parallel()
	const text = "# Server\r\nredis_version:7.4.1\r\nserver_time_usec:1796068000123456\r\n# Replication\r\nrole:master\r\n" +
		"connected_slaves:2\r\n# Memory\r\nmaxmemory:1073741824\r\nmaxmemory_policy:volatile-lru\r\nused_memory:5\r\n" +
		"# Stats\r\nkeyspace_hits:7\r\nkeyspace_misses:8\r\nevicted_keys:9\r\nexpired_keys:10\r\nrole_db0:keys=1\r\n" +
		"# Keyspace\r\ndb0:keys=12,expires=3,avg_ttl=99,subexpiry=4\r\ndb15:keys=1,expires=0,avg_ttl=0\r\n"
	got := fmt.Sprintf("%+v", parseInfo(text))
	want := fmt.Sprintf("%+v", Info{
		Kind: "redis", Version: "7.4.1", Role: "master", Replicas: 2, Policy: "volatile-lru", MaxMemory: 1 << 30,
		UsedMemory: 5, Hits: 7, Misses: 8, Evicted: 9, Expired: 10, Now: time.UnixMicro(1796068000123456).UTC(),
		DBs: map[int]DBInfo{0: {Keys: 12, Expires: 3, FieldExpires: 4}, 15: {Keys: 1}},
	})
	if got != want {
		t.Errorf("info is\n%s, want\n%s", got, want)
	}
	calls, usec := commandUsage("cmdstat_scan:calls=5,usec=700,usec_per_call=140.00\r\ncmdstat_pttl:calls=3,usec=9\r\n", "scan", "pttl")
	if calls != 8 || usec != 709 {
		t.Errorf("usage is %d calls, %d us", calls, usec)
	}
}

// FuzzParseTarget checks that no error of a malformed address repeats its password.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{
		"redis://u:PASSWORD@h:1/2", "redis://:PASSWORD@h:x", "rediss://u:PASSWORD@[::1", "unix://u:PASSWORD@/p?db=x",
		"redis-sentinel://:PASSWORD@a,b/m/x", "redis://h?password=PASSWORD", "PASSWORD@h", "x://u:PASSWORD%zz@h",
		"redis-cluster://u:PASSWORD@h:1,h:2/1", "redis://u:PASSWORD?@h", "redis://u:PASSWORD/@h@x:1:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := parseTarget(text)
		shown := target.String()
		if err != nil {
			shown = err.Error()
		}
		at := strings.LastIndex(text, "@")
		secret := strings.Index(text, ":PASSWORD")
		if secret >= 0 && secret < at && strings.Contains(shown, "PASSWORD") {
			t.Errorf("%q is shown as %q", text, shown)
		}
		if secret >= 0 && secret < at && !HasSecret(text) && !strings.HasPrefix(text, "unix:///") {
			t.Errorf("HasSecret(%q) is false", text)
		}
		_ = Redact(text)
	})
}

func TestKeySlot(t *testing.T) {
	t.Parallel()
	// From the Redis Cluster specification and CLUSTER KEYSLOT.
	for name, want := range map[string]int{
		"123456789": 0x31C3 % clusterSlots, "foo": 12182, "": 0, "{user1000}.following": KeySlot([]byte("user1000")),
		"foo{}{bar}": KeySlot([]byte("foo{}{bar}")), "foo{{bar}}zap": KeySlot([]byte("{bar")), "foo{bar}{zap}": KeySlot([]byte("bar")),
	} {
		if got := KeySlot([]byte(name)); got != want {
			t.Errorf("slot of %q is %d, want %d", name, got, want)
		}
	}
}
