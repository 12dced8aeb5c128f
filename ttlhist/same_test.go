package ttlhist

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
)

func TestSharedSample(t *testing.T) {
	now := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	summary := func(from, to int) *Summary {
		s := &Summary{}
		s.Begin(Source{Name: "x", Now: now})
		for i := from; i < to; i++ {
			s.Add(&scan.Key{Name: fmt.Appendf(nil, "page:%d", i), ExpireMS: now.Add(time.Duration(i) * time.Second).UnixMilli()})
		}
		s.End()
		return s
	}
	whole := summary(0, 1000)
	var file bytes.Buffer
	if err := whole.Save(&file, false); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		a, b     *Summary
		from, to float64
	}{
		{"one cache by two ways", whole, summary(0, 1000), 1, 1},
		{"a saved summary of it", whole, loaded, 1, 1},
		{"shards", summary(0, 500), summary(500, 1000), 0, 0},
		{"nothing", whole, &Summary{}, 0, 0},
	} {
		if got := SharedSample(c.a, c.b); got < c.from || got > c.to {
			t.Errorf("%s: %v of the samples are shared, want %v to %v", c.name, got, c.from, c.to)
		}
	}
}
