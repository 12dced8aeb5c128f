package rdb_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan/rdb"
	"github.com/herdscan/herdscan/scan/redistest"
)

// ref names a key of a server.
type ref struct {
	db  int
	key string
}

// fill writes values of every type and encoding that the server knows and returns their keys.
func fill(t *testing.T, s *redistest.Server) []ref {
	t.Helper()
	var refs []ref
	s.Pipe(t, func(do func(...string)) {
		db := 0
		expire := int64(4_102_444_800_000) // in the year 2100
		add := func(key string, commands ...[]string) {
			for _, c := range commands {
				do(append([]string{c[0], key}, c[1:]...)...)
			}
			if len(refs)%3 != 0 { // a third of the keys never expires
				expire += 12_345
				do("PEXPIREAT", key, strconv.FormatInt(expire, 10))
			}
			refs = append(refs, ref{db, key})
		}
		many := func(command string, n int, element func(i int) []string) []string {
			c := []string{command}
			for i := range n {
				c = append(c, element(i)...)
			}
			return c
		}
		one := func(i int) []string { return []string{"element " + strconv.Itoa(i)} }
		number := func(i int) []string { return []string{strconv.Itoa(i * 1001)} }
		long := strings.Repeat("long ", 20_000)
		random := func(n int) string { // can't be compressed
			b, x := make([]byte, n), uint32(7)
			for i := range b {
				x = x*1664525 + 1013904223
				b[i] = byte(x >> 24)
			}
			return string(b)
		}
		for _, db = range []int{0, 1, 15} {
			do("SELECT", strconv.Itoa(db))
			for i, key := range []string{
				"plain", "", "-128", "127", "128", "-32768", "32768", "2147483647", "-2147483648", "2147483648", "007",
				"bin:\x00\xff\r\n\x1b", strings.Repeat("compressed:", 30), random(63), random(64), random(16383),
				random(16384), random(300_000), strings.Repeat("a", 1_000_000),
			} {
				add(key, []string{"SET", strconv.Itoa(i)})
			}
			for i, value := range []string{"", "1", "-129", "70000", "3000000000", "short", long, random(100), random(20_000), random(1_000_000)} {
				add(fmt.Sprintf("string:%d", i), []string{"SET", value})
			}
			add("list:small", many("RPUSH", 5, one))
			add("list:big", many("RPUSH", 5000, one), []string{"RPUSH", random(500_000), "x", long})
			add("set:intset", many("SADD", 100, number))
			add("set:intset64", []string{"SADD", "5000000000", "-5000000000"})
			add("set:hashtable", many("SADD", 1000, one))
			add("zset:listpack", many("ZADD", 10, func(i int) []string { return []string{strconv.Itoa(i), "m" + strconv.Itoa(i)} }))
			add("zset:skiplist", many("ZADD", 1000, func(i int) []string { return []string{strconv.Itoa(i) + ".5", "m" + strconv.Itoa(i)} }),
				[]string{"ZADD", "inf", "a", "-inf", "b"})
			pair := func(i int) []string { return []string{"f" + strconv.Itoa(i), "v"} }
			add("hash:listpack", many("HSET", 10, pair))
			add("hash:hashtable", many("HSET", 1000, pair), []string{"HSET", "long", long})
			add("hll", many("PFADD", 100, one))
			add("geo", []string{"GEOADD", "13.361389", "38.115556", "Palermo"})
			add("bitmap", []string{"SETBIT", "100000", "1"})
			entry := []string{"XADD", "*", "field", "value"}
			add("stream", entry, entry, entry)
			add("stream:big", func() (cs [][]string) {
				for range 500 {
					cs = append(cs, entry)
				}
				return cs
			}()...)
			add("stream:groups", entry, entry, entry)
			do("XGROUP", "CREATE", "stream:groups", "g1", "0")
			do("XGROUP", "CREATE", "stream:groups", "g2", "$", "ENTRIESREAD", "2")
			do("XREADGROUP", "GROUP", "g1", "consumer 1", "COUNT", "2", "STREAMS", "stream:groups", ">")
			do("XREADGROUP", "GROUP", "g1", "consumer 2", "STREAMS", "stream:groups", ">")
			do("XGROUP", "CREATECONSUMER", "stream:groups", "g2", "idle consumer")
			add("stream:empty", []string{"XADD", "5-5", "a", "b"}, []string{"XDEL", "5-5"})
		}
		do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)")
		for i := range 3000 {
			db = 15
			add(fmt.Sprintf("many:%d", i), []string{"SET", "v"})
		}
	})
	return refs
}

// TestServer compares a dump of a live server with what the server says of each key.
func TestServer(t *testing.T) {
	s := redistest.Start(t)
	refs := fill(t, s)
	s.Do(t, "SAVE")
	got, info, err := readDump(t, filepath.Join(s.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, s, refs, got)
	if d := time.Since(info.Created); d < 0 || d > time.Hour || info.ServerVersion == "" || info.Version < 10 {
		t.Errorf("info = %+v", info)
	}
	for name, e := range got {
		if e.HasIdle || e.HasFreq {
			t.Errorf("%s: idle or frequency without a policy", name)
		}
	}
}

// TestServerEncodings reads dumps in which the compression is off and every value has its large encoding, or where
// lists are compressed.
func TestServerEncodings(t *testing.T) {
	for name, args := range map[string][]string{
		"large": {
			"--rdbcompression", "no", "--rdbchecksum", "no", "--hash-max-listpack-entries", "0", "--zset-max-listpack-entries", "0",
			"--set-max-intset-entries", "0", "--list-max-listpack-size", "1", "--stream-node-max-entries", "1",
		},
		"compressed": {"--list-compress-depth", "1", "--list-max-listpack-size", "10"},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t, args...)
			refs := fill(t, s)
			s.Do(t, "SAVE")
			got, _, err := readDump(t, filepath.Join(s.Dir, "dump.rdb"))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, s, refs, got)
		})
	}
}

func readDump(t *testing.T, path string) (map[string]rdb.Entry, rdb.Info, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readAll(t, f, rdb.Options{})
}

// compare asks the server for expiry and type of each key, in one script.
func compare(t *testing.T, s *redistest.Server, refs []ref, got map[string]rdb.Entry) {
	t.Helper()
	if len(got) != len(refs) {
		t.Errorf("%d keys in the dump, %d written", len(got), len(refs))
	}
	const script = `local out = {'answers'}
		for i = 1, #ARGV, 2 do
			redis.call('SELECT', ARGV[i])
			out[#out+1] = string.format('%.0f %s', redis.call('PEXPIRETIME', ARGV[i+1]), redis.call('TYPE', ARGV[i+1]).ok)
		end
		return table.concat(out, '\n')`
	args := []string{"EVAL", script, "0"}
	for _, r := range refs {
		args = append(args, strconv.Itoa(r.db), r.key)
	}
	answers := strings.Split(s.Do(t, args...), "\n")[1:]
	if len(answers) != len(refs) {
		t.Fatalf("%d answers for %d keys", len(answers), len(refs))
	}
	for i, r := range refs {
		e, ok := got[strconv.Itoa(r.db)+"/"+r.key]
		if want := answers[i]; !ok || fmt.Sprintf("%d %s", e.ExpireMS, e.Type) != want {
			t.Errorf("db %d key %.40q: %d %s (found: %v), the server says %s", r.db, r.key, e.ExpireMS, e.Type, ok, want)
		}
	}
}

// TestServerIdle compares idle times, which are stored under an LRU policy only.
func TestServerIdle(t *testing.T) {
	s := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	// RESTORE sets an idle time, so that the test need not wait for one.
	for i := range 5 {
		s.Do(t, "SET", "source", "v")
		s.Do(t, "EVAL", `return redis.call('RESTORE', KEYS[1], 0, redis.call('DUMP', 'source'), 'IDLETIME', ARGV[1])`,
			"1", fmt.Sprintf("key:%d", i), strconv.Itoa(i*1000))
	}
	s.Do(t, "SAVE")
	got, _, err := readDump(t, filepath.Join(s.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		e := got[fmt.Sprintf("0/key:%d", i)]
		idle, err := strconv.Atoi(strings.TrimPrefix(s.Do(t, "OBJECT", "IDLETIME", fmt.Sprintf("key:%d", i)), ":"))
		if d := time.Duration(idle)*time.Second - e.Idle; err != nil || !e.HasIdle || e.HasFreq || d < 0 || d > 30*time.Second {
			t.Errorf("key:%d: idle %v, the server says %d s (error %v)", i, e.Idle, idle, err)
		}
	}
}

// TestServerFreq compares access counters, which are stored under an LFU policy only.
func TestServerFreq(t *testing.T) {
	s := redistest.Start(t, "--maxmemory-policy", "allkeys-lfu", "--lfu-decay-time", "0")
	s.Do(t, "SET", "source", "v")
	for i := range 5 {
		s.Do(t, "EVAL", `return redis.call('RESTORE', KEYS[1], 0, redis.call('DUMP', 'source'), 'FREQ', ARGV[1])`,
			"1", fmt.Sprintf("key:%d", i), strconv.Itoa(i*60))
	}
	s.Do(t, "SAVE")
	got, _, err := readDump(t, filepath.Join(s.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		e := got[fmt.Sprintf("0/key:%d", i)]
		freq := s.Do(t, "OBJECT", "FREQ", fmt.Sprintf("key:%d", i))
		if !e.HasFreq || e.HasIdle || ":"+strconv.Itoa(int(e.Freq)) != freq {
			t.Errorf("key:%d: frequency %d, the server says %s", i, e.Freq, freq)
		}
	}
}

// TestServerAOF reads the two places where an append-only file holds a dump.
func TestServerAOF(t *testing.T) {
	s := redistest.Start(t, "--appendonly", "yes", "--aof-use-rdb-preamble", "yes")
	s.Do(t, "SET", "a", "1", "EX", "1000")
	s.Do(t, "BGREWRITEAOF")
	var base string
	err := redistest.Eventually(func() error {
		bases, _ := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", "*.2.base.rdb"))
		if len(bases) == 0 {
			return io.ErrNoProgress
		}
		base = bases[0]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, info, err := readDump(t, base)
	if err != nil || len(got) != 1 || !info.AOFBase {
		t.Errorf("%d keys, info %+v, error %v", len(got), info, err)
	}
}

// TestServerReplication reads the stream that a master sends to a replica, with and without a known length.
func TestServerReplication(t *testing.T) {
	for diskless, prefix := range map[string]string{"no": "$", "yes": "$EOF:"} {
		t.Run("diskless "+diskless, func(t *testing.T) {
			s := redistest.Start(t, "--repl-diskless-sync", diskless, "--repl-diskless-sync-delay", "0")
			refs := fill(t, s)
			conn, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			r := bufio.NewReader(conn)
			_, err = io.WriteString(conn, "REPLCONF capa eof\r\n")
			if line, _ := r.ReadString('\n'); line != "+OK\r\n" {
				t.Fatalf("REPLCONF: %q, %v", line, err)
			}
			if _, err := io.WriteString(conn, "PSYNC ? -1\r\n"); err != nil {
				t.Fatal(err)
			}
			var head []byte
			for {
				b, err := r.ReadByte()
				if err != nil {
					t.Fatal(err)
				}
				head = append(head, b)
				if bytes.HasSuffix(head, []byte("REDIS0010\xfa")) {
					break
				}
			}
			start, ok := rdb.Start(head)
			if !ok || !strings.Contains(string(head), prefix) {
				t.Fatalf("head %q, start %d, %v", head, start, ok)
			}
			got, _, err := readAll(t, io.MultiReader(bytes.NewReader(head[start:]), r), rdb.Options{})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, s, refs, got)
			// The goroutine that reads ahead waits for more until the connection ends.
			_ = conn.Close()
		})
	}
}

// TestServerCLI reads what "redis-cli --rdb" writes.
func TestServerCLI(t *testing.T) {
	s := redistest.Start(t)
	refs := fill(t, s)
	path := filepath.Join(t.TempDir(), "cli.rdb")
	s.CLI(t, "--rdb", path)
	got, _, err := readDump(t, path)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, s, refs, got)
}
