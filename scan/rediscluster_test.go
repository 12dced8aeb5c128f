package scan_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
	"github.com/herdscan/herdscan/scan/scantest"
)

// fillCluster writes n keys wherever they belong and waits for the replicas.
func fillCluster(t *testing.T, c *redistest.Cluster, n int) []scan.Key {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Primaries[0].Addr}})
	defer client.Close()
	pipe := client.Pipeline()
	var want []scan.Key
	for i := range n {
		k := scan.Key{Name: fmt.Appendf(nil, "key:%d", i), ExpireMS: farFuture + int64(i)}
		pipe.Do(t.Context(), "SET", string(k.Name), "v", "PXAT", k.ExpireMS)
		want = append(want, k)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.AwaitReplicas(t)
	return want
}

func TestClusterWithReplicas(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	want := fillCluster(t, c, 3000)
	replicas, primaries := addresses(c.Replicas), addresses(c.Primaries)
	for name, o := range map[string]scan.Options{
		"by its scheme":      {URL: "redis-cluster://" + c.Primaries[1].Addr},
		"detected":           {URL: "redis://" + c.Replicas[2].Addr},
		"a dead seed first":  {URL: "redis-cluster://127.0.0.1:" + strconv.Itoa(redistest.FreePort(t)) + "," + c.Primaries[0].Addr},
		"primaries":          {URL: "redis-cluster://" + c.Primaries[0].Addr, Primary: true},
		"one shard at once":  {URL: "redis-cluster://" + c.Primaries[0].Addr, Servers: 1},
		"relative expiries":  {URL: "redis-cluster://" + c.Primaries[0].Addr, PTTL: true},
		"many, small, pages": {URL: "redis-cluster://" + c.Primaries[0].Addr, PageKeys: 7},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, o)
			if !strings.HasPrefix(r.String(), "redis-cluster://") {
				t.Errorf("String is %q", r.String())
			}
			scantest.TestSource(t, r, want, scantest.Tolerance(5e6))
			if _, err := read(t, r); err != nil {
				t.Fatal(err)
			}
			checkComplete(t, r, len(want))
			from := replicas
			if o.Primary {
				from = primaries
			}
			for _, part := range r.Coverage() {
				if !from[part.Name] {
					t.Errorf("%s was read", part.Name)
				}
			}
			testLooks(t, r, want[:250])
		})
	}
}

func addresses(servers []*redistest.Server) map[string]bool {
	set := make(map[string]bool)
	for _, s := range servers {
		set[s.Addr] = true
	}
	return set
}

func testLooks(t *testing.T, r *scan.Redis, want []scan.Key) {
	t.Helper()
	var refs []scan.KeyRef
	for i := range want {
		refs = append(refs, want[i].Ref())
	}
	expires, err := r.Reread(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	details, err := r.Inspect(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if d := expires[i] - want[i].ExpireMS; d > 1000 || d < -1000 {
			t.Errorf("%s expires at %d, want %d", want[i].Name, expires[i], want[i].ExpireMS)
		}
		if details[i].Type != "string" || !details[i].HasIdle {
			t.Errorf("detail is %+v", details[i])
		}
	}
	info, err := r.Info(t.Context())
	if err != nil || info.Mode != "cluster" || info.DBs[0].Keys < uint64(len(want)) {
		t.Errorf("info is %+v, %v", info, err)
	}
}

func TestClusterLosesServers(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	want := fillCluster(t, c, 3000)
	r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr + "," + c.Primaries[2].Addr, PageKeys: 50, Servers: 1})

	c.Replicas[0].Kill()
	if got, err := read(t, r); err != nil || len(got) != len(want) {
		t.Errorf("without a replica: %d keys, %v, want %d", len(got), err, len(want))
	}

	c.Replicas[1].Kill()
	c.Primaries[1].Kill() // a whole shard
	got, err := read(t, r)
	var failed *scan.ServerError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "shard of slots 5461-10921") {
		t.Errorf("error %v does not name the lost shard", err)
	}
	complete := 0
	var sum uint64
	for _, part := range r.Coverage() {
		sum += part.Read
		if part.Complete {
			complete++
		} else if len(part.Errors) == 0 {
			t.Errorf("no error for the incomplete %s", part.Name)
		}
	}
	if complete != 2 || sum != uint64(len(got)) || len(got) < len(want)/2 || len(got) == len(want) {
		t.Errorf("%d shards are complete, with %d of %d keys (coverage: %d)", complete, len(got), len(want), sum)
	}
}

func TestClusterServerDiesDuringScan(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	want := fillCluster(t, c, 6000)
	r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr, PageKeys: 50, Rate: 20_000})
	got := 0
	err := r.Keys(t.Context(), func(*scan.Key) error {
		if got++; got == 300 {
			c.Primaries[2].Kill()
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), c.Primaries[2].Addr) || !strings.Contains(err.Error(), "ended after ") {
		t.Errorf("error %v does not name the lost server and how much of it was read", err)
	}
	for _, part := range r.Coverage() {
		lost := part.Name == c.Primaries[2].Addr
		if part.Complete == lost || (len(part.Errors) > 0) != lost {
			t.Errorf("coverage of %s: %+v", part.Name, part)
		}
	}
	if got < len(want)*6/10 || got >= len(want) {
		t.Errorf("%d of %d keys", got, len(want))
	}
}

// TestClusterMovesSlots moves all keys of some slots to another shard in the middle of a scan.
func TestClusterMovesSlots(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	want := fillCluster(t, c, 4000)
	r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr, PageKeys: 20, Rate: 4000})
	seen := make(map[string]int)
	moved := false
	err := r.Keys(t.Context(), func(k *scan.Key) error {
		seen[string(k.Name)]++
		if !moved && len(seen) > 200 {
			moved = true
			moveSlots(t, c, 0, 300)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(r.Coverage()); !strings.Contains(text, "301 of 16384 slots changed their shard") {
		t.Errorf("coverage does not tell of moved slots: %s", text)
	}
	missing, twice := 0, 0
	for _, k := range want {
		switch seen[string(k.Name)] {
		case 0:
			missing++
		case 1:
		default:
			twice++
		}
	}
	if most := len(want) * 301 / 16384 * 2; missing > most || twice > most {
		t.Errorf("%d keys are missing and %d came twice, when some %d moved", missing, twice, most/2)
	}
}

// moveSlots migrates slots from the first primary to the second.
func moveSlots(t *testing.T, c *redistest.Cluster, from, to int) {
	t.Helper()
	source, target := c.Primaries[0], c.Primaries[1]
	for slot := from; slot <= to; slot++ {
		n := strconv.Itoa(slot)
		target.Do(t, "CLUSTER", "SETSLOT", n, "IMPORTING", c.ID(source))
		source.Do(t, "CLUSTER", "SETSLOT", n, "MIGRATING", c.ID(target))
		for _, key := range strings.Fields(source.CLI(t, "CLUSTER", "GETKEYSINSLOT", n, "1000")) {
			source.Do(t, "MIGRATE", "127.0.0.1", strconv.Itoa(target.Port), key, "0", "5000")
		}
		target.Do(t, "CLUSTER", "SETSLOT", n, "NODE", c.ID(target))
		source.Do(t, "CLUSTER", "SETSLOT", n, "NODE", c.ID(target))
	}
}

// TestClusterFailover promotes the replicas that are being read.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	want := fillCluster(t, c, 3000)
	r := open(t, scan.Options{URL: "redis-cluster://" + c.Primaries[0].Addr, PageKeys: 20, Rate: 2000})
	n := 0
	seen := make(map[string]bool)
	err := r.Keys(t.Context(), func(k *scan.Key) error {
		if n++; n == 200 {
			for _, s := range c.Replicas {
				s.Do(t, "CLUSTER", "FAILOVER")
			}
		}
		seen[string(k.Name)] = true
		return nil
	})
	if err != nil || len(seen) != len(want) || n != len(want) {
		t.Errorf("%d keys, %d different, want %d; error %v", n, len(seen), len(want), err)
	}
	for _, part := range r.Coverage() {
		if text := strings.Join(part.Notes, " "); !strings.Contains(text, "changed their primary") || strings.Contains(text, "slots changed") {
			t.Errorf("notes on %s: %q", part.Name, text)
		}
	}
	if got, err := read(t, r); err != nil || len(got) != len(want) {
		t.Errorf("after the failover: %d keys, %v", len(got), err)
	}
}

// TestClusterForbidden reads what it can where CLUSTER is blocked, and says that it is not all.
func TestClusterForbidden(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	fillCluster(t, c, 1000)
	for _, s := range c.Primaries {
		s.Do(t, "ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all", "-cluster|shards")
		s.Do(t, "ACL", "SETUSER", "blind", "on", ">pw", "~*", "+@all", "-cluster")
	}
	r := open(t, scan.Options{URL: "redis://u:pw@" + c.Primaries[0].Addr})
	if got, err := read(t, r); err != nil || len(got) != 1000 {
		t.Errorf("by CLUSTER SLOTS: %d keys, %v", len(got), err)
	}
	r = open(t, scan.Options{URL: "redis://blind:pw@" + c.Primaries[0].Addr})
	got, err := read(t, r)
	if err != nil || len(got) == 0 || len(got) == 1000 {
		t.Errorf("without CLUSTER: %d keys, %v", len(got), err)
	}
	if part := r.Coverage()[0]; part.Complete || !strings.Contains(fmt.Sprint(part.Notes), "only this server was read") {
		t.Errorf("coverage is %+v", part)
	}
	c.Primaries[0].Do(t, append([]string{"ACL", "SETUSER", "least", ">pw"}, scan.ACLRules()...)...)
	c.Primaries[1].Do(t, append([]string{"ACL", "SETUSER", "least", ">pw"}, scan.ACLRules()...)...)
	r = open(t, scan.Options{URL: "redis://least:pw@" + c.Primaries[0].Addr})
	if got, err := read(t, r); err != nil || len(got) != 1000 {
		t.Errorf("by the documented permissions: %d keys, %v", len(got), err)
	}
}

func TestNotACluster(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	_, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis-cluster://" + s.Addr})
	checkProblem(t, err, scan.ProblemNoCluster, s.Addr)
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t, "--requirepass", "pw", "--masterauth", "pw")
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(master.Port), "--requirepass", "pw", "--masterauth", "pw")
	err := redistest.Eventually(func() error {
		if !strings.Contains(master.CLI(t, "-a", "pw", "INFO", "replication"), "state=online") {
			return errors.New("not in step")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	master.CLI(t, "-a", "pw", "SET", "key", "v", "PXAT", strconv.FormatInt(farFuture, 10))
	want := []scan.Key{{Name: []byte("key"), ExpireMS: farFuture}}
	err = redistest.Eventually(func() error {
		if !strings.Contains(replica.CLI(t, "-a", "pw", "EXISTS", "key"), "1") {
			return errors.New("not replicated")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	open1 := redistest.StartSentinel(t, "cache", master, "", "sentinel auth-pass cache pw")
	closed := redistest.StartSentinel(t, "cache", master, "spw", "sentinel auth-pass cache pw")
	dead := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	for name, o := range map[string]scan.Options{
		"plain":            {URL: "redis-sentinel://:pw@" + dead + "," + open1.Addr + "/cache"},
		"its own password": {URL: "redis-sentinel://:pw@" + closed.Addr + "/cache/0", SentinelPassword: "spw"},
		"master":           {URL: "redis-sentinel://:pw@" + open1.Addr + "/cache", Primary: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, o)
			scantest.TestSource(t, r, want, scantest.Secret("pw"))
			if _, err := read(t, r); err != nil {
				t.Fatal(err)
			}
			from := replica.Addr
			if o.Primary {
				from = master.Addr
			}
			if got := r.Coverage()[0].Name; got != from+"/0" {
				t.Errorf("%s was read, want %s", got, from)
			}
		})
	}
	_, err = scan.OpenRedis(t.Context(), scan.Options{URL: "redis-sentinel://:pw@" + open1.Addr + "/other"})
	checkProblem(t, err, scan.ProblemMaster, open1.Addr)
	_, err = scan.OpenRedis(t.Context(), scan.Options{URL: "redis-sentinel://:pw@" + closed.Addr + "/cache"})
	checkProblem(t, err, scan.ProblemPassword, closed.Addr)
	for _, scheme := range []string{"redis://", "redis-cluster://"} {
		_, err = scan.OpenRedis(t.Context(), scan.Options{URL: scheme + open1.Addr})
		checkProblem(t, err, scan.ProblemSentinel, open1.Addr)
	}

	replica.Kill()
	r := open(t, scan.Options{URL: "redis-sentinel://:pw@" + open1.Addr + "/cache"})
	if got, err := read(t, r); err != nil || len(got) != 1 {
		t.Errorf("without the replica: %d keys, %v", len(got), err)
	}
}
