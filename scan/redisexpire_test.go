package scan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

// deadline is an expiry far ahead, in Unix ms.
const deadline = 4_102_444_800_000

// ways are users by whom each way of comparing and setting can be forced.
var ways = map[string]struct {
	forbid []string
	method string
}{
	"script":            {nil, "script"},
	"script, PTTL":      {[]string{"-pexpiretime"}, "script (PTTL and TIME)"},
	"WATCH":             {[]string{"-eval"}, "WATCH/MULTI"},
	"WATCH and PTTL":    {[]string{"-eval", "-pexpiretime"}, "WATCH/MULTI"},
	"no scripting":      {[]string{"-@scripting"}, "WATCH/MULTI"},
	"scripts, no MULTI": {[]string{"-multi", "-exec", "-watch"}, "script"},
}

// expirer opens a server as a user of its own.
func expirer(t testing.TB, s *redistest.Server, o scan.Options, rules ...string) *scan.Expirer {
	t.Helper()
	s.Do(t, append([]string{"ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "+@all"}, rules...)...)
	o.URL, o.Username, o.Password, o.Primary = "redis://"+s.Addr, "u", "pw", true
	x, err := open(t, o).Expirer(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// hostileNames are keys that only bytes can hold.
var hostileNames = []string{"plain", "with space", "cr\r\nlf", "nul\x00byte", "\xff\xfe", "*", "héllo", "", strings.Repeat("x", 2000)}

func TestExpirerOutcomes(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const old, other, new = deadline, deadline + 60_000, deadline - 5_000
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s.Do(t, "FLUSHALL")
			var changes []scan.Change
			var want []scan.Outcome
			add := func(outcome scan.Outcome, name string, at, to int64, expiry ...string) {
				changes = append(changes, scan.Change{KeyRef: scan.KeyRef{Name: []byte(name)}, Old: at, New: to})
				want = append(want, outcome)
				if expiry != nil {
					s.Do(t, append([]string{"SET", name, "v"}, expiry...)...)
				}
			}
			pxat := func(ms int64) []string { return []string{"PXAT", strconv.FormatInt(ms, 10)} }
			for _, name := range hostileNames {
				add(scan.Written, name, old, new, pxat(old)...)
			}
			for i := range 40 {
				add(scan.Written, fmt.Sprintf("many:%d", i), old+int64(i), new+int64(i), pxat(old+int64(i))...)
				add(scan.Changed, fmt.Sprintf("rewritten:%d", i), old, new, pxat(other)...)
			}
			add(scan.Vanished, "gone", old, new)
			add(scan.Persistent, "forever", old, new, []string{}...)
			s.Do(t, "SET", "forever", "v")
			add(scan.Late, "late", old, 1_000_000, pxat(old)...)
			add(scan.Written, "done before", old, new, pxat(new)...)
			add(scan.Written, "longer", old, other, pxat(old)...)

			x := expirer(t, s, scan.Options{}, way.forbid...)
			got, err := x.Set(t.Context(), changes)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%.20q: outcome %c, want %c", changes[i].Name, got[i], want[i])
				}
				checkExpiry(t, s, &changes[i], want[i])
			}
			if x.Method() != way.method {
				t.Errorf("method is %q, want %q", x.Method(), way.method)
			}
		})
	}
}

// checkExpiry checks that a key was changed if, and only if, the outcome says so.
func checkExpiry(t *testing.T, s *redistest.Server, c *scan.Change, outcome scan.Outcome) {
	t.Helper()
	reply := s.Do(t, "PEXPIRETIME", string(c.Name))
	is := reply == ":"+strconv.FormatInt(c.New, 10)
	if is != (outcome == scan.Written) {
		t.Errorf("%.20q expires at %s after outcome %c; new expiry is %d", c.Name, reply, outcome, c.New)
	}
}

// TestExpirerExact changes thousands of expiries that share no millisecond: each comparison must be exact, by whatever
// clock.
func TestExpirerExact(t *testing.T) {
	t.Parallel()
	const n = 3000
	for _, forbid := range [][]string{nil, {"-pexpiretime"}, {"-eval", "-pexpiretime"}} {
		t.Run(fmt.Sprint(forbid), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			want := fill(t, s, 2, n)
			refs := make([]scan.KeyRef, len(want))
			changes := make([]scan.Change, len(want))
			for i, k := range want {
				refs[i] = k.Ref()
				changes[i] = scan.Change{KeyRef: refs[i], Old: k.ExpireMS, New: k.ExpireMS - 1}
			}
			x := expirer(t, s, scan.Options{Fast: true}, forbid...)
			r := open(t, scan.Options{URL: "redis://" + s.Addr, Username: "u", Password: "pw", Primary: true})
			exact, err := r.ExactExpiries(t.Context(), refs)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range want {
				if exact[i] != k.ExpireMS {
					t.Fatalf("%s: read %d, is %d", k.Name, exact[i], k.ExpireMS)
				}
			}
			if ok, err := r.Exact(t.Context()); err != nil || ok != (forbid == nil) {
				t.Errorf("Exact is %v, %v", ok, err)
			}
			got, err := x.Set(t.Context(), changes)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range got {
				if o != scan.Written && (want[i].ExpireMS > 0 || o != scan.Persistent) {
					t.Errorf("%s: outcome %c", want[i].Name, o)
				}
			}
		})
	}
}

// TestExpirerRacesWriters lets a client rewrite keys while their expiries are changed. Whatever the order, a key that
// was rewritten ends with the expiry of its writer.
func TestExpirerRacesWriters(t *testing.T) {
	t.Parallel()
	const n, theirs = 4000, deadline + 3_600_000
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			var changes []scan.Change
			s.Pipe(t, func(do func(args ...string)) {
				for i := range n {
					name := "k" + strconv.Itoa(i)
					do("SET", name, "v", "PXAT", strconv.FormatInt(deadline, 10))
					changes = append(changes, scan.Change{KeyRef: scan.KeyRef{Name: []byte(name)}, Old: deadline, New: deadline - 60_000})
				}
			})
			x := expirer(t, s, scan.Options{Fast: true}, way.forbid...)
			rewritten := make(map[int]bool)
			var writer sync.WaitGroup
			writer.Go(func() {
				c := redis.NewClient(&redis.Options{Addr: s.Addr})
				defer c.Close()
				for i := 1; i < n; i += 7 { // from the other end: the two meet
					if err := c.Do(context.Background(), "SET", "k"+strconv.Itoa(n-i), "w", "PXAT", theirs).Err(); err != nil {
						t.Error(err)
					}
					rewritten[n-i] = true
				}
			})
			got, err := x.Set(t.Context(), changes)
			if err != nil {
				t.Fatal(err)
			}
			writer.Wait()
			met := 0
			for i := range changes {
				want := int64(deadline - 60_000)
				if rewritten[i] {
					want = theirs
				}
				if at := s.Do(t, "PEXPIRETIME", "k"+strconv.Itoa(i)); at != ":"+strconv.FormatInt(want, 10) {
					t.Fatalf("k%d expires at %s, want %d; outcome %c", i, at, want, got[i])
				}
				if got[i] == scan.Changed {
					met++
				}
				if got[i] == scan.Changed && !rewritten[i] {
					t.Errorf("k%d was left alone, and nobody had written it", i)
				}
			}
			t.Logf("%d of %d rewritten keys were met after they were written", met, len(rewritten))
		})
	}
}

// TestExpirerTouchedKeys changes a key whose value changes all the time, but not its expiry.
func TestExpirerTouchedKeys(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	x := expirer(t, s, scan.Options{}, "-eval")
	s.Do(t, "SET", "counter", "0", "PXAT", strconv.Itoa(deadline))
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		c := redis.NewClient(&redis.Options{Addr: s.Addr})
		defer c.Close()
		for {
			select {
			case <-stop:
				return
			default:
				_ = c.Incr(context.Background(), "counter").Err()
			}
		}
	})
	got, err := x.Set(t.Context(), []scan.Change{{KeyRef: scan.KeyRef{Name: []byte("counter")}, Old: deadline, New: deadline - 1000}})
	close(stop)
	writer.Wait()
	// It may succeed between two writes, or give up: then it says so, and the key is as it was.
	switch {
	case err == nil && got[0] == scan.Written:
	case err != nil && got[0] == scan.Unreached:
	default:
		t.Errorf("outcome %c, error %v", got[0], err)
	}
	checkExpiry(t, s, &scan.Change{KeyRef: scan.KeyRef{Name: []byte("counter")}, New: deadline - 1000}, got[0])
}

// TestExpirerACL reads and changes as a user who may do what WriteACLRules permits and nothing else.
func TestExpirerACL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rules := scan.WriteACLRules(scan.KeyGlob("session:*"))
	for _, without := range []string{"", "-eval", "-pexpiretime", "-watch -unwatch -multi -exec"} {
		s.Do(t, "FLUSHALL")
		s.Do(t, append(append([]string{"ACL", "SETUSER", "spreader", "reset", ">pw"}, rules...), strings.Fields(without)...)...)
		s.Do(t, "ACL", "LOG", "RESET")
		for _, name := range []string{"session:1", "session:2", "page:1"} {
			s.Do(t, "SET", name, "v", "PXAT", strconv.Itoa(deadline))
		}
		r := open(t, scan.Options{URL: "redis://" + s.Addr, Username: "spreader", Password: "pw", Primary: true})
		if keys, err := read(t, r); err != nil || len(keys) != 3 {
			t.Errorf("without %q: %d keys read, %v", without, len(keys), err)
		}
		x, err := r.Expirer(t.Context(), 10_000)
		if err != nil {
			t.Fatal(err)
		}
		var changes []scan.Change
		for _, name := range []string{"session:1", "page:1", "session:2"} {
			changes = append(changes, scan.Change{KeyRef: scan.KeyRef{Name: []byte(name)}, Old: deadline, New: deadline - 1})
		}
		got, err := x.Set(t.Context(), changes)
		x.Close()
		if err != nil {
			t.Errorf("without %q: %v", without, err)
		}
		if want := []scan.Outcome{scan.Written, scan.Refused, scan.Written}; !slices.Equal(got, want) {
			t.Errorf("without %q: outcomes %c, want %c", without, got, want)
		}
		if without == "" {
			for line := range strings.SplitSeq(s.CLI(t, "ACL", "LOG"), "\n") {
				if strings.Contains(line, "command") {
					t.Errorf("a command was refused: %s", line)
				}
			}
		}
	}
}

// TestExpirerLacksPermission names what is missing, and changes nothing.
func TestExpirerLacksPermission(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for forbid, text := range map[string]string{
		"-pexpireat":               "permission",
		"-pexpireat -eval":         "permission",
		"-eval -watch":             "one of them is needed",
		"-pexpiretime -time":       "TIME",
		"-pexpiretime -time -eval": "TIME",
		"-pexpiretime -pttl":       "PTTL",
		"-eval -multi":             "permission",
	} {
		t.Run(forbid, func(t *testing.T) {
			s.Do(t, "SET", "k", "v", "PXAT", strconv.Itoa(deadline))
			c := scan.Change{KeyRef: scan.KeyRef{Name: []byte("k")}, Old: deadline, New: deadline - 1}
			got, err := expirer(t, s, scan.Options{}, strings.Fields(forbid)...).Set(t.Context(), []scan.Change{c})
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("error is %v, want %q in it", err, text)
			}
			if got[0] != scan.Unreached {
				t.Errorf("outcome %c", got[0])
			}
			checkExpiry(t, s, &c, scan.Unreached)
		})
	}
}

func TestExpirerRefusesReplica(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(primary.Port))
	err := redistest.Eventually(func() error {
		if !strings.Contains(replica.CLI(t, "INFO", "replication"), "master_link_status:up") {
			return errors.New("not in step")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, scan.Options{URL: "redis://" + replica.Addr, Primary: true})
	if _, err := r.Expirer(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "is a replica") {
		t.Errorf("error is %v", err)
	}
	if _, err := open(t, scan.Options{URL: "redis://" + primary.Addr}).Expirer(t.Context(), 1); err == nil {
		t.Error("an Expirer without Options.Primary")
	}

	// What is written to the primary arrives at the replica as it is.
	for i, forbid := range []string{"", "-pexpiretime", "-eval"} {
		primary.Do(t, "SET", "k", "v", "PXAT", strconv.Itoa(deadline))
		c := scan.Change{KeyRef: scan.KeyRef{Name: []byte("k")}, Old: deadline, New: deadline - 777 - int64(i)}
		got, err := expirer(t, primary, scan.Options{}, strings.Fields(forbid)...).Set(t.Context(), []scan.Change{c})
		if err != nil || got[0] != scan.Written {
			t.Errorf("%q: outcome %c, %v", forbid, got[0], err)
		}
		want := ":" + strconv.FormatInt(c.New, 10)
		if err := redistest.Eventually(func() error {
			if reply := replica.Do(t, "PEXPIRETIME", "k"); reply != want {
				return fmt.Errorf("the replica has %s, the primary %s", reply, want)
			}
			return nil
		}); err != nil {
			t.Errorf("%q: %v", forbid, err)
		}
	}
}

func TestExpirerStops(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	want := fill(t, s, 0, 500)
	changes := make([]scan.Change, len(want))
	for i, k := range want {
		changes[i] = scan.Change{KeyRef: k.Ref(), Old: k.ExpireMS, New: k.ExpireMS - 1}
	}
	x := expirer(t, s, scan.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := x.Set(ended, changes)
	if !errors.Is(err, context.Canceled) || got[0] != scan.Unreached {
		t.Errorf("after the end: outcome %c, %v", got[0], err)
	}
	s.Kill()
	got, err = x.Set(t.Context(), changes)
	if err == nil || got[0] != scan.Unreached || got[499] != scan.Unreached {
		t.Errorf("without a server: outcome %c, %v", got[0], err)
	}
}

func TestExpirerReconnects(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, forbid := range []string{"", "-eval"} {
		s.Do(t, "SET", "k", "v", "PXAT", strconv.Itoa(deadline))
		x := expirer(t, s, scan.Options{}, strings.Fields(forbid)...)
		c := scan.Change{KeyRef: scan.KeyRef{Name: []byte("k")}, Old: deadline, New: deadline - 1}
		for range 2 {
			got, err := x.Set(t.Context(), []scan.Change{c})
			if err != nil || got[0] != scan.Written {
				t.Errorf("%q: outcome %c, %v", forbid, got[0], err)
			}
			c.Old, c.New = c.New, c.New-1
			s.CLI(t, "CLIENT", "KILL", "USER", "u")
		}
	}
}

func TestExpirerCluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	for _, forbid := range []string{"-eval", "-pexpiretime", ""} {
		for _, s := range c.Primaries {
			s.Do(t, append([]string{"ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "+@all"}, strings.Fields(forbid)...)...)
		}
		want := fillCluster(t, c, 600)
		changes := make([]scan.Change, len(want))
		for i, k := range want {
			changes[i] = scan.Change{KeyRef: k.Ref(), Old: k.ExpireMS, New: k.ExpireMS - 1}
		}
		r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr, Username: "u", Password: "pw", Primary: true, Fast: true})
		x, err := r.Expirer(t.Context(), 600)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if forbid == "" { // one slot has moved since the cluster was asked, another is on its way
			moveSlot(t, c, scan.KeySlot(want[1].Name), want, true)
			moveSlot(t, c, scan.KeySlot(want[0].Name), want, false)
		}
		got, err := x.Set(t.Context(), changes)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range got {
			if o != scan.Written {
				t.Errorf("%q: %s: outcome %c", forbid, want[i].Name, o)
			}
		}
	}
}

// TestExpirerLostShard changes keys of a cluster of which one server has failed: the others go on.
func TestExpirerLostShard(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	lost := c.Primaries[2]
	r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr, Primary: true})
	x, err := r.Expirer(t.Context(), 600)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	want := fillCluster(t, c, 600)
	lost.Kill()
	changes := make([]scan.Change, len(want))
	for i, k := range want {
		changes[i] = scan.Change{KeyRef: k.Ref(), Old: k.ExpireMS, New: k.ExpireMS - 1}
	}
	got, err := x.Set(t.Context(), changes)
	if err == nil || !strings.Contains(err.Error(), lost.Addr) {
		t.Errorf("error is %v, want one that names %s", err, lost.Addr)
	}
	counts := make(map[scan.Outcome]int)
	for _, o := range got {
		counts[o]++
	}
	if counts[scan.Written] < 300 || counts[scan.Unreached] < 100 || counts[scan.Written]+counts[scan.Unreached] != 600 {
		t.Errorf("outcomes %v", counts)
	}
}

// moveSlot moves the keys of a slot to the next primary, and, if it is to be finished, the slot itself. MIGRATE moves
// an expiry by the milliseconds that it takes, so it is set anew.
func moveSlot(t *testing.T, c *redistest.Cluster, slot int, keys []scan.Key, finish bool) {
	t.Helper()
	n := strconv.Itoa(slot)
	at := slices.IndexFunc(c.Primaries, func(s *redistest.Server) bool {
		return strings.TrimSpace(s.CLI(t, "CLUSTER", "COUNTKEYSINSLOT", n)) != "0"
	})
	from, to := c.Primaries[at], c.Primaries[(at+1)%len(c.Primaries)]
	to.Do(t, "CLUSTER", "SETSLOT", n, "IMPORTING", c.ID(from))
	from.Do(t, "CLUSTER", "SETSLOT", n, "MIGRATING", c.ID(to))
	client := redis.NewClient(&redis.Options{Addr: to.Addr})
	defer client.Close()
	for _, k := range keys {
		if scan.KeySlot(k.Name) != slot {
			continue
		}
		from.Do(t, "MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), string(k.Name), "0", "5000")
		pipe := client.Pipeline()
		pipe.Do(t.Context(), "asking")
		pipe.Do(t.Context(), "pexpireat", k.Name, k.ExpireMS)
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if finish {
		finishSlot(t, c, n, from, to)
	}
}

func finishSlot(t *testing.T, c *redistest.Cluster, slot string, from, to *redistest.Server) {
	t.Helper()
	for _, s := range []*redistest.Server{to, from} {
		s.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", c.ID(to))
	}
}

func TestKeyGlob(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for pattern, name := range map[string]string{
		"session:*": "session:1", "a b:*": "a b:1", "x[1]:*": "x[1]:9", `back\slash*`: `back\slash1`, "q?*": "q?1", "naïve:*": "naïve:1", "^x*": "^x1",
	} {
		s.Do(t, append([]string{"ACL", "SETUSER", "g", "reset", ">pw"}, scan.WriteACLRules(scan.KeyGlob(pattern))...)...)
		if reply := s.CLI(t, "ACL", "DRYRUN", "g", "PEXPIREAT", name, "1"); strings.TrimSpace(reply) != "OK" {
			t.Errorf("%q: %q may not be written: %s", pattern, name, reply)
		}
		if reply := s.CLI(t, "ACL", "DRYRUN", "g", "PEXPIREAT", "other:1", "1"); strings.TrimSpace(reply) == "OK" {
			t.Errorf("%q: any key may be written", pattern)
		}
	}
	if strings.Contains(scan.ExplainWriteAccess("session:*"), "secret") || !strings.Contains(scan.ExplainWriteAccess("session:*"), "~session:*") {
		t.Error("the explanation has no ACL line for the keys")
	}
}
