package comb

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// event is one Add.
type event struct {
	at int64
	n  uint64
}

// events draws events around a few centres, so that bins are met again, with some at the ends of time.
func events(t *rapid.T, label string) []event {
	at := rapid.OneOf(rapid.Int64Range(-5e9, 5e9), rapid.Int64Range(17e17, 17e17+1e12), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0, -1}))
	n := rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Just(uint64(math.MaxUint64)))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event { return event{at.Draw(t, "at"), n.Draw(t, "n")} }), 0, 300).Draw(t, label)
}

func fill(bin time.Duration, parts ...[]event) *Series {
	s := NewSeries(bin)
	for _, e := range slices.Concat(parts...) {
		s.Add(e.at, e.n)
	}
	return s
}

func encoded(t interface{ Fatal(...any) }, s *Series) string {
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func merged(t interface{ Fatal(...any) }, bin time.Duration, parts ...*Series) *Series {
	out := NewSeries(bin)
	for _, p := range parts {
		if err := out.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestSeriesIsACommutativeMonoid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bin := rapid.SampledFrom([]time.Duration{time.Nanosecond, FineBin, time.Second, time.Hour}).Draw(t, "bin")
		a, b, c := events(t, "a"), events(t, "b"), events(t, "c")
		whole := encoded(t, fill(bin, a, b, c))
		mixed := rapid.Permutation(slices.Concat(a, b, c)).Draw(t, "mixed")
		for name, s := range map[string]*Series{
			"a+b+c":   merged(t, bin, fill(bin, a), fill(bin, b), fill(bin, c)),
			"c+b+a":   merged(t, bin, fill(bin, c), fill(bin, b), fill(bin, a)),
			"a+(b+c)": merged(t, bin, fill(bin, a), merged(t, bin, fill(bin, b), fill(bin, c))),
			"mixed":   fill(bin, mixed),
			"0+whole": merged(t, bin, NewSeries(bin), fill(bin, a, b, c)),
		} {
			if got := encoded(t, s); got != whole {
				t.Errorf("%s differs from the whole", name)
			}
		}
	})
}

func TestSeriesCountsAsAMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bin := rapid.SampledFrom([]time.Duration{time.Nanosecond, FineBin, time.Second, time.Minute}).Draw(t, "bin")
		es := events(t, "events")
		want := map[int64]uint64{}
		var total uint64
		for _, e := range es {
			if e.n > 0 {
				x := e.at / int64(bin)
				if e.at < x*int64(bin) {
					x--
				}
				want[x] = addSat(want[x], e.n)
				total = addSat(total, e.n)
			}
		}
		s := fill(bin, es)
		if s.Total() != total || s.Len() != len(want) {
			t.Fatalf("total %d of %d, %d bins of %d", s.Total(), total, s.Len(), len(want))
		}
		last := int64(math.MinInt64)
		for b := range s.Bins() {
			if want[floorDiv(b.At, int64(bin))] != b.N && b.At != math.MinInt64 {
				t.Errorf("bin at %d holds %d", b.At, b.N)
			}
			if b.At < last {
				t.Error("bins are not in order of time")
			}
			last = b.At
		}
		first, end := s.Span()
		if len(want) > 0 && (first > end || end != last) {
			t.Errorf("span %d to %d", first, end)
		}
	})
}

func TestSeriesPeakIsTheBusiestSecond(t *testing.T) {
	s := NewSeries(FineBin)
	for _, at := range []float64{0, 0.9, 1.1, 1.8, 1.85, 5, 5.2} {
		s.Add(int64(at*1e9), 1)
	}
	if at, n := s.Peak(); n != 4 || at != 875e6 {
		t.Errorf("peak %d at %d", n, at)
	}
	if at, n := NewSeries(time.Second).Peak(); at != 0 || n != 0 {
		t.Errorf("peak of nothing: %d at %d", n, at)
	}
}

func TestSeriesRefusesOtherBins(t *testing.T) {
	if err := NewSeries(time.Second).Merge(NewSeries(FineBin)); err == nil {
		t.Error("bins of 1 s and 125 ms were merged")
	}
}

func TestSeriesForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fill(FineBin, events(t, "events"))
		var j, g Series
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &j); err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := gob.NewEncoder(&buf).Encode(s); err != nil {
			t.Fatal(err)
		}
		if err := gob.NewDecoder(&buf).Decode(&g); err != nil {
			t.Fatal(err)
		}
		if encoded(t, &j) != encoded(t, s) || encoded(t, &g) != encoded(t, s) {
			t.Error("a form loses something")
		}
	})
}

func FuzzUnmarshalSeries(f *testing.F) {
	s := fill(time.Second, []event{{0, 1}, {5e9, 3}, {-7e9, 2}})
	f.Add([]byte(encoded(f, s)))
	f.Add([]byte{1, 1, 0})
	f.Add([]byte{1, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Series
		if s.UnmarshalBinary(b) != nil {
			return
		}
		var again Series
		if err := again.UnmarshalBinary([]byte(encoded(t, &s))); err != nil || encoded(t, &again) != encoded(t, &s) {
			t.Errorf("not the same after a round: %v", err)
		}
		s.Peak()
		Detect(&s, Options{})
	})
}
