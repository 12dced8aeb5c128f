package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/ttlhist"
)

// The next tooth is described by its own busiest second, not by that of a larger one that comes later.
func TestHerdLinesTellTeethApart(t *testing.T) {
	at := time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)
	next := ttlhist.Tooth{From: at, To: at.Add(59 * time.Second), Keys: 600, Busiest: 1}
	h := ttlhist.Herd{Next: next, NextIn: time.Minute, Largest: next, Busiest: 1, BusiestAt: at}
	lines := func(h *ttlhist.Herd) string {
		r := &TTL{Analysis: &ttlhist.Analysis{Sampled: 1}}
		return strings.Join(r.herdLines(&ttlhist.Finding{Herd: h}, h, Clock{}), "\n")
	}
	if got := lines(&h); !strings.Contains(got, "busiest second 1 key.") {
		t.Errorf("one tooth: %s", got)
	}
	h.Largest = ttlhist.Tooth{From: at.Add(time.Hour), To: at.Add(time.Hour), Keys: 120, Busiest: 120}
	h.Busiest, h.BusiestAt = 120, h.Largest.From
	if got := lines(&h); !strings.Contains(got, "busiest second 1 key (of the largest tooth: 120 keys, at 2026-11-03T15:00:00Z).") {
		t.Errorf("a larger one later: %s", got)
	}
}

// The interval of a busiest second of a sample holds the true one, though the largest of many counts was picked.
func TestBusiestSecondOfSample(t *testing.T) {
	const share, seconds, perSecond, rounds = 0.05, 60, 1000, 400
	r := &TTL{Analysis: &ttlhist.Analysis{Sampled: share}}
	random := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range rounds {
		var most uint64
		for range seconds {
			n := uint64(0)
			for range perSecond {
				if random.Float64() < share {
					n++
				}
			}
			most = max(most, n)
		}
		var at, off int
		text := strings.ReplaceAll(r.estimateBusiest(most, seconds), ",", "")
		if _, err := fmt.Sscanf(text, "≈ %d ± %d keys", &at, &off); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if at-off <= perSecond && perSecond <= at+off {
			inside++
		}
	}
	if inside < rounds*95/100 {
		t.Errorf("%d of %d intervals hold the true %d keys", inside, rounds, perSecond)
	}
	if got := (&TTL{Analysis: &ttlhist.Analysis{Sampled: 1}}).estimateBusiest(1108, 60); got != "1,108 keys" {
		t.Errorf("of all keys: %q", got)
	}
}
