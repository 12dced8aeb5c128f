package ttlhist

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/herdscan/herdscan/scan"
)

// state is a Summary as it would be saved: two Summaries are equal if it is.
func state(s *Summary) savedSummary { return s.saved(true) }

func sum(keys []scan.Key) *Summary {
	s := &Summary{}
	s.Begin(Source{Name: "a", Now: time.UnixMilli(testNow)})
	for i := range keys {
		s.Add(&keys[i])
	}
	return s
}

const testNow = int64(1_800_000_017_345)

// genKey draws a key with all the evidence that a source can have.
func genKey(t *rapid.T) scan.Key {
	word := rapid.SampledFrom([]string{"user", "cart", "page", "v1", "sess", "lock"})
	name := fmt.Sprintf("%s:%s:%d", word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(0, 500).Draw(t, "id"))
	k := scan.Key{Name: []byte(name), ExpireMS: scan.NoExpiry, Type: rapid.SampledFrom([]string{"", "string", "hash"}).Draw(t, "type")}
	if rapid.Bool().Draw(t, "expires") {
		k.ExpireMS = testNow + rapid.Int64Range(-1000, 100_000).Draw(t, "left")*rapid.SampledFrom([]int64{1, 1000}).Draw(t, "unit")
	}
	k.HasIdle = rapid.Bool().Draw(t, "idle")
	k.Idle = time.Duration(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second
	k.HasFreq = rapid.Bool().Draw(t, "freq")
	k.Freq = uint8(rapid.IntRange(0, 255).Draw(t, "f"))
	k.TTL = time.Duration(rapid.IntRange(0, 2).Draw(t, "ttl")) * time.Minute
	return k
}

// TestMergeLaws checks that any cut, order and nesting of parts gives the
// Summary of the whole.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Custom(genKey), 0, 60).Draw(t, "keys")
		want := state(sum(keys))
		shuffled := rapid.Permutation(keys).Draw(t, "order")
		cut := rapid.IntRange(0, len(keys)).Draw(t, "cut")
		second := rapid.IntRange(cut, len(keys)).Draw(t, "second cut")
		part := func(from, to int) *Summary { return sum(shuffled[from:to]) }
		a, b, c := part(0, cut), part(cut, second), part(second, len(keys))
		left := merged(t, merged(t, a, b), c)
		right := merged(t, a, merged(t, b, c))
		swapped := merged(t, merged(t, c, b), a)
		for name, got := range map[string]*Summary{"(a+b)+c": left, "a+(b+c)": right, "(c+b)+a": swapped} {
			g := state(got)
			g.Sources = want.Sources
			if diff := cmp.Diff(want, g, cmp.AllowUnexported(savedSummary{})); diff != "" {
				t.Fatalf("%s is not the whole:\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(state(part(0, cut)).Groups, state(a).Groups); diff != "" {
			t.Fatalf("merging changed a part:\n%s", diff)
		}
	})
}

// sameState compares a Summary with a wanted state, sources left aside. The
// difference is worked out only if there is one: the states are large.
func sameState(t *testing.T, name string, want savedSummary, s *Summary) {
	t.Helper()
	got := state(s)
	got.Sources = want.Sources
	if a, b := marshal(t, want), marshal(t, got); !bytes.Equal(a, b) {
		t.Errorf("%s differs:\n%.2000s", name, cmp.Diff(want, got))
	}
}

func marshal(t *testing.T, s savedSummary) []byte {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func merged(t fataler, parts ...*Summary) *Summary {
	t.Helper()
	s := &Summary{}
	for _, p := range parts {
		if err := s.Merge(p); err != nil {
			t.Fatalf("merge: %v", err)
		}
	}
	return s
}

// manyKeys returns keys of a few large classes among very many small ones.
func manyKeys(seed uint64, kind string, rare int) []scan.Key {
	r := rand.New(rand.NewPCG(seed, 1))
	word := func() string {
		b := make([]byte, 7)
		for i := range b {
			b[i] = "bcdfghjklmnprstvwz"[r.IntN(18)]
		}
		return string(b)
	}
	var keys []scan.Key
	add := func(name string) {
		keys = append(keys, scan.Key{Name: []byte(name), ExpireMS: testNow + r.Int64N(3_600_000)})
	}
	for range rare {
		switch kind {
		case "names":
			add("user:" + word() + ":cart")
		case "words":
			add(word() + ":item:" + word())
		case "deep":
			add("shop:" + word()[:1] + ":" + word()[:2] + ":" + word() + ":x")
		}
	}
	for class := range 20 {
		for range rare / 200 {
			add(fmt.Sprintf("class%c:item:%d", 'a'+class, r.Uint32()))
		}
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// TestFolding checks the laws above the bounds on groups: the Summary is the
// same in any order and cut, it is bounded, no key is lost, and every class
// above 0.1 % keeps its name and its count.
func TestFolding(t *testing.T) {
	for _, kind := range []string{"names", "words", "deep"} {
		t.Run(kind, func(t *testing.T) {
			keys := manyKeys(3, kind, 60_000)
			whole := sum(keys)
			if n := len(whole.groups); n > maxGroups {
				t.Errorf("%d groups, want at most %d", n, maxGroups)
			}
			if n := whole.Keys(); n != uint64(len(keys)) {
				t.Errorf("%d keys, want %d", n, len(keys))
			}
			want := state(whole)
			other := slices.Clone(keys)
			slices.Reverse(other)
			for name, got := range map[string]*Summary{
				"reversed": sum(other),
				"in parts": merged(t, sum(keys[:100]), sum(keys[100:30_000]), sum(keys[30_000:])),
				"swapped":  merged(t, sum(keys[30_000:]), sum(keys[:30_000])),
			} {
				sameState(t, name, want, got)
			}
			a := Analyse(whole, Options{})
			for class := range 20 {
				name := fmt.Sprintf("class%c", 'a'+class)
				i := slices.IndexFunc(a.Groups, func(g Group) bool { return strings.HasPrefix(g.Pattern, name) })
				if i < 0 {
					t.Errorf("%s is lost", name)
					continue
				}
				if got := a.Groups[i].Keys; got < 300 || got > 300+uint64(len(keys))/1000 {
					t.Errorf("%s has %d keys, want 300", name, got)
				}
			}
			if len(a.Folds) == 0 {
				t.Error("the fold is not stated")
			}
		})
	}
}

// TestBinBound checks that the histograms are bounded and the bound free of
// order.
func TestBinBound(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var keys []scan.Key
	for class := range 30 {
		for range 60_000 {
			keys = append(keys, scan.Key{Name: fmt.Appendf(nil, "c%c%c:7", 'a'+class/5, 'a'+class%5), ExpireMS: testNow + r.Int64N(1<<36)})
		}
	}
	s := sum(keys)
	s.settle()
	bins := 0
	for _, g := range s.groups {
		bins += len(g.expiry.bins)
	}
	if bins > maxBins {
		t.Errorf("%d bins, want at most %d", bins, maxBins)
	}
	if s.bins.steps == 0 {
		t.Fatal("the bound was not reached: the test shows nothing")
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	sameState(t, "another order", state(s), merged(t, sum(keys[:1_000_000]), sum(keys[1_000_000:])))
}

func TestSaveAndLoad(t *testing.T) {
	keys := manyKeys(5, "names", 2000)
	keys = append(keys, scan.Key{Name: []byte("secret-of:alice\xff"), ExpireMS: scan.NoExpiry, Type: "hash"})
	for _, s := range []*Summary{{}, sum(keys), sum(manyKeys(3, "words", 60_000))} {
		var buf bytes.Buffer
		if err := s.Save(&buf, true); err != nil {
			t.Fatal(err)
		}
		got, err := Load(&buf)
		if err != nil {
			t.Fatal(err)
		}
		sameState(t, "loaded", state(s), got)
		more := sum(keys[:500])
		sameState(t, "loaded and merged", state(merged(t, s, more)), merged(t, got, more))
	}
}

func TestSaveWithoutSamplesHoldsNoKeys(t *testing.T) {
	s := sum([]scan.Key{{Name: []byte("user:4711:cart"), ExpireMS: testNow + 5000}})
	for _, samples := range []bool{false, true} {
		var buf bytes.Buffer
		if err := s.Save(&buf, samples); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(loaded.Samples("user:*:cart")) > 0; got != samples {
			t.Errorf("samples %v: the file holds keys: %v", samples, got)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	zip := func(text string) string {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		z.Write([]byte(text))
		z.Close()
		return buf.String()
	}
	for name, c := range map[string]struct{ data, want string }{
		"plain text":    {"hello", "gzip"},
		"nothing":       {"", "EOF"},
		"other kind":    {zip(`{"kind":"herdscan-querylog","version":1}`), `kind "herdscan-querylog"`},
		"other version": {zip(`{"kind":"herdscan-ttl","version":9}`), "version 9"},
		"other bins":    {zip(`{"kind":"herdscan-ttl","version":1,"bin_ms":[7]}`), "bins of [7] ms"},
		"no kind":       {zip(`{}`), "without a kind"},
		"cut short":     {zip(`{"kind":"herdscan-ttl"`), "EOF"},
	} {
		_, err := Load(strings.NewReader(c.data))
		if !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want ErrKind with %q", name, err, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	var buf bytes.Buffer
	if err := sum([]scan.Key{{Name: []byte("a:1"), ExpireMS: testNow + 5000}}).Save(&buf, true); err != nil {
		f.Fatal(err)
	}
	z, err := gzip.NewReader(&buf)
	if err != nil {
		f.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		z.Write(data)
		z.Close()
		s, err := Load(&zipped)
		if err != nil {
			return
		}
		if err := merged(t, s, sum(manyKeys(6, "names", 20))).Save(&zipped, false); err != nil {
			t.Fatal(err)
		}
		Analyse(s, Options{})
	})
}

func TestGrouping(t *testing.T) {
	s := &Summary{Grouping: Grouping{Match: regexp.MustCompile(`^(\w+):\d+:(\w+)`), Prefixes: []string{"cart:", "cart:guest:"}}}
	for _, name := range []string{"user:1:cart", "user:2:cart", "cart:9", "cart:guest:9", "other:7"} {
		s.Add(&scan.Key{Name: []byte(name), ExpireMS: scan.NoExpiry})
	}
	var got []string
	for _, g := range Analyse(s, Options{}).Groups {
		got = append(got, fmt.Sprint(g.Pattern, " ", g.Keys))
	}
	want := []string{"user:cart 2", "cart:* 1", "cart:guest:* 1", "other:* 1"}
	if !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
	plain := sum([]scan.Key{{Name: []byte("a"), ExpireMS: scan.NoExpiry}})
	if err := s.Merge(plain); !errors.Is(err, ErrGrouping) {
		t.Errorf("merge of another grouping: %v", err)
	}
}

func TestSiblings(t *testing.T) {
	names := []string{"alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "mallory", "niaj", "olivia"}
	var keys []scan.Key
	for _, n := range names {
		keys = append(keys, scan.Key{Name: []byte("user:" + n + ":cart"), ExpireMS: testNow + 1000})
	}
	for _, n := range []string{"shoes", "hats"} {
		keys = append(keys, scan.Key{Name: []byte("cat:" + n + ":list"), ExpireMS: testNow + 1000})
	}
	var got []string
	for _, g := range Analyse(sum(keys), Options{}).Groups {
		got = append(got, fmt.Sprint(g.Pattern, " ", g.Keys))
	}
	want := []string{"user:*:cart 13", "cat:hats:list 1", "cat:shoes:list 1"}
	if !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

func BenchmarkAdd(b *testing.B) {
	keys := loadKeys(200_000, 1)
	s := &Summary{}
	s.Begin(Source{Now: time.UnixMilli(testNow)})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(&keys[i%len(keys)])
	}
}
