package ttlhist

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
)

func TestCompare(t *testing.T) {
	now := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	summary := func(from, to int, late time.Duration) *Summary {
		s := &Summary{}
		s.Begin(Source{Name: "x", Now: now})
		for i := from; i < to; i++ {
			s.Add(&scan.Key{Name: fmt.Appendf(nil, "page:%d", i), ExpireMS: now.Add(time.Duration(i)*time.Second + late).UnixMilli()})
		}
		s.End()
		return s
	}
	whole := summary(0, 1000, 0)
	rewritten := summary(0, 500, 0)
	if err := rewritten.Merge(summary(500, 1000, 357*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := whole.Save(&file, false); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		a, b *Summary
		want Likeness
	}{
		{"one cache by two ways", whole, summary(0, 1000, 0), Likeness{1, 1}},
		{"a saved summary of it", whole, loaded, Likeness{1, 1}},
		{"shards", summary(0, 500, 0), summary(500, 1000, 0), Likeness{0, 0}},
		{"the same keys in another place", whole, summary(0, 1000, 357*time.Millisecond), Likeness{1, 0}},
		{"half of them written anew", whole, rewritten, Likeness{1, 0.5}},
		{"nothing", whole, &Summary{}, Likeness{0, 1}},
	} {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
