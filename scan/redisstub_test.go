package scan_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/scantest"
)

// A stub is a server that behaves as a test needs. What answer does not know is an unknown command.
type stub struct {
	addr string
	// info is the reply to INFO, size that to DBSIZE.
	info string
	size int
	// scan answers SCAN: the next cursor and the keys.
	scan func(cursor string, count int) (string, []string)
	// expiry answers PEXPIRETIME as a raw reply; without it no key expires.
	expiry func(key string) string
	// before, if it returns something, is the raw reply instead of all others; "stall" is none, for ever.
	before func(command string) string
	// keyspace is appended to the line of INFO about database 0, expires is its count of keys with a TTL.
	keyspace string
	expires  int
	// connected returns, for a new connection, what answers the commands that nothing else does; "" is an unknown one.
	connected func() func(args []string) string
}

func (s *stub) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s.addr = l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
}

func (s *stub) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	w := bufio.NewWriter(conn)
	more := func([]string) string { return "" }
	if s.connected != nil {
		more = s.connected()
	}
	for {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		reply := s.reply(args, more)
		if reply == "stall" {
			_ = w.Flush()
			_, _ = io.Copy(io.Discard, conn) // until the client goes away
			return
		}
		_, _ = w.WriteString(reply)
		if r.Buffered() == 0 && w.Flush() != nil {
			return
		}
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		n, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:n])
	}
	return args, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || line[0] != kind {
		return 0, errors.Join(err, errors.New("protocol"))
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func (s *stub) reply(args []string, more func([]string) string) string {
	command := strings.ToUpper(args[0])
	if s.before != nil {
		if reply := s.before(command); reply != "" {
			return reply
		}
	}
	switch command {
	case "PING":
		return "+PONG\r\n"
	case "SELECT", "READONLY":
		return "+OK\r\n"
	case "INFO":
		return bulk(s.info + fmt.Sprintf("# Keyspace\r\ndb0:keys=%d,expires=%d%s\r\n", s.size, s.expires, s.keyspace))
	case "DBSIZE":
		return fmt.Sprintf(":%d\r\n", s.size)
	case "SCAN":
		count, _ := strconv.Atoi(args[3])
		cursor, keys := s.scan(args[1], count)
		return "*2\r\n" + bulk(cursor) + array(keys)
	case "PEXPIRETIME":
		if s.expiry != nil {
			return s.expiry(args[1])
		}
		return ":-1\r\n"
	}
	if reply := more(args); reply != "" {
		return reply
	}
	return fmt.Sprintf("-ERR unknown command '%s', with args beginning with: \r\n", args[0])
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func array(items []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(items))
	for _, item := range items {
		b.WriteString(bulk(item))
	}
	return b.String()
}

func numbered(n int) (keys []string, want []scan.Key) {
	for i := range n {
		keys = append(keys, fmt.Sprint("key:", i))
		want = append(want, scan.Key{Name: []byte(keys[i]), ExpireMS: scan.NoExpiry})
	}
	return keys, want
}

// byOffset scans with cursors that are plain offsets: fine, but not what Redis does.
func byOffset(keys []string) func(string, int) (string, []string) {
	return func(cursor string, count int) (string, []string) {
		from, _ := strconv.Atoi(cursor)
		from = min(from, len(keys))
		to := min(from+count, len(keys))
		next := strconv.Itoa(to)
		if to == len(keys) {
			next = "0"
		}
		return next, keys[from:to]
	}
}

func TestStubThatStalls(t *testing.T) {
	t.Parallel()
	keys, _ := numbered(5000)
	for name, command := range map[string]string{"in SCAN": "SCAN", "in expiries": "PEXPIRETIME"} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			s := &stub{info: "redis_version:7.0.0\r\n", size: len(keys), scan: byOffset(keys)}
			s.before = func(c string) string {
				if c == command && calls.Add(1) > 1000/int32(len(command)) {
					return "stall"
				}
				return ""
			}
			s.scan = func(cursor string, _ int) (string, []string) { return byOffset(keys)(cursor, 10) }
			s.start(t)
			r := open(t, scan.Options{URL: "redis://" + s.addr, Timeout: 50 * time.Millisecond})
			got, err := read(t, r)
			checkProblem(t, err, scan.ProblemTimeout, s.addr)
			if len(got) == 0 || len(got) == len(keys) || r.Coverage()[0].Complete {
				t.Errorf("%d of %d keys, coverage %+v", len(got), len(keys), r.Coverage())
			}
		})
	}
}

// TestStubProducts reads servers that answer as the products do whose names they bear.
func TestStubProducts(t *testing.T) {
	t.Parallel()
	keys, want := numbered(25_000)
	for name, c := range map[string]struct {
		info string
		scan func(string, int) (string, []string)
	}{
		// A shard's number in the low bits of the cursor, and pages without keys.
		"dragonfly": {"redis_version:7.4.0\r\ndragonfly_version:df-v1.34.1\r\n", dragonflyScan(keys)},
		// Cursors that are no numbers.
		"kvrocks": {"kvrocks_version:2.12.0\r\nredis_version:7.0.0\r\n", kvrocksScan(keys)},
		"keydb":   {"redis_version:6.3.4\r\nmvcc_depth:0\r\n", byOffset(keys)},
		"garnet":  {"redis_version:7.4.3\r\ngarnet_version:1.0.84\r\n", byOffset(keys)},
		// Says that it is Redis, but has cursors of its own: the division has to be given up.
		"another proxy": {"redis_version:7.0.0\r\n", byOffset(keys)},
		"unknown":       {"", byOffset(keys)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{info: c.info, size: len(keys), scan: c.scan}
			s.start(t)
			r := open(t, scan.Options{URL: "redis://" + s.addr, Chains: 4, Duty: 1})
			scantest.TestSource(t, r, want)
			if _, err := read(t, r); err != nil {
				t.Fatal(err)
			}
			checkComplete(t, r, len(want))
			if r.Impact().Chains != 1 {
				t.Errorf("%d chains were used", r.Impact().Chains)
			}
		})
	}
}

func dragonflyScan(keys []string) func(string, int) (string, []string) {
	const shards, count = 4, 90
	return func(cursor string, _ int) (string, []string) {
		n, _ := strconv.Atoi(cursor)
		shard, step := n%1024, n/1024
		per := len(keys) / shards
		from := shard*per + step/2*count
		to := min(from+count, (shard+1)*per)
		var page []string
		if step%2 == 0 { // every other page is empty
			page = keys[from:to]
		}
		step++
		if step%2 == 0 && to == (shard+1)*per {
			shard, step = shard+1, 0
		}
		if shard == shards {
			return "0", page
		}
		return strconv.Itoa(step*1024 + shard), page
	}
}

func kvrocksScan(keys []string) func(string, int) (string, []string) {
	return func(cursor string, count int) (string, []string) {
		from := 0
		if cursor != "0" {
			from = slices.Index(keys, strings.TrimPrefix(cursor, "_")) + 1
		}
		to := min(from+count, len(keys))
		if to == len(keys) {
			return "0", keys[from:to]
		}
		return "_" + keys[to-1], keys[from:to]
	}
}

// TestStubRepliesPerKey mixes every kind of answer into one page.
func TestStubRepliesPerKey(t *testing.T) {
	t.Parallel()
	keys := []string{"good", "immortal", "gone", "forbidden", "good", "moved", "huge"}
	s := &stub{info: "redis_version:7.0.0\r\n", size: len(keys), scan: byOffset(keys)}
	s.expiry = func(key string) string {
		switch key {
		case "good":
			return ":1796068000123\r\n"
		case "gone": // as servers answer that list expired keys
			return ":-2\r\n"
		case "forbidden":
			return "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n"
		case "moved":
			return "-MOVED 3999 127.0.0.1:6381\r\n"
		case "huge":
			return ":9223372036854775807\r\n"
		}
		return ":-1\r\n"
	}
	s.start(t)
	r := open(t, scan.Options{URL: "redis://" + s.addr})
	got, err := read(t, r)
	want := map[string]int64{"0/good": 1796068000123, "0/immortal": scan.NoExpiry, "0/huge": 1<<63 - 1}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	c := r.Coverage()[0]
	if c.Read != 3 || c.Vanished != 2 || c.Denied != 1 || c.Duplicates != 1 || !strings.Contains(fmt.Sprint(c.Notes), "1 keys belong") {
		t.Errorf("coverage is %+v", c)
	}
}

// TestStubBusyForAMoment refuses a few times, as servers do during a failover.
func TestStubBusyForAMoment(t *testing.T) {
	t.Parallel()
	keys, want := numbered(50)
	for _, command := range []string{"SCAN", "PEXPIRETIME"} {
		var calls atomic.Int32
		s := &stub{info: "redis_version:7.0.0\r\n", size: len(keys), scan: byOffset(keys)}
		s.before = func(c string) string {
			if n := calls.Add(1); c == command && n%7 == 0 && n < 100 {
				return "-LOADING Redis is loading the dataset in memory\r\n"
			}
			return ""
		}
		s.start(t)
		r := open(t, scan.Options{URL: "redis://" + s.addr, PageKeys: 3})
		if got, err := read(t, r); err != nil || len(got) != len(want) {
			t.Errorf("%s: %d keys, %v, want %d", command, len(got), err, len(want))
		}
	}
}

// TestStubSampleBySlots samples a server that keeps one hash table for each slot.
func TestStubSampleBySlots(t *testing.T) {
	t.Parallel()
	const slots, perSlot = 16384, 3
	bySlot := make([][]string, slots)
	names, _ := numbered(slots * perSlot)
	for _, k := range names {
		slot := scan.KeySlot([]byte(k))
		bySlot[slot] = append(bySlot[slot], k)
	}
	s := &stub{info: "redis_version:8.0.0\r\ncluster_enabled:1\r\n", size: len(names)}
	s.scan = func(cursor string, count int) (string, []string) {
		n, _ := strconv.ParseUint(cursor, 10, 64)
		var page []string
		for slot := int(n % slots); slot < slots; slot++ {
			page = append(page, bySlot[slot]...)
			if len(page) >= count {
				return strconv.Itoa((slot + 1) % slots), page
			}
		}
		return "0", page
	}
	s.start(t)
	r := open(t, scan.Options{URL: "redis://" + s.addr, Sample: 0.25, Seed: 7, PageKeys: 20, Duty: 1})
	got, err := read(t, r)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Coverage()[0]
	if c.Sampled != 0.25 || len(got) < len(names)*23/100 || len(got) > len(names)*27/100 {
		t.Errorf("%d of %d keys, coverage %+v", len(got), len(names), c)
	}
	whole := 0
	for _, list := range bySlot {
		n := 0
		for _, k := range list {
			if _, ok := got["0/"+k]; ok {
				n++
			}
		}
		if n != 0 && n != len(list) {
			t.Fatalf("%d of the %d keys of a slot were read", n, len(list))
		}
		if n > 0 {
			whole++
		}
	}
	if whole == 0 {
		t.Error("no slot was read")
	}
}

func TestStubRefusesSamples(t *testing.T) {
	t.Parallel()
	keys, _ := numbered(10_000)
	s := &stub{info: "dragonfly_version:df-v1.34.1\r\n", size: len(keys), scan: byOffset(keys)}
	s.start(t)
	_, err := read(t, open(t, scan.Options{URL: "redis://" + s.addr, Sample: 0.1}))
	if err == nil || !strings.Contains(err.Error(), "dragonfly") {
		t.Errorf("error is %v", err)
	}
}

// TestStubDistantServer has a round trip long enough for several chains.
func TestStubDistantServer(t *testing.T) {
	t.Parallel()
	keys, want := numbered(1 << 15)
	s := &stub{info: "redis_version:7.0.0\r\n", size: len(keys)}
	s.before = func(c string) string {
		if c == "PING" || c == "SCAN" {
			time.Sleep(3 * time.Millisecond)
		}
		return ""
	}
	// One key in each bucket, walked as Redis does.
	s.scan = func(cursor string, count int) (string, []string) {
		n, _ := strconv.ParseUint(cursor, 10, 64)
		var page []string
		for len(page) < count {
			page = append(page, keys[n])
			n = bits.Reverse64(bits.Reverse64(n|^uint64(len(keys)-1)) + 1)
			if n == 0 {
				return "0", page
			}
		}
		return strconv.FormatUint(n, 10), page
	}
	s.start(t)
	r := open(t, scan.Options{URL: "redis://" + s.addr, Duty: 1})
	got, err := read(t, r)
	if err != nil || len(got) != len(want) {
		t.Errorf("%d keys, %v, want %d", len(got), err, len(want))
	}
	if n := r.Impact().Chains; n < 4 {
		t.Errorf("%d chains were used", n)
	}
}
