package rdb_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/herdscan/herdscan/scan/rdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const never = rdb.NoExpiry

// plain is an entry without expiry or access data.
func plain(typ string) rdb.Entry {
	return rdb.Entry{ExpireMS: never, FieldExpireMS: never, Type: typ}
}

func withExpiry(e rdb.Entry, ms int64) rdb.Entry      { e.ExpireMS = ms; return e }
func withFieldExpiry(e rdb.Entry, ms int64) rdb.Entry { e.FieldExpireMS = ms; return e }

// TestChecksumVector checks the checksum in these tests by the value that
// Redis' own source gives for "123456789".
func TestChecksumVector(t *testing.T) {
	if got := checksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("checksum = %x", got)
	}
}

// TestTypes reads one value of each type, between two string keys.
func TestTypes(t *testing.T) {
	const ms = 1_800_000_000_123
	group := func(d *dump, v int) *dump { // one group, one pending entry, one consumer
		d.str("g").lens(5, 0)
		if v >= 2 {
			d.len(3)
		}
		d.len(1).raw(strings.Repeat("i", 16)).u64(ms).len(2)
		d.len(1).str("c").u64(ms)
		if v >= 3 {
			d.u64(ms)
		}
		d.len(1).raw(strings.Repeat("i", 16))
		if v >= 5 {
			d.len(1).raw(strings.Repeat("i", 16))
		}
		return d
	}
	stream := func(v int) func(*dump) {
		return func(d *dump) {
			d.len(2).str(strings.Repeat("i", 16), "listpack", strings.Repeat("j", 16), "listpack").lens(2, 5, 0)
			if v >= 2 {
				d.lens(1, 0, 0, 0, 7)
			}
			group(d.len(1), v)
			if v >= 4 {
				d.lens(100, 200)
				d.len(1).str("producer").len(2).str("id1").lens(5, 0).str("id2").lens(6, 1)
				d.lens(3, 4)
			}
		}
	}
	moduleID := func(name string) uint64 {
		const charset = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		var id uint64
		for i := range len(name) {
			id = id<<6 | uint64(strings.IndexByte(charset, name[i]))
		}
		return id<<10 | 3
	}
	lzf := func(d *dump) { d.raw(0xc3).lens(4, 30).raw(1, "ab", 0xe0) } // never unpacked

	for _, c := range []struct {
		name, magic string
		typ         int
		value       func(*dump)
		want        rdb.Entry
	}{
		{"string", "REDIS0001", 0, func(d *dump) { d.str("value") }, plain("string")},
		{"string int8", "REDIS0001", 0, func(d *dump) { d.raw(0xc0, 7) }, plain("string")},
		{"string int16", "REDIS0001", 0, func(d *dump) { d.raw(0xc1, 7, 7) }, plain("string")},
		{"string int32", "REDIS0001", 0, func(d *dump) { d.raw(0xc2, 7, 7, 7, 7) }, plain("string")},
		{"string lzf", "REDIS0001", 0, lzf, plain("string")},
		{"string 14 bit", "REDIS0001", 0, func(d *dump) { d.str(strings.Repeat("x", 5000)) }, plain("string")},
		{"string 32 bit", "REDIS0001", 0, func(d *dump) { d.str(strings.Repeat("x", 700_000)) }, plain("string")},
		{"list", "REDIS0001", 1, func(d *dump) { d.len(2).str("a", "b") }, plain("list")},
		{"set", "REDIS0001", 2, func(d *dump) { d.len(2).str("a", "b") }, plain("set")},
		{"zset", "REDIS0001", 3, func(d *dump) {
			d.len(4).str("a").raw(3, "1.5").str("b").raw(253).str("c").raw(254).str("d").raw(255)
		}, plain("zset")},
		{"hash", "REDIS0001", 4, func(d *dump) { d.len(1).str("f", "v") }, plain("hash")},
		{"zipmap", "REDIS0002", 9, func(d *dump) { d.str("zipmap") }, plain("hash")},
		{"list ziplist", "REDIS0003", 10, func(d *dump) { d.str("ziplist") }, plain("list")},
		{"intset", "REDIS0003", 11, func(d *dump) { d.str("intset") }, plain("set")},
		{"zset ziplist", "REDIS0003", 12, func(d *dump) { d.str("ziplist") }, plain("zset")},
		{"hash ziplist", "REDIS0004", 13, func(d *dump) { d.str("ziplist") }, plain("hash")},
		{"quicklist", "REDIS0007", 14, func(d *dump) { d.len(2).str("ziplist", "ziplist") }, plain("list")},
		{"zset binary", "REDIS0008", 5, func(d *dump) { d.len(1).str("a").u64(1) }, plain("zset")},
		{"module", "REDIS0008", 7, func(d *dump) {
			d.len(moduleID("ReJSON-RL")).lens(1, 5).lens(2, 5).len(3).raw("1234").len(4).u64(1).len(5).str("x").len(0)
		}, plain("ReJSON-RL")},
		{"stream", "REDIS0009", 15, stream(1), plain("stream")},
		{"hash listpack", "REDIS0010", 16, func(d *dump) { d.str("listpack") }, plain("hash")},
		{"zset listpack", "REDIS0010", 17, func(d *dump) { d.str("listpack") }, plain("zset")},
		{"quicklist 2", "REDIS0010", 18, func(d *dump) { d.len(2).len(1).str("plain").len(2).str("packed") }, plain("list")},
		{"stream 2", "REDIS0010", 19, stream(2), plain("stream")},
		{"set listpack", "REDIS0011", 20, func(d *dump) { d.str("listpack") }, plain("set")},
		{"stream 3", "REDIS0011", 21, stream(3), plain("stream")},
		{"hash with field TTL, release candidate", "REDIS0012", 22, func(d *dump) {
			d.len(2).len(0).str("f", "v").len(ms).str("g", "v")
		}, withFieldExpiry(plain("hash"), ms)},
		{"hash listpack with field TTL, release candidate", "REDIS0012", 23, func(d *dump) { d.str("lp") }, plain("hash")},
		{"hash with field TTL", "REDIS0012", 24, func(d *dump) {
			d.u64(ms).len(2).len(0).str("f", "v").len(1).str("g", "v")
		}, withFieldExpiry(plain("hash"), ms)},
		{"hash with field TTL, none left", "REDIS0012", 24, func(d *dump) { d.u64(0).len(1).len(0).str("f", "v") }, plain("hash")},
		{"hash listpack with field TTL", "REDIS0012", 25, func(d *dump) { d.u64(ms).str("lp") }, withFieldExpiry(plain("hash"), ms)},
		{"stream 4", "REDIS0013", 26, stream(4), plain("stream")},
		{"stream 5", "REDIS0014", 27, stream(5), plain("stream")},
		{"array", "REDIS0014", 28, func(d *dump) {
			d.len(4).lens(1, 9).lens(0, 0).str("long string").lens(1, 1).u64(5).lens(2, 2).u64(5).lens(7, 3).str("abc")
		}, plain("array")},
		{"array without cursor", "REDIS0014", 28, func(d *dump) { d.len(1).lens(0).lens(0, 3).str("abc") }, plain("array")},
		{"hash template listpack", "REDIS0016", 29, func(d *dump) { d.len(2).str("f", "g").str("lp") }, plain("hash")},
		{"hash template listpack by number", "REDIS0016", 30, func(d *dump) { d.str("lp") }, plain("hash")},
		{"hash template", "REDIS0016", 31, func(d *dump) { d.len(2).str("f", "v", "g", "v") }, plain("hash")},
		{"gcra", "REDIS0016", 33, func(d *dump) { d.len(ms) }, plain("gcra")},
		{"KeyDB cron", "REDIS0009", 64, func(d *dump) { d.str("script").u64(1).u64(2).len(1).str("k").len(1).str("a") }, plain("cron")},
		{"Valkey hash with field TTL", "VALKEY080", 22, func(d *dump) {
			d.len(3).str("f", "v").u64(-1).str("g", "v").u64(ms+5).str("h", "v").u64(ms)
		}, withFieldExpiry(plain("hash"), ms)},
		{"Valkey set listpack", "VALKEY080", 20, func(d *dump) { d.str("listpack") }, plain("set")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDump(c.magic).raw(254, 0).key("before").raw(c.typ).str("it")
			c.value(d)
			d.expire(ms).key("after")
			checkRead(t, d.end(), c.magic >= "REDIS0005", map[string]rdb.Entry{
				"0/before": plain("string"),
				"0/it":     c.want,
				"0/after":  withExpiry(plain("string"), ms),
			})
		})
	}
}

// checkRead reads a dump whole, and byte by byte, and compares.
func checkRead(t *testing.T, b []byte, summed bool, want map[string]rdb.Entry) {
	t.Helper()
	if !summed {
		b = b[:len(b)-8]
	}
	for name, src := range map[string]io.Reader{
		"at once": bytes.NewReader(b), "in halves": iotest.HalfReader(bytes.NewReader(b)),
	} {
		got, _, err := readAll(t, src, rdb.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOpcodes(t *testing.T) {
	const ms = 1_800_000_000_123
	d := newDump("REDIS0013").
		aux("redis-ver", "8.6.0").raw(250).str("ctime").raw(0xc2, 0, 0xe0, 0x2d, 0x69). // int-encoded
		aux("used-mem", "1234").aux("unknown", strings.Repeat("x", 100_000)).
		raw(245).str("#!lua name=lib").
		raw(246).str("lib", "LUA").len(1).str("description").str("code").
		raw(247).len(77).lens(2, 1).len(5).str("x").len(0).
		raw(254).len(3).raw(251).lens(10, 5).raw(244).lens(1, 2, 3).
		raw(248).len(300).key("idle").
		raw(249, 200).key("freq").
		raw(253, 0, 0, 0, 1).key("seconds").
		expire(ms).raw(248).len(1).raw(243).len(1).raw("spec").lens(2, 5, 0).key("meta").
		raw(242).len(9).len(2).str("f", "g").raw(32).str("template").len(9).str("v", "w").
		raw(254).len(0).raw(0).raw(0xc0, 0xff).str("v").   // key -1
		raw(0).raw(0xc1, 0x00, 0x80).str("v").             // key -32768
		raw(0).raw(0xc2, 0xff, 0xff, 0xff, 0x7f).str("v"). // key 2147483647
		// "aaaaaaaaaa": one literal, then a reference of nine bytes to it
		raw(0).raw(0xc3).lens(5, 10).raw(0, "a", 0xe0, 0, 0).str("v")
	got, info, err := readAll(t, bytes.NewReader(d.end()), rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	idle, freq := plain("string"), plain("string")
	idle.Idle, idle.HasIdle = 300*time.Second, true
	freq.Freq, freq.HasFreq = 200, true
	meta := withExpiry(plain("string"), ms)
	meta.Idle, meta.HasIdle = time.Second, true
	in3 := func(e rdb.Entry) rdb.Entry { e.DB = 3; return e }
	want := map[string]rdb.Entry{
		"3/idle": in3(idle), "3/freq": in3(freq), "3/meta": in3(meta),
		"3/seconds":  in3(withExpiry(plain("string"), 1<<24*1000)),
		"3/template": in3(plain("hash")),
		"0/-1":       plain("string"), "0/-32768": plain("string"), "0/2147483647": plain("string"),
		"0/aaaaaaaaaa": plain("string"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantInfo := rdb.Info{
		Version: 13, ServerVersion: "8.6.0", Created: time.Unix(0x692de000, 0), UsedMemory: 1234, KeysHint: 10,
	}
	if info != wantInfo {
		t.Errorf("info = %+v, want %+v", info, wantInfo)
	}
}

// TestSameNumbersOfValkey reads the opcodes that mean something else there.
func TestSameNumbersOfValkey(t *testing.T) {
	d := newDump("VALKEY081").aux("valkey-ver", "9.2.0").raw(254, 0).
		raw(243).str("job").len(2).lens(0, 100, 200, 300).key("a").
		raw(242).raw("*2\r\n$3\r\nDEL\r\n$1\r\nx\r\n").key("b")
	got, info, err := readAll(t, bytes.NewReader(d.end()), rdb.Options{})
	if err != nil || len(got) != 2 {
		t.Errorf("read %d keys, error %v", len(got), err)
	}
	if info.Updates != 1 || info.Format() != "VALKEY081" || info.ServerVersion != "9.2.0" {
		t.Errorf("info = %+v", info)
	}
}

// TestKeyDBMembers reads the expiries that KeyDB writes behind a key.
func TestKeyDBMembers(t *testing.T) {
	d := newDump("REDIS0009").raw(254, 0).aux("mvcc-tstamp", "1").key("a").
		aux("keydb-subexpire-key", "m").aux("keydb-subexpire-when", "1800000000123").
		aux("keydb-subexpire-key", "n").aux("keydb-subexpire-when", "1800000000100").
		aux("mvcc-tstamp", "2").key("b")
	checkRead(t, d.end(), true, map[string]rdb.Entry{
		"0/a": withFieldExpiry(plain("string"), 1800000000100), "0/b": plain("string"),
	})
}

// TestErrors checks that what precedes an error is read, and what the error
// says.
func TestErrors(t *testing.T) {
	start := func(magic string) *dump { return newDump(magic).raw(254, 0).key("good") }
	whole := start("REDIS0010").key("more").end()
	flipped := bytes.Clone(whole)
	flipped[13] ^= 1 // in the first key's name
	for _, c := range []struct {
		name string
		b    []byte
		keys int
		want string
	}{
		{"empty", nil, 0, "not an RDB file (at byte 0 of the dump)"},
		{"short", []byte("REDIS"), 0, "not an RDB file"},
		{"text", []byte("key\tpttl_ms\n"), 0, "not an RDB file"},
		{"no version", []byte("REDIS00xx..."), 0, "not an RDB file"},
		{"header only", []byte("REDIS0010"), 0, "cut off (at byte 9)"},
		{"cut behind a key", start("REDIS0010").b, 1, "cut off (at byte 19)"},
		{"cut in a key", start("REDIS0010").raw(0, 5, "ab").b, 1, "cut off"},
		{"cut in a long value", start("REDIS0010").raw(0).str("k").len(1 << 60).raw("x").b, 1, "cut off"},
		{"cut in the checksum", whole[:len(whole)-1], 2, "cut off"},
		{"checksum", flipped, 2, "checksum does not match"},
		{"unknown type", start("REDIS0010").raw(99).str("k").b, 1, "unknown type 99 in REDIS0010"},
		{"path hash of Valkey", start("VALKEY081").raw(23).str("k").b, 1, "path hash of Valkey 9.2"},
		{"type of Redis in Valkey", start("VALKEY080").raw(24).str("k").b, 1, "unknown type 24 in VALKEY080"},
		{"unknown opcode", start("REDIS0010").raw(241).b, 1, "unknown opcode 241 in REDIS0010"},
		{"Dragonfly opcode", start("REDIS0009").raw(201).b, 1, "opcode 201 of Dragonfly"},
		{"Dragonfly type", start("REDIS0009").raw(31).str("k").b, 1, "object type 31 of Dragonfly"},
		{"old module", start("REDIS0008").raw(6).str("k").b, 1, "release candidate"},
		{"module field", start("REDIS0008").raw(7).str("k").lens(1, 9).b, 1, "unknown field 9 in a module's value"},
		{"long key", start("REDIS0010").raw(0).len(1 << 60).b, 1, "damaged length"},
		{"long packed key", start("REDIS0010").raw(0, 0xc3).lens(4, 1<<60).raw("abcd").b, 1, "damaged length"},
		{"packed bomb", start("REDIS0010").raw(0, 0xc3).lens(4, 1<<28).raw("abcd").b, 1, "damaged compressed string"},
		{"packed before the start", start("REDIS0010").raw(0, 0xc3).lens(2, 3).raw(0x20, 9).b, 1, "damaged compressed string"},
		{"list without end", start("REDIS0010").raw(1).str("k").len(1 << 60).b, 1, "cut off"},
		{"pending without end", start("REDIS0010").raw(15).str("k").len(0).lens(0, 0, 0).len(1).str("g").lens(0, 0).len(1 << 60).b, 1, "cut off"},
		{"string encoding", start("REDIS0010").raw(0).str("k").raw(0xc9).b, 1, "unknown string encoding 9"},
		{"length", start("REDIS0010").raw(0, 0x82).b, 1, "damaged length"},
		{"command", newDump("VALKEY081").raw(254, 0).key("good").raw(242, "*x").b, 1, "damaged length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := readAll(t, bytes.NewReader(c.b), rdb.Options{})
			if len(got) != c.keys {
				t.Errorf("read %d keys, want %d", len(got), c.keys)
			}
			var e *rdb.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

// TestNoChecksum reads dumps whose checksum is not made or not wanted.
func TestNoChecksum(t *testing.T) {
	b := newDump("REDIS0010").raw(254, 0).key("a").end()
	copy(b[len(b)-8:], make([]byte, 8)) // rdbchecksum no
	if _, _, err := readAll(t, bytes.NewReader(b), rdb.Options{}); err != nil {
		t.Error(err)
	}
	b[len(b)-1] = 1
	if _, _, err := readAll(t, bytes.NewReader(b), rdb.Options{SkipChecksum: true}); err != nil {
		t.Error(err)
	}
	if _, _, err := readAll(t, bytes.NewReader(b), rdb.Options{}); !errors.Is(err, rdb.ErrChecksum) {
		t.Errorf("error = %v, want ErrChecksum", err)
	}
}

// TestReadError passes on an error of the source, after what came before it.
func TestReadError(t *testing.T) {
	d := newDump("REDIS0010").raw(254, 0).key("a").b
	boom := errors.New("boom")
	got, _, err := readAll(t, io.MultiReader(bytes.NewReader(d), iotest.ErrReader(boom)), rdb.Options{})
	if len(got) != 1 || !errors.Is(err, boom) {
		t.Errorf("read %d keys, error %v", len(got), err)
	}
}

// TestClose ends a Next that waits for more input.
func TestClose(t *testing.T) {
	pr, pw := io.Pipe()
	b := newDump("REDIS0010").raw(254, 0).key("a").b
	b = append(b, bytes.Repeat([]byte{254, 0}, 256<<10)...)
	go pw.Write(b) // the write does not end before the pipe is closed
	defer pr.Close()
	r, err := rdb.NewReader(pr, rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var e rdb.Entry
	if err := r.Next(&e); err != nil {
		t.Fatal(err)
	}
	go r.Close()
	for range 2 {
		if err := r.Next(&e); !errors.Is(err, rdb.ErrClosed) {
			t.Errorf("error = %v, want ErrClosed", err)
		}
	}
}

func TestTrailing(t *testing.T) {
	b := append(newDump("REDIS0010").aux("aof-base", "1").raw(254, 0).key("a").end(), "*2\r\n$6\r\nSELECT"...)
	r, err := rdb.NewReader(bytes.NewReader(b), rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var e rdb.Entry
	for err == nil {
		err = r.Next(&e)
	}
	if !errors.Is(err, io.EOF) || !r.Info().AOFBase {
		t.Fatalf("error %v, info %+v", err, r.Info())
	}
	if got := string(r.Trailing()); got != "*2\r\n$6\r\nSELECT" {
		t.Errorf("trailing = %q", got)
	}
}

func TestStart(t *testing.T) {
	mark := strings.Repeat("f", 40)
	for _, c := range []struct {
		head   string
		offset int
		ok     bool
	}{
		{"REDIS0010", 0, true},
		{"VALKEY080", 0, true},
		{"\n\n$123\r\nREDIS0010", 8, true},
		{"$EOF:" + mark + "\r\nREDIS0010", 47, true},
		{"+FULLRESYNC " + mark + " 14\r\n\n$EOF:" + mark + "\r\nVALKEY080", 105, true},
		{"$EOF:short\r\nREDIS0010", 0, false},
		{"$\r\nREDIS0010", 0, false},
		{"$12", 0, false},
		{"REDIS00", 0, false},
		{"REDISABCD", 0, false},
		{"*2\r\n$6\r\nSELECT\r\n", 0, false},
		{"", 0, false},
	} {
		offset, ok := rdb.Start([]byte(c.head))
		if ok != c.ok || ok && offset != c.offset {
			t.Errorf("Start(%q) = %d, %v, want %d, %v", c.head, offset, ok, c.offset, c.ok)
		}
	}
}

// TestMemory reads a dump of many keys and long values and checks that next to
// nothing is allocated.
func TestMemory(t *testing.T) {
	d := newDump("REDIS0010").raw(254, 0)
	value := strings.Repeat("x", 1<<20)
	for i := range 20_000 {
		d.raw(0).str(fmt.Sprintf("key:%d", i), "value")
		if i%1000 == 0 {
			d.raw(0).str(fmt.Sprintf("long:%d", i), value)
		}
	}
	b := d.end()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := rdb.NewReader(bytes.NewReader(b), rdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var e rdb.Entry
	for err == nil {
		err = r.Next(&e)
	}
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("allocated %d bytes for a dump of %d", got, len(b))
	}
}

// FuzzReader checks that no input panics, hangs or allocates much.
func FuzzReader(f *testing.F) {
	f.Add(newDump("REDIS0010").aux("ctime", "1800000000").raw(254, 0).expire(5).key("a").raw(4).str("h").len(1).str("f", "v").end())
	f.Add(newDump("VALKEY081").raw(254, 0).raw(242).raw("*1\r\n$4\r\nPING\r\n").raw(22).str("h").len(1).str("f", "v").u64(5).end())
	f.Add(newDump("REDIS0013").raw(254, 0).raw(15).str("s").len(0).lens(0, 0, 0, 0).raw(7).str("m").lens(1, 0).end())
	f.Add(newDump("REDIS0010").raw(0, 0xc3).lens(5, 10).raw(0, "a", 0xe0, 0, 0).str("v").b)
	f.Fuzz(func(t *testing.T, b []byte) {
		keys, total := 0, 0
		r, err := rdb.NewReader(bytes.NewReader(b), rdb.Options{SkipChecksum: true})
		if r == nil {
			return
		}
		defer r.Close()
		var e rdb.Entry
		for err == nil {
			if err = r.Next(&e); err == nil {
				keys, total = keys+1, total+len(e.Key)
			}
		}
		// A key takes at least three bytes; LZF expands at most 264 times.
		if keys > len(b)/3 || total > len(b)*264 {
			t.Errorf("%d keys with %d bytes from %d bytes", keys, total, len(b))
		}
		if r.Offset() > int64(len(b)) {
			t.Errorf("offset %d of %d", r.Offset(), len(b))
		}
	})
}
