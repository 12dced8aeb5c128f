package querylog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// TestPack wants the cells of a list whether it was packed at times or never.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.IntRange(0, 8).Draw(t, "level")
		n := rapid.IntRange(0, 3*chunkSize).Draw(t, "starts")
		spread := rapid.Int64Range(1, 1<<36).Draw(t, "spread")
		packs := rapid.SliceOf(rapid.IntRange(0, 3*chunkSize)).Draw(t, "packs")
		seed := rapid.Uint64().Draw(t, "seed")
		var plain, packed cells
		for i := range n {
			seed = seed*6364136223846793005 + 1442695040888963407
			at := int64(i)*1e9 + int64(seed>>28)%spread // not quite in order
			h, conn := hostID(seed>>20%3), uint8(seed>>40%2)
			plain.add(at, h, conn)
			packed.add(at, h, conn)
			if slices.Contains(packs, i) {
				packed.pack(level)
			}
		}
		for _, cs := range []*cells{&plain, &packed} {
			cs.coarsen(level)
			cs.settle(level)
		}
		want := slices.Collect(plain.all())
		if d := cmp.Diff(want, slices.Collect(packed.all())); d != "" {
			t.Fatal(d)
		}
		if packed.len() != len(want) {
			t.Fatalf("%d cells of %d", packed.len(), len(want))
		}
		if len(want) == 0 {
			return
		}
		if first, last := packed.ends(); first != want[0] || last != want[len(want)-1] {
			t.Fatalf("from %v to %v", first, last)
		}
		from := want[rapid.IntRange(0, len(want)-1).Draw(t, "from")].at()
		to := from + rapid.Int64Range(0, spread).Draw(t, "wide")
		if a, b := plain.in(from, to), packed.in(from, to); !slices.Equal(a, b) {
			t.Fatalf("in %d-%d: %v, packed %v", from, to, a, b)
		}
	})
}

// TestCoarseCounts wants the herd of a log and no other, however far its
// starts are rounded.
func TestCoarseCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for level := range 5 {
		s := &Summary{fine: true}
		add := func(at float64, query string) {
			s.Add(&Event{
				Time: time.Unix(1_800_000_000, int64(at*1e9)).UTC(), Has: HasTime | HasDuration,
				Query: []byte(query), Duration: time.Millisecond, Host: fmt.Sprint("web-", r.IntN(4)),
			})
		}
		for range 60_000 {
			add(86_400*r.Float64(), fmt.Sprintf("select a%c from t where id = %d", 'a'+r.IntN(20), r.IntN(1e6)))
		}
		for tooth := range 24 {
			for k := range 300 {
				add(float64(tooth)*3600+400+r.Float64()*3, fmt.Sprintf("select b from herd where id = %d", k))
			}
		}
		s.level = level
		a := Analyse(s, AnalyseOptions{})
		for _, f := range a.Findings {
			if f.Rule == "HS501" && f.Subject == "select b from herd where id = ?" && f.Comb != nil && math.Abs(f.Comb.Period.Seconds()-3600) < 36 {
				continue
			}
			if f.Rule == "HS501" {
				t.Errorf("level %d: %s each %v", level, f.Subject, f.Comb.Period)
			}
		}
		if len(a.Findings) == 0 {
			t.Errorf("level %d: the herd is not found", level)
		}
		if got := comb.Detect(s.Starts(), comb.Options{Resolution: time.Second}); len(got.Combs) > 0 && math.Abs(got.Combs[0].Period.Seconds()-3600) > 36 {
			t.Errorf("level %d: all statements together each %v", level, got.Combs[0].Period)
		}
	}
}

// TestClientsOfBursts wants a job of every replica told although a long log
// keeps the clients of bursts only, and nothing claimed of who sent the rest.
func TestClientsOfBursts(t *testing.T) {
	s := &Summary{fine: true}
	r := rand.New(rand.NewPCG(3, 4))
	add := func(at float64, host int, query string) {
		s.Add(&Event{
			Time: time.Unix(1_800_000_000, int64(at*1e9)).UTC(), Has: HasTime | HasDuration | HasThread, ThreadID: uint64(host),
			Query: []byte(query), Duration: time.Millisecond, Host: fmt.Sprint("web-", host),
		})
	}
	for tooth := range 100 {
		at := float64(tooth) * 600
		for host := range 12 {
			add(at+10+r.Float64()/4, host, "select digest from audit where day = 7")
		}
		for k := range 60 {
			add(at+300+float64(k)/20, 1, fmt.Sprintf("update stock set n = %d where id = %d", k, k))
		}
	}
	s.level = 2
	rules := map[string]Finding{}
	for _, f := range Analyse(s, AnalyseOptions{}).Findings {
		rules[f.Rule+" "+f.Subject[:6]] = f
	}
	if f := rules["HS503 select"]; f.HostsATooth != 12 || f.Severity != rule.Warning {
		t.Errorf("the job of 12 replicas: %+v", f)
	}
	f := rules["HS501 update"]
	if f.Severity != rule.Note || !strings.Contains(f.Reason, "nothing tells") {
		t.Errorf("the batch of nobody knows whom: %v %q", f.Severity, f.Reason)
	}
}
