package querylog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// saveBytes returns the saved form, which is the same for equal summaries.
func saveBytes(t interface {
	Helper()
	Fatal(...any)
}, s *Summary,
) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(&b, true); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestParallel compares any number of workers and any size of blocks with one pass.
func TestParallel(t *testing.T) {
	logs := map[string]string{"slow": smallLog()}
	r := rand.New(rand.NewPCG(5, 6))
	logs["general"] = generalLog(append(background(r, 5, time.Minute), planted{at: 7 * time.Second, query: "INSERT INTO r VALUES ('\n\t\t    99 Query\tDROP TABLE x')", thread: 12}))
	logs["faults"] = strings.ReplaceAll(smallLog(), "Query_time: 1.000000", "Query_time: 18446744073708.796870.000036")
	logs["tail"] = "FROM x WHERE y = 'a\n# Time: 1';\n" + smallLog()
	for name, log := range logs {
		want := saveBytes(t, summarise(t, Options{Workers: 1}, text(log)))
		for _, size := range []int{1, 61, 150, 999, 4096, 1 << 20} {
			for _, workers := range []int{1, 3} {
				got := saveBytes(t, summarise(t, Options{Workers: workers, BlockSize: size}, text(log)))
				if d := cmp.Diff(string(want), string(got)); d != "" {
					t.Fatalf("%s: %d workers, blocks of %d bytes: %s", name, workers, size, d)
				}
			}
		}
	}
}

// view is what Analyse sees of a summary, without what may depend on how it was cut.
func view(s *Summary) string {
	s.settle()
	var b strings.Builder
	fmt.Fprintln(&b, s.from, s.to, s.timed, s.kinds, s.fine, s.coarse)
	v, ids := s.saved()
	for _, hash := range slices.Sorted(maps.Keys(s.classes)) {
		c := s.classes[hash].saved(ids, true)
		c.Bursts = nil
		fmt.Fprintf(&b, "%+v %v\n", c, slices.Collect(s.classes[hash].starts.renumbered(ids)))
	}
	for _, m := range v.Missing {
		m.Seen = 0
		fmt.Fprintf(&b, "%+v\n", m)
	}
	a := Analyse(s, AnalyseOptions{})
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "%s %s %d %v %v %d\n", f.Rule, f.Subject, f.Count, f.Bursts, f.Teeth, f.Avoidable)
	}
	return b.String()
}

// TestMergeLaws cuts the events of a log at random places and merges the parts in any order.
func TestMergeLaws(t *testing.T) {
	events, _ := readAll(t, text(smallLog()), Options{})
	count := func(part []got) *Summary {
		s := &Summary{fine: true}
		for _, g := range part {
			e := g.Event
			e.Query = []byte(g.query)
			s.Add(&e)
		}
		return s
	}
	whole := view(count(events))
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.IntRange(0, len(events)).Draw(t, "a")
		b := rapid.IntRange(a, len(events)).Draw(t, "b")
		parts := []*Summary{count(events[:a]), count(events[a:b]), count(events[b:])}
		order := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
		left := &Summary{}
		for _, i := range order {
			left.Merge(parts[i])
		}
		if d := cmp.Diff(whole, view(left)); d != "" {
			t.Fatalf("merged in order %v, cut at %d and %d: %s", order, a, b, d)
		}
		inner := &Summary{}
		inner.Merge(parts[order[1]])
		inner.Merge(parts[order[2]])
		right := &Summary{}
		right.Merge(parts[order[0]])
		right.Merge(inner)
		if d := cmp.Diff(string(saveBytes(t, left)), string(saveBytes(t, right))); d != "" {
			t.Fatalf("(a+b)+c is not a+(b+c): %s", d)
		}
	})
}

func TestSaveLoad(t *testing.T) {
	s := summarise(t, Options{}, text(smallLog()))
	var b bytes.Buffer
	if err := s.Save(&b, true); err != nil {
		t.Fatal(err)
	}
	l, err := Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(saveBytes(t, s)), string(saveBytes(t, l))); d != "" {
		t.Errorf("not the same after loading: %s", d)
	}
	if d := cmp.Diff(view(s), view(l)); d != "" {
		t.Errorf("another analysis after loading: %s", d)
	}
}

// TestSaveHidesLiterals wants no value of a statement in a file saved without samples.
func TestSaveHidesLiterals(t *testing.T) {
	s := summarise(t, Options{}, text(strings.ReplaceAll(smallLog(), "'EUR'", "'secret-4711'")))
	for _, samples := range []bool{true, false} {
		var b bytes.Buffer
		if err := s.Save(&b, samples); err != nil {
			t.Fatal(err)
		}
		l, err := Load(&b)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, c := range l.classes {
			found = found || bytes.Contains(c.sample, []byte("secret-4711"))
		}
		if found != samples {
			t.Errorf("with samples %v, the value is there: %v", samples, found)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return b.Bytes()
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "no saved summary"},
		{"not packed", []byte("# Time: 1"), "no saved summary"},
		{"another kind", pack(`{"kind":"herdscan-ttl","version":1}`), "no saved summary"},
		{"another version", pack(`{"kind":"herdscan-querylog","version":99}`), "version 99"},
		{"another bin", pack(`{"kind":"herdscan-querylog","version":1,"bin_ns":1000}`), "bins of 1µs"},
		{"damaged", pack(`{"kind":"herdscan-querylog","version":1,"bin_ns":125000000,"classes":[{"hash":"1","starts":"gICAgICAgICAgA=="}]}`), "malformed"},
		{"unknown class", pack(`{"kind":"herdscan-querylog","version":1,"bin_ns":125000000,"missing":[{"text":"1","class":"2","n":3}]}`), "unknown class"},
	}
	for _, tt := range tests {
		_, err := Load(bytes.NewReader(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestCaps fills a summary beyond its bounds.
func TestCaps(t *testing.T) {
	s := &Summary{}
	at := logStart
	total := uint64(0)
	add := func(q string) {
		at = at.Add(time.Millisecond)
		total++
		s.Add(&Event{Time: at, Query: []byte(q), Has: HasTime, Host: fmt.Sprintf("h%d", total%5000)})
	}
	for i := range 3 * maxClasses {
		add(fmt.Sprintf("SELECT c%d FROM t", i))
		if i%100 == 0 {
			for range 3 { // 3 % of all
				add("SELECT frequent FROM t")
			}
		}
	}
	if len(s.classes) > 2*maxClasses {
		t.Errorf("%d classes are kept", len(s.classes))
	}
	kept := s.other.Events
	frequent := false
	for _, c := range s.classes {
		kept += c.n
		frequent = frequent || c.shape == "select frequent from t"
	}
	if kept != total || !frequent {
		t.Errorf("%d statements are accounted for, %d were added; the frequent one is kept: %v", kept, total, frequent)
	}
	if a := Analyse(s, AnalyseOptions{}); a.Folded.Classes == 0 || a.Folded.Hosts == 0 {
		t.Errorf("the fold is not stated: %+v", a.Folded)
	}
}

// TestCoarsen wants the same cells whenever they are coarsened.
func TestCoarsen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.IntRange(0, 8).Draw(t, "level")
		list := rapid.SliceOf(rapid.Int64Range(0, 1<<40)).Draw(t, "starts")
		cut := rapid.IntRange(0, len(list)).Draw(t, "cut")
		var late, early cells
		for i, at := range list {
			h := hostID(at % 3)
			late.add(at*1e6, h, 1)
			early.add(at*1e6, h, 1)
			if i == cut {
				early.coarsen(level)
			}
		}
		late.coarsen(level)
		early.coarsen(level)
		if d := cmp.Diff(late.list, early.list); d != "" {
			t.Fatal(d)
		}
		if n := uint64(len(list)); countCells(late.list) != n {
			t.Fatalf("%d starts of %d", countCells(late.list), n)
		}
	})
}

func countCells(list []cell) uint64 { return count(list) }

func TestCellsOverflow(t *testing.T) {
	var cs cells
	for range 5*cellMaxN + 3 {
		cs.add(1e18, 7, 2)
	}
	cs.compact()
	if n := count(cs.list); n != 5*cellMaxN+3 || cs.list[0].host() != 7 || cs.list[0].conns() != 2 {
		t.Errorf("%d starts of %d in %v", n, 5*cellMaxN+3, cs.list)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := Summarise(ctx, []Source{text(smallLog())}, Options{})
	if !errors.Is(err, context.Canceled) || s == nil {
		t.Errorf("summary %v, error %v", s, err)
	}
	if c := s.Coverage(); len(c) != 1 || c[0].Complete {
		t.Errorf("coverage %+v", c)
	}
}

func FuzzLoad(f *testing.F) {
	s, err := Summarise(context.Background(), []Source{text(smallLog())}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	s.settle()
	var b bytes.Buffer
	if err := s.Save(&b, true); err != nil {
		f.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		f.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes())
	f.Add([]byte(`{"kind":"herdscan-querylog","version":1,"bin_ns":125000000}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		s, err := Load(&b)
		if err != nil {
			return
		}
		Analyse(s, AnalyseOptions{})
		saveBytes(t, s)
	})
}
