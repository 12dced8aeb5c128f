package report

import (
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/report/remedy"
	"github.com/herdscan/herdscan/ttlhist"
)

// The teeth behind a warm-up job are those of keys that die together: their
// number and TTL go into its remedies, with the policy of the cache.
func TestRemedyCaseOfWarmUp(t *testing.T) {
	q := querylog.Finding{
		Rule: "HS501", Severity: rule.Warning, Second: 900, Texts: 2000,
		Comb: &comb.Comb{Period: 5 * time.Minute, Width: time.Second, Height: 2000, Peak: 900},
	}
	cache := &TTL{Analysis: &ttlhist.Analysis{
		Sources: []ttlhist.Source{{Policy: "allkeys-lru", MaxMemory: 1 << 20}},
		Groups:  []ttlhist.Group{{Pattern: "lock:*", Kind: ttlhist.LockKey, Keys: 3, Base: ttlhist.BaseTTL{TTL: 30 * time.Second}}},
	}}
	r := &Incident{Keys: []*TTL{cache}, Events: []attribute.Event{{Kind: attribute.Deploy}}}
	c := r.remedyCase(q, &attribute.Suspect{Kind: attribute.WarmUp, TTL: 5 * time.Minute, Patterns: []string{"session:*"}})
	if c.Kind != remedy.WarmUpJob || c.Keys != 2000 || c.TTL != 5*time.Minute || !c.Deploy {
		t.Errorf("case %+v", c)
	}
	if c.Policy != "allkeys-lru" || !c.LocksBesideBlobs || c.LockTTL != 30*time.Second {
		t.Errorf("configuration in %+v", c)
	}
	if list := remedy.Advise(c); len(list) == 0 || list[0].Effect == nil || list[0].Effect.PeakAfter >= 900 {
		t.Errorf("remedies %+v", list)
	}
}
