package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

// loadHerd fills a server with keys that die in a few teeth, and others.
func loadHerd(t testing.TB, s *redistest.Server, prefix string, teeth, each int) {
	t.Helper()
	now := time.Now().UnixMilli()
	r := rand.New(rand.NewPCG(1, 2))
	s.Pipe(t, func(do func(args ...string)) {
		for i := range teeth * each {
			at := now + int64(1+i/each)*300_000 + 123 + r.Int64N(800)
			do("SET", fmt.Sprintf("%s:%d", prefix, 100_000+i), "v", "PXAT", strconv.FormatInt(at, 10))
		}
		for i := range 2000 {
			do("SET", fmt.Sprintf("html:%d", i), "v", "PXAT", strconv.FormatInt(now+10_000+r.Int64N(3_000_000), 10))
		}
		for i := range 100 {
			do("SET", fmt.Sprintf("lock:order:%d", i), "v", "PXAT", strconv.FormatInt(now+300_500, 10))
			do("SET", fmt.Sprintf("%s:%d", prefix, 900_000+i), "v")
		}
	})
}

// expiries are those of all keys.
func expiries(t testing.TB, s *redistest.Server) map[string]int64 {
	t.Helper()
	r, err := scan.OpenRedis(t.Context(), scan.Options{URL: "redis://" + s.Addr, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	at := make(map[string]int64)
	if err := r.Keys(t.Context(), func(k *scan.Key) error {
		at[string(k.Name)] = k.ExpireMS
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return at
}

// cell is a figure in a table of a document: of the row that begins with name.
func cell(t testing.TB, d report.Document, name, column string) uint64 {
	t.Helper()
	for _, table := range d.Tables {
		for i, c := range table.Columns {
			for _, row := range table.Rows {
				if c == column && row[0] == name {
					n, err := strconv.ParseUint(strings.ReplaceAll(strings.Fields(row[i])[0], ",", ""), 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					return n
				}
			}
		}
	}
	t.Fatalf("no column %q in a row %q of %+v", column, name, d.Tables)
	return 0
}

// spreadPrediction is what spread says of the busiest second, before and after.
func spreadPrediction(t testing.TB, d report.Document, pattern string) (before, after uint64) {
	t.Helper()
	return cell(t, d, pattern, "busiest second"), cell(t, d, pattern, "after")
}

// TestSpread spreads a herd on a real server, and asks ttl what it sees before
// and after.
func TestSpread(t *testing.T) {
	s := redistest.Start(t)
	url := "redis://" + s.Addr
	loadHerd(t, s, "page", 3, 3000)
	old := expiries(t, s)
	log := filepath.Join(t.TempDir(), "page.ndjson")
	ttl := func() uint64 {
		d := runner{}.run("ttl", url, "--format", "json").document(t)
		return cell(t, d, "page:*", "busiest second")
	}
	was := ttl()

	dry := runner{}.run("spread", "--pattern", "page:*", "--target", "50/s", url)
	dry.want(t, 0, "dry run: nothing was written", "~page:*", "+pexpireat", "busiest second 3,000 → 50 keys", "100 keys have no TTL", "none longer")
	if now := expiries(t, s); !sameExpiries(old, now) {
		t.Fatal("a dry run has written")
	}

	wrote := runner{}.run("spread", "--pattern", "page:*", "--target", "50/s", "--yes", "--log", log, "--format", "json", url)
	if wrote.code != 0 {
		t.Fatalf("exit code %d: %s%s", wrote.code, wrote.stdout, wrote.stderr)
	}
	d := wrote.document(t)
	before, after := spreadPrediction(t, d, "page:*")
	if got := ttl(); before != was || after != got || got > 50 {
		t.Errorf("ttl sees %d and then %d keys in the busiest second, spread has predicted %d and %d", was, got, before, after)
	}
	changed := checkOnlyShortened(t, old, expiries(t, s), "page:")
	if n := cell(t, d, "written", "keys"); n != uint64(changed) || n < 8000 {
		t.Errorf("%d keys were written, it says %d", changed, n)
	}
	if len(d.Graphs) != 2 || !strings.Contains(d.Verdict, "have their new expiry") || !strings.Contains(strings.Join(d.Next, " "), "--undo "+log) {
		t.Errorf("%d graphs, verdict %q, next %q", len(d.Graphs), d.Verdict, d.Next)
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v, %v", info, err)
	}
	if kinds := s.CLI(t, "TTL", "lock:order:1"); strings.TrimSpace(kinds) == "-1" {
		t.Error("a lock was touched")
	}

	// Again: a log is not overwritten, and the plan is done.
	runner{}.run("spread", "--pattern", "page:*", "--jitter", "15%", "--yes", "--log", log, url).want(t, 2, "never overwritten")
	runner{}.run("spread", "--resume", log, "--yes").want(t, 0, "nothing is left of the plan")

	// Its own address is in the log.
	runner{}.run("spread", "--undo", log).want(t, 0, "dry run: nothing was written", report.Count(changed, "keys")+" would get their old expiry back")
	s.Do(t, "SET", "page:100000", "new", "EX", "7777")
	runner{}.run("spread", "--undo", log, "--yes", url).want(t, 0, "have their old expiry", "rewritten meanwhile: left alone      1")
	now := expiries(t, s)
	delete(old, "page:100000")
	delete(now, "page:100000")
	if !sameExpiries(old, now) {
		t.Error("undo has not put all back")
	}
}

func sameExpiries(a, b map[string]int64) bool {
	for name, at := range a {
		if now, ok := b[name]; ok && now != at {
			return false
		}
	}
	return true
}

// checkOnlyShortened counts the keys with a new expiry. All of them have the
// prefix, and none lives longer.
func checkOnlyShortened(t testing.TB, old, now map[string]int64, prefix string) (changed int) {
	t.Helper()
	for name, at := range now {
		was, known := old[name]
		if !known || was == at {
			continue
		}
		changed++
		if !strings.HasPrefix(name, prefix) || at > was || was == scan.NoExpiry {
			t.Fatalf("%s expired at %d, now at %d", name, was, at)
		}
	}
	return changed
}

// A writer rewrites keys of a pattern as an application does, with a TTL of
// its own, and remembers which.
type writer struct {
	stop  chan struct{}
	done  sync.WaitGroup
	wrote map[string]bool
}

func startWriter(t testing.TB, s *redistest.Server, prefix string, keys int) *writer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{stop: make(chan struct{}), wrote: make(map[string]bool)}
	w.done.Go(func() {
		defer conn.Close()
		replies := bufio.NewReader(conn)
		r := rand.New(rand.NewPCG(3, 4))
		for {
			select {
			case <-w.stop:
				return
			default:
			}
			name := fmt.Sprintf("%s:%d", prefix, 100_000+r.IntN(keys))
			// 86,400 s: nothing that a plan would choose.
			fmt.Fprintf(conn, "*5\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nw\r\n$2\r\nEX\r\n$5\r\n86400\r\n", len(name), name)
			if _, err := replies.ReadString('\n'); err != nil {
				return
			}
			w.wrote[name] = true
		}
	})
	return w
}

func (w *writer) end() map[string]bool {
	close(w.stop)
	w.done.Wait()
	return w.wrote
}

// TestSpreadWithWriters spreads while an application rewrites the keys: no key
// that it wrote is harmed, and the rest dies as predicted.
func TestSpreadWithWriters(t *testing.T) {
	for name, forbid := range map[string][]string{"script": nil, "PTTL": {"-pexpiretime"}, "WATCH": {"-eval"}} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			s.Do(t, append([]string{"ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all"}, forbid...)...)
			loadHerd(t, s, "page", 2, 5000)
			w := startWriter(t, s, "page", 10_000)
			got := runner{env: map[string]string{"REDISCLI_AUTH": "pw"}}.run("spread", "--pattern", "page:*", "--jitter", "15%", "--yes",
				"--log", filepath.Join(t.TempDir(), "log"), "--user", "u", "--format", "json", "redis://"+s.Addr)
			wrote := w.end()
			if got.code != 0 {
				t.Fatalf("exit code %d: %s", got.code, got.stderr)
			}
			d := got.document(t)
			now := expiries(t, s)
			soon := time.Now().Add(20 * time.Hour).UnixMilli()
			for name := range wrote {
				if now[name] < soon {
					t.Fatalf("%s was written with a TTL of a day and now dies at %d", name, now[name])
				}
			}
			_, after := spreadPrediction(t, d, "page:*")
			seen := cell(t, runner{}.run("ttl", "redis://"+s.Addr, "--format", "json").document(t), "page:*", "busiest second")
			left := cell(t, d, "rewritten meanwhile: left alone", "keys")
			t.Logf("%d keys rewritten by their owner, %d of them after they were read; busiest second predicted %d, seen %d", len(wrote), left, after, seen)
			// The writer's keys die together in a day: that tooth is its own.
			if perSecond := busiestBefore(now, soon); perSecond > after {
				t.Errorf("%d keys in the busiest second of those that were spread, predicted %d", perSecond, after)
			}
		})
	}
}

// busiestBefore is the busiest second of the pages that die before a time.
func busiestBefore(at map[string]int64, end int64) (most uint64) {
	seconds := make(map[int64]uint64)
	for name, ms := range at {
		if strings.HasPrefix(name, "page:") && ms > 0 && ms < end {
			seconds[ms/1000]++
			most = max(most, seconds[ms/1000])
		}
	}
	return most
}

// TestSpreadInterrupted presses Ctrl-C in the middle, goes on, and ends as if
// nothing had happened.
func TestSpreadInterrupted(t *testing.T) {
	s := redistest.Start(t)
	url := "redis://" + s.Addr
	loadHerd(t, s, "session", 3, 3000)
	old := expiries(t, s)
	log := filepath.Join(t.TempDir(), "session log.ndjson")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stopped sync.WaitGroup
	stopped.Go(func() { // as soon as the first batch is in the log
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(log); strings.Contains(string(text), `"outcomes"`) {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	})
	got := runner{ctx: ctx}.run("spread", "--pattern", "session:*", "--target", "50/s", "--yes", "--log", log, "--rate", "3000", url)
	stopped.Wait()
	got.want(t, 130, "not reached", "logged out", "--resume '"+log+"' --yes")
	half := checkOnlyShortened(t, old, expiries(t, s), "session:")
	if half == 0 || half > 8000 {
		t.Errorf("%d keys were changed before Ctrl-C", half)
	}
	runner{}.run("spread", "--resume", log).want(t, 0, "of the plan are left", "dry run")
	runner{}.run("spread", "--resume", log, "--yes", url).want(t, 0, "keys have their new expiry")
	plan := logged(t, log)
	now := expiries(t, s)
	for name, c := range plan {
		if now[name] != c.New {
			t.Fatalf("%s dies at %d, planned was %d", name, now[name], c.New)
		}
	}
	if n := checkOnlyShortened(t, old, now, "session:"); n != len(plan) {
		t.Errorf("%d keys changed, %d planned", n, len(plan))
	}
	runner{}.run("spread", "--undo", log, "--yes", url).want(t, 0, "have their old expiry")
	if !sameExpiries(old, expiries(t, s)) {
		t.Error("undo has not put all back")
	}
}

type loggedChange struct {
	Key []byte `json:"k"`
	Old int64  `json:"o"`
	New int64  `json:"n"`
}

// logged reads the plan in a log, as its documentation says.
func logged(t testing.TB, path string) map[string]loggedChange {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plan := make(map[string]loggedChange)
	for dec := json.NewDecoder(f); ; {
		var c loggedChange
		if err := dec.Decode(&c); err == io.EOF {
			return plan
		} else if err != nil {
			t.Fatal(err)
		}
		if c.New > 0 {
			plan[string(c.Key)] = c
		}
	}
}

// TestSpreadACL runs all of it as the user that the dry run asks for.
func TestSpreadACL(t *testing.T) {
	s := redistest.Start(t)
	loadHerd(t, s, "page", 1, 3000)
	url := "redis://" + s.Addr
	dry := runner{}.run("spread", "--pattern", "page:*", url)
	_, line, found := strings.Cut(dry.stdout, "needs a user with: ACL SETUSER herdscan-spread ")
	line, _, _ = strings.Cut(line, "\n")
	if !found || !strings.HasPrefix(line, "on >PASSWORD ") {
		t.Fatalf("no ACL line in\n%s", dry.stdout)
	}
	s.Do(t, append([]string{"ACL", "SETUSER", "herdscan-spread"}, strings.Fields(line)...)...)
	log := filepath.Join(t.TempDir(), "log")
	r := runner{env: map[string]string{"REDISCLI_AUTH": "PASSWORD"}}
	r.run("spread", "--pattern", "page:*", "--yes", "--log", log, "--user", "herdscan-spread", url).want(t, 0, "have their new expiry")
	r.run("spread", "--undo", log, "--yes", "--user", "herdscan-spread", url).want(t, 0, "have their old expiry")
	if log := s.CLI(t, "ACL", "LOG"); strings.TrimSpace(log) != "" {
		t.Errorf("the server refused something:\n%s", log)
	}
	// A user who may only read gets the plan, and no more.
	s.Do(t, append([]string{"ACL", "SETUSER", "reader", ">PASSWORD"}, scan.ACLRules()...)...)
	r.run("spread", "--pattern", "page:*", "--user", "reader", url).want(t, 0, "dry run")
	old := expiries(t, s)
	r.run("spread", "--pattern", "page:*", "--yes", "--log", log+"2", "--user", "reader", url).want(t, 2, "ACL SETUSER")
	if !sameExpiries(old, expiries(t, s)) {
		t.Error("a reader has written")
	}
}

func TestSpreadCluster(t *testing.T) {
	c := redistest.StartCluster(t, 3, 0)
	now := time.Now().UnixMilli()
	for k, s := range c.Primaries {
		s.Pipe(t, func(do func(args ...string)) {
			for i := range 3000 {
				name := fmt.Sprintf("page:%d", i)
				if slot := scan.KeySlot([]byte(name)); slot >= 16384*k/3 && slot < 16384*(k+1)/3 {
					do("SET", name, "v", "PXAT", strconv.FormatInt(now+600_123+int64(i)%700, 10))
				}
			}
		})
	}
	url := "redis-cluster://" + c.Primaries[0].Addr
	log := filepath.Join(t.TempDir(), "log")
	runner{}.run("spread", "--pattern", "page:*", "--target", "30", "--yes", "--log", log, url).want(t, 0, "busiest second 3,000 → 30 keys", "have their new expiry")
	if n := cell(t, runner{}.run("ttl", url, "--format", "json").document(t), "page:*", "busiest second"); n != 30 {
		t.Errorf("ttl sees %d keys in the busiest second", n)
	}
	// One shard fails: what can be put back is, and the rest is named.
	c.Primaries[1].Kill()
	r := runner{}.run("spread", "--undo", log, "--yes", url)
	r.want(t, 2, "not reached", c.Primaries[1].Addr)
	runner{}.run("spread", "--pattern", "page:*", "--jitter", "10%", url).want(t, 2, "not read")
}

func TestSpreadRefuses(t *testing.T) {
	s := redistest.Start(t)
	url := "redis://" + s.Addr
	loadHerd(t, s, "page", 1, 500)
	now := time.Now().UnixMilli()
	s.Pipe(t, func(do func(args ...string)) {
		for i := range 200 {
			do("LPUSH", fmt.Sprintf("mail:%d", i), "x")
			do("PEXPIREAT", fmt.Sprintf("mail:%d", i), strconv.FormatInt(now+600_123, 10))
		}
	})
	file := filepath.Join(t.TempDir(), "dump.rdb")
	for _, c := range []struct {
		args string
		code int
		text string
	}{
		{"", 2, "--pattern"},
		{"--pattern page:* --jitter 10% --target 5", 2, "not both"},
		{"--pattern page:* --resume x", 2, "give one of"},
		{"--undo x --jitter 10%", 2, "take everything from the log"},
		{"--pattern page:* --target 0", 2, "at least 1"},
		{"--pattern page:* --target x/s", 2, "50/s"},
		{"--pattern page:* --jitter 120%", 2, "share"},
		{"--pattern page:* --log x", 2, "--yes"},
		{"--pattern page:* --margin -1s", 2, "negative"},
		{"--pattern nothing:*", 2, "there are html:*"},
		{"--pattern lock:order:*", 2, "it is a lock"},
		{"--pattern mail:*", 2, "of type list"},
		{"--pattern html:*", 0, "no herd"},
		{"--pattern page:* --margin 1h", 0, "too late"},
		{"--pattern page:* --target 1 --margin 280s", 1, "no spread reaches 1 key in one second"},
		{"--undo " + file, 2, "no such file"},
		{"--resume " + file, 2, "no such file"},
		{"--pattern mail:* --kind cache=^mail", 0, "dry run"},
	} {
		got := runner{}.run(append(append([]string{"spread"}, strings.Fields(c.args)...), url)...)
		if c.text == "no such file" {
			got = runner{}.run(append([]string{"spread"}, strings.Fields(c.args)...)...)
		}
		if got.code != c.code || !strings.Contains(got.stdout+got.stderr, c.text) {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s%s", c.args, got.code, c.code, c.text, got.stdout, got.stderr)
		}
	}
	runner{}.run("spread", "--pattern", "page:*", "memcached://127.0.0.1:1").want(t, 2, "memcached")
	runner{}.run("spread", "--pattern", "page:*", file).want(t, 2, "live server")
	secret := runner{}.run("spread", "--pattern", "page:*", "redis://:hunter2@"+s.Addr)
	secret.want(t, 2, "REDIS_URL")
	secret.never(t, "hunter2")
	// --yes is typed, or it does not count.
	runner{env: map[string]string{"HERDSCAN_YES": "true"}}.run("spread", "--pattern", "page:*", url).want(t, 0, "dry run")

	replica := redistest.Start(t, "--replicaof", "127.0.0.1", strconv.Itoa(s.Port))
	if err := redistest.Eventually(func() error {
		if !strings.Contains(replica.CLI(t, "INFO", "replication"), "master_link_status:up") {
			return fmt.Errorf("not in step")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	runner{}.run("spread", "--pattern", "page:*", "--yes", "--log", log, "redis://"+replica.Addr).want(t, 2, "is a replica")
}

func TestSpreadExplainAccess(t *testing.T) {
	got := runner{}.run("spread", "--explain-access", "--pattern", "page:*")
	got.want(t, 0, "PEXPIREAT", "~page:*", "redis.call('PEXPIREAT'", "ACL SETUSER")
}
