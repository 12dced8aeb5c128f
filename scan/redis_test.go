package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
	"github.com/herdscan/herdscan/scan/scantest"
)

// farFuture is an expiry that no test lives to see.
var farFuture = time.Now().Add(24 * time.Hour).UnixMilli()

// hostile are names that break whoever takes keys for text.
var hostile = []string{
	"line\nbreak", "carriage\r\nreturn", "\x1b[31mred", "\xff\xfe\x00\x80", " ", "*3\r\n$3\r\nDEL\r\n", "-ERR no",
	strings.Repeat("long", 10_000), "ключ", "\u202eabc",
}

func open(t testing.TB, o scan.Options) *scan.Redis {
	t.Helper()
	r, err := scan.OpenRedis(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return r
}

// fill writes n keys with an expiry each, but every tenth without one, and returns what a scan has to find.
func fill(t testing.TB, s *redistest.Server, db, n int) []scan.Key {
	t.Helper()
	want := make([]scan.Key, 0, n)
	s.Pipe(t, func(do func(...string)) {
		do("SELECT", strconv.Itoa(db))
		for i := range n {
			k := scan.Key{Name: fmt.Appendf(nil, "key:%d:%d", db, i), DB: db, ExpireMS: farFuture + int64(i)}
			if i%10 == 0 {
				k.ExpireMS = scan.NoExpiry
				do("SET", string(k.Name), "v")
			} else {
				do("SET", string(k.Name), "v", "PXAT", strconv.FormatInt(k.ExpireMS, 10))
			}
			want = append(want, k)
		}
	})
	return want
}

func fillHostile(t testing.TB, s *redistest.Server) []scan.Key {
	t.Helper()
	var want []scan.Key
	for i, name := range hostile {
		k := scan.Key{Name: []byte(name), ExpireMS: farFuture + int64(i)}
		s.Do(t, "SET", name, "v", "PXAT", strconv.FormatInt(k.ExpireMS, 10))
		want = append(want, k)
	}
	return want
}

// read scans r and returns the expiry of each key by database and name. A key that comes twice fails the test.
func read(t testing.TB, r *scan.Redis) (map[string]int64, error) {
	t.Helper()
	got := make(map[string]int64)
	err := r.Keys(t.Context(), func(k *scan.Key) error {
		name := fmt.Sprintf("%d/%s", k.DB, k.Name)
		if _, twice := got[name]; twice {
			t.Errorf("%q was yielded twice", name)
		}
		got[name] = k.ExpireMS
		return nil
	})
	return got, err
}

func checkComplete(t testing.TB, r *scan.Redis, want int) {
	t.Helper()
	var sum uint64
	for _, c := range r.Coverage() {
		sum += c.Read
		if !c.Complete || len(c.Errors) > 0 {
			t.Errorf("coverage of %s: complete %v, errors %v", c.Name, c.Complete, c.Errors)
		}
	}
	if sum != uint64(want) {
		t.Errorf("coverage counts %d keys, want %d", sum, want)
	}
}

func TestRedisConformance(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	want := append(fill(t, s, 0, 2500), fillHostile(t, s)...)
	want = append(want, fill(t, s, 3, 12)...)
	url := "redis://" + s.Addr
	for name, o := range map[string]scan.Options{
		"default": {URL: url},
		"fast":    {URL: url, Fast: true},
		"tiny":    {URL: url, PageKeys: 1, Duty: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t, o)
			scantest.TestSource(t, r, want)
		})
	}
	t.Run("pttl", func(t *testing.T) {
		t.Parallel()
		r := open(t, scan.Options{URL: url, PTTL: true})
		scantest.TestSource(t, r, want, scantest.Tolerance(2*time.Millisecond))
		if err := r.Keys(t.Context(), func(*scan.Key) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if notes := fmt.Sprint(r.Coverage()[0].Notes); !strings.Contains(notes, "exact to 1 ms") {
			t.Errorf("notes %q do not say that PTTL is less exact", notes)
		}
	})
}

func TestRedisEmpty(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r := open(t, scan.Options{URL: "redis://" + s.Addr})
	scantest.TestSource(t, r, nil)
	if err := r.Keys(t.Context(), func(*scan.Key) error { return nil }); err != nil {
		t.Fatal(err)
	}
	checkComplete(t, r, 0)
	if c := r.Coverage(); len(c) != 1 {
		t.Errorf("coverage of an empty server is %v, want one part", c)
	}
}

func TestRedisDatabases(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	zero, five := fill(t, s, 0, 20), fill(t, s, 5, 12)
	t.Run("all", func(t *testing.T) {
		scantest.TestSource(t, open(t, scan.Options{URL: "redis://" + s.Addr}), append(slices.Clone(zero), five...))
	})
	t.Run("one", func(t *testing.T) {
		r := open(t, scan.Options{URL: "redis://" + s.Addr + "/5"})
		scantest.TestSource(t, r, five)
		if got, want := r.String(), "redis://"+s.Addr+"/5"; got != want {
			t.Errorf("String is %q, want %q", got, want)
		}
	})
	t.Run("beyond", func(t *testing.T) {
		r, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis://" + s.Addr + "/99"})
		if err == nil {
			err = r.Keys(t.Context(), func(*scan.Key) error { return nil })
		}
		checkProblem(t, err, scan.ProblemDatabase, s.Addr)
	})
}

func TestRedisUnixSocket(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--unixsocket", "sock")
	want := fill(t, s, 0, 12)
	path := s.Dir + "/sock"
	r := open(t, scan.Options{URL: "unix://" + path})
	scantest.TestSource(t, r, want)
	if got := r.String(); got != "unix://"+path {
		t.Errorf("String is %q", got)
	}
	_, err := scan.OpenRedis(t.Context(), scan.Options{URL: "unix://" + path + "-none"})
	checkProblem(t, err, scan.ProblemRefused, path)
}

func TestRedisChains(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	want := fill(t, s, 0, 30_000)
	for _, chains := range []int{1, 2, 4, 8} {
		t.Run(strconv.Itoa(chains), func(t *testing.T) {
			r := open(t, scan.Options{URL: "redis://" + s.Addr, Chains: chains, Duty: 1})
			scantest.TestSource(t, r, want)
			got, err := read(t, r)
			if err != nil || len(got) != len(want) {
				t.Errorf("%d keys, %v, want %d", len(got), err, len(want))
			}
			checkComplete(t, r, len(want))
			if used := r.Impact().Chains; used != chains {
				t.Errorf("%d chains were used, want %d", used, chains)
			}
		})
	}
}

// TestRedisChurn scans while others write: each key that is there all the time is yielded exactly once, although the
// hash table grows and shrinks.
func TestRedisChurn(t *testing.T) {
	t.Parallel()
	for _, chains := range []int{1, 4} {
		t.Run(fmt.Sprint(chains, " chains"), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			want := fill(t, s, 0, 25_000)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { churn(t, s, stop) })
			defer wg.Wait()
			defer close(stop)
			r := open(t, scan.Options{URL: "redis://" + s.Addr, Chains: chains, PageKeys: 20, Duty: 1})
			for range 3 {
				seen := make(map[string]int)
				err := r.Keys(t.Context(), func(k *scan.Key) error {
					seen[string(k.Name)]++
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range want {
					if n := seen[string(k.Name)]; n != 1 {
						t.Fatalf("%q was yielded %d times", k.Name, n)
					}
				}
			}
		})
	}
}

// churn makes the keyspace grow to some times its size and shrink again, thousands of keys at a time.
func churn(t *testing.T, s *redistest.Server, stop <-chan struct{}) {
	const rounds, keys = 20, 5000
	for n := 0; ; n++ {
		verb := "SET"
		if n/rounds%2 == 1 {
			verb = "DEL"
		}
		s.Pipe(t, func(do func(...string)) {
			for i := range keys {
				args := []string{verb, fmt.Sprintf("churn:%d:%d", n%rounds, i)}
				if verb == "SET" {
					args = append(args, "v")
				}
				do(args...)
			}
		})
		select {
		case <-stop:
			return
		default:
		}
	}
}

func TestRedisVanishedKeysAreNotImmortal(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s, 0, 3000)
	r := open(t, scan.Options{URL: "redis://" + s.Addr, PageKeys: 100})
	var once sync.Once
	got := make(map[string]int64)
	err := r.Keys(t.Context(), func(k *scan.Key) error {
		// Now some pages are listed, and their expiries not yet asked for.
		once.Do(func() { s.Do(t, "FLUSHALL") })
		got[string(k.Name)] = k.ExpireMS
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Coverage()[0]
	if uint64(len(got)) != c.Read || c.Read+c.Vanished > 3000 || c.Vanished == 0 {
		t.Errorf("read %d (counted %d), vanished %d of 3000", len(got), c.Read, c.Vanished)
	}
}

// Not parallel: it looks for goroutines left behind.
func TestRedisKilledDuringScan(t *testing.T) {
	s := redistest.Start(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fill(t, s, 0, 20_000)
	r := open(t, scan.Options{URL: "redis://" + s.Addr, PageKeys: 100})
	read := uint64(0)
	err := r.Keys(t.Context(), func(*scan.Key) error {
		if read++; read == 1000 {
			s.Kill()
		}
		return nil
	})
	var server *scan.ServerError
	if !errors.As(err, &server) || !strings.Contains(err.Error(), s.Addr) {
		t.Errorf("error %v does not name the server", err)
	}
	c := r.Coverage()[0]
	if c.Complete || c.Read != read || read < 1000 || read >= 20_000 || len(c.Errors) != 1 {
		t.Errorf("coverage is %+v after %d keys", c, read)
	}
}

func TestRedisReconnects(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	want := fill(t, s, 0, 5000)
	r := open(t, scan.Options{URL: "redis://" + s.Addr, PageKeys: 100})
	n := 0
	got := make(map[string]bool)
	err := r.Keys(t.Context(), func(k *scan.Key) error {
		if n++; n%1500 == 0 {
			s.Do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		}
		got[string(k.Name)] = true
		return nil
	})
	if err != nil || len(got) != len(want) || n != len(want) {
		t.Errorf("%d different keys of %d, want %d; error %v", len(got), n, len(want), err)
	}
}

// Not parallel: it looks for goroutines left behind.
func TestRedisCancelledDuringRest(t *testing.T) {
	s := redistest.Start(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fill(t, s, 0, 2000)
	r := open(t, scan.Options{URL: "redis://" + s.Addr, Rate: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := r.Keys(ctx, func(*scan.Key) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRedisImpact(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s, 0, 1000)
	r := open(t, scan.Options{URL: "redis://" + s.Addr})
	before, err := r.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Keys(t.Context(), func(*scan.Key) error { return nil }); err != nil {
		t.Fatal(err)
	}
	after, err := r.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := r.Impact()
	if hits := after.Hits - before.Hits; m.HitsAdded != hits {
		t.Errorf("impact says %d hits, the server counted %d", m.HitsAdded, hits)
	}
	if m.Keys != 1000 || m.Pages == 0 || !m.ByServer || m.ServerPerPage <= 0 || m.Duration <= 0 {
		t.Errorf("impact is %+v", m)
	}
}

func TestRedisInfo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	fill(t, s, 0, 20)
	info, err := open(t, scan.Options{URL: "redis://" + s.Addr}).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Kind != "redis" || info.Version == "" || info.Role != "master" || info.Policy != "allkeys-lru" ||
		info.MaxMemory != 100<<20 || info.UsedMemory == 0 || info.Mode != "standalone" ||
		info.DBs[0] != (scan.DBInfo{Keys: 20, Expires: 18}) {
		t.Errorf("info is %+v", info)
	}
	if skew := time.Since(info.Now); skew > time.Minute || skew < -time.Minute {
		t.Errorf("the server's clock is %v", info.Now)
	}
}

func TestRedisPrimaryAndReplica(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	fill(t, primary, 0, 12)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary.Port))
	err := redistest.Eventually(func() error {
		if replica.Do(t, "DBSIZE") != ":12" || !strings.Contains(primary.Do(t, "INFO", "replication"), "state=online") {
			return errors.New("not in step")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    scan.Options
		from *redistest.Server
	}{
		{scan.Options{URL: "redis://" + primary.Addr}, primary},
		{scan.Options{URL: "redis://" + replica.Addr}, replica},
		{scan.Options{URL: "redis://" + primary.Addr, Replica: true}, replica},
		{scan.Options{URL: "redis://" + replica.Addr, Replica: true}, replica},
	} {
		r := open(t, c.o)
		if got, err := read(t, r); err != nil || len(got) != 12 {
			t.Fatalf("%d keys, %v", len(got), err)
		}
		if name := r.Coverage()[0].Name; name != c.from.Addr+"/0" {
			t.Errorf("%s was read, want %s", name, c.from.Addr)
		}
		if warned := strings.Contains(fmt.Sprint(r.Impact().Warnings), "SCAN deletes"); warned != (c.from == primary) {
			t.Errorf("%s: warnings are %q", c.from.Addr, r.Impact().Warnings)
		}
	}
}

func TestRedisInspect(t *testing.T) {
	t.Parallel()
	keys := []scan.KeyRef{{Name: []byte("text")}, {Name: []byte("list"), DB: 2}, {Name: []byte("none")}}
	for policy, frequency := range map[string]bool{"allkeys-lru": false, "allkeys-lfu": true} {
		s := redistest.Start(t, "--maxmemory-policy", policy)
		s.Do(t, "SET", "text", "v")
		s.Pipe(t, func(do func(...string)) {
			do("SELECT", "2")
			do("RPUSH", "list", "a")
		})
		details, err := open(t, scan.Options{URL: "redis://" + s.Addr}).Inspect(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		for i, kind := range []string{"string", "list", "none"} {
			d := details[i]
			there := kind != "none"
			if d.Type != kind || !bytes.Equal(d.Name, keys[i].Name) || d.HasFreq != (there && frequency) ||
				d.HasIdle != (there && !frequency) {
				t.Errorf("%s: detail of %q is %+v", policy, keys[i].Name, d)
			}
		}
	}
}

func TestRedisReread(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	want := fill(t, s, 0, 250)
	keys := []scan.KeyRef{{Name: []byte("no such key")}}
	for i := range want {
		keys = append(keys, want[i].Ref())
	}
	for _, pttl := range []bool{false, true} {
		got, err := open(t, scan.Options{URL: "redis://" + s.Addr, PTTL: pttl}).Reread(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != scan.Gone {
			t.Errorf("expiry of a missing key is %d", got[0])
		}
		for i := range want {
			if d := got[i+1] - want[i].ExpireMS; d != 0 && (!pttl || d > 1000 || d < -1000) {
				t.Errorf("PTTL %v: %s expires at %d, want %d", pttl, want[i].Name, got[i+1], want[i].ExpireMS)
			}
		}
	}
}

func TestRedisProgress(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s, 0, 1000)
	var last, total uint64
	r := open(t, scan.Options{URL: "redis://" + s.Addr, Progress: func(read, all uint64) {
		if read < last || all < read {
			t.Errorf("progress went from %d to %d of %d", last, read, all)
		}
		last, total = read, all
	}})
	if _, err := read(t, r); err != nil {
		t.Fatal(err)
	}
	if last != 1000 || total != 1000 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
}

// TestMiniredis reads the embedded server, which tells next to nothing about itself.
func TestMiniredis(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	var want []scan.Key
	for i := range 300 {
		k := scan.Key{Name: fmt.Appendf(nil, "k%d", i), ExpireMS: scan.NoExpiry}
		if err := m.Set(string(k.Name), "v"); err != nil {
			t.Fatal(err)
		}
		want = append(want, k)
	}
	if err := m.DB(4).Set("x", "v"); err != nil {
		t.Fatal(err)
	}
	want = append(want, scan.Key{Name: []byte("x"), DB: 4, ExpireMS: scan.NoExpiry})
	scantest.TestSource(t, open(t, scan.Options{URL: "redis://" + m.Addr()}), want)
}

func TestRedisStalls(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, scheme := range []string{"redis", "rediss"} {
		o := scan.Options{URL: scheme + "://" + l.Addr().String(), ConnectTimeout: 50 * time.Millisecond}
		_, err := scan.OpenRedis(t.Context(), o)
		want := scan.ProblemTimeout
		if scheme == "rediss" {
			want = scan.ProblemNoTLS
		}
		checkProblem(t, err, want, l.Addr().String())
	}
}
