package ttlhist

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestPattern(t *testing.T) {
	tests := []struct{ key, want string }{
		{"product:123", "product:*"},
		{"product:123:view", "product:*:view"},
		{"best:region-33", "best:region-*"},
		{"lock:import:feed-703", "lock:import:feed-*"},
		{"session:0a4f9c3be87d", "session:*"},
		{"session:0A4F9C3BE87D", "session:*"},
		{"session:deadbeef", "session:*"},
		{"user:550e8400-e29b-41d4-a716-446655440000:cart", "user:*:cart"},
		{"user:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "user:*"},
		{"stats:2026-11-03", "stats:*"},
		{"stats:2026-11-03:views", "stats:*:views"},
		{"rl:10.1.2.3:login", "rl:*:login"},
		{"rate:10.1.2.3:17", "rate:*:*"},
		{"page:/c/12/p/33", "page:/c/*/p/*"},
		{"{user:17}:cart", "{user:*}:cart"},
		{"cat:shoes:list", "cat:shoes:list"},
		{"stats:today", "stats:today"},
		{"v1:product:7", "v1:product:*"},
		{"v12:product:7", "v12:product:*"},
		{"v123:product:7", "*:product:*"},
		{"user17", "user*"},
		{"item000042:price", "item*:price"},
		{"tok:Zk3jR9qLw2Xv8TbN", "tok:*"},
		{"tok:aBcDeFgHiJkL", "tok:*"},
		{"getUserProfileById:9", "getUserProfileById:*"},
		{"clé:ünïcode ключ", "clé:ünïcode ключ"},
		{"bin:\x01\x00\xff", "bin:*"},
		{"\xac\xed\x00\x05t", "*"},
		{"a*b:c", "*:c"},
		{"", ""},
		{":::", ":::"},
		{"1", "*"},
		{"a-1-b-2", "a-*-b-*"},
		{"1_2_3", "*"},
	}
	for _, c := range tests {
		if got := string(appendPattern(nil, []byte(c.key))); got != c.want {
			t.Errorf("%q: %q, want %q", c.key, got, c.want)
		}
	}
}

// FuzzPattern checks that a pattern is its own pattern's form, bounded, and
// made without a crash from any bytes.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"product:1:view", "a-1_2.3", "\x00\xff:*", "{x}:550e8400-e29b-41d4-a716-446655440000"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		p := appendPattern(nil, key)
		if len(p) > maxPattern+len(key) || len(p) > len(key)+1 {
			t.Errorf("%q: pattern of %d bytes", key, len(p))
		}
		name := rootOf(string(p))
		for from := range rootOnlyLevel {
			for to := from; to < rootOnlyLevel; to++ {
				half := reduce(string(p), name, 0, from)
				if got, want := reduce(half, name, from, to), reduce(string(p), name, 0, to); got != want {
					t.Errorf("%q reduced by way of %d to %d: %q, want %q", p, from, to, got, want)
				}
				if got := rootOf(half); got != name {
					t.Errorf("%q reduced to %d has the root %q, want %q", p, from, got, name)
				}
			}
		}
	})
}

func TestPatternDoesNotAllocate(t *testing.T) {
	key, buf := []byte("user:550e8400-e29b-41d4-a716-446655440000:cart:10.2.3.4"), make([]byte, 0, 128)
	if n := testing.AllocsPerRun(100, func() { buf = appendPattern(buf[:0], key) }); n > 0 {
		t.Errorf("%v allocations a key", n)
	}
}

func BenchmarkPattern(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var keys [][]byte
	for i := range 10_000 {
		keys = append(keys,
			fmt.Appendf(nil, "product:%d:view", i), fmt.Appendf(nil, "session:%016x%016x", r.Uint64(), r.Uint64()),
			fmt.Appendf(nil, "page:/c/%d/p/%d", r.IntN(3000), i), fmt.Appendf(nil, "rate:10.%d.%d.%d:%d", r.IntN(256), r.IntN(256), r.IntN(256), i))
	}
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf = appendPattern(buf[:0], keys[i%len(keys)])
	}
}
