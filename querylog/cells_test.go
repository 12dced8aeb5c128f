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
// keeps the clients of bursts only, and of who sent the rest nothing claimed
// but what connections tell.
func TestClientsOfBursts(t *testing.T) {
	for has, reason := range map[Has]string{HasThread: "one connection", 0: "nothing tells"} {
		clientsOfBursts(t, has, reason)
	}
}

func clientsOfBursts(t *testing.T, has Has, reason string) {
	s := &Summary{fine: true}
	r := rand.New(rand.NewPCG(3, 4))
	add := func(at float64, host int, query string) {
		s.Add(&Event{
			Time: time.Unix(1_800_000_000, int64(at*1e9)).UTC(), Has: HasTime | HasDuration | has, ThreadID: uint64(host),
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
	if f.Severity != rule.Note || !strings.Contains(f.Reason, reason) {
		t.Errorf("the batch of one client, which should be told as %q: %v %q", reason, f.Severity, f.Reason)
	}
}

// TestMergeLevels merges parts whose starts are rounded differently, packed or
// not, saved or not: the whole is what it would be had all been rounded at once.
func TestMergeLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := 0
		var all []Event
		part := func(k int) func() *Summary {
			level := rapid.IntRange(0, 4).Draw(t, "level")
			top = max(top, level)
			packed, saved := rapid.Bool().Draw(t, "packed"), rapid.Bool().Draw(t, "saved")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), uint64(k)))
			var events []Event
			for range rapid.IntRange(0, 400).Draw(t, "events") {
				events = append(events, Event{
					Time: logStart.Add(time.Duration(r.IntN(200_000)) * time.Millisecond), Has: HasTime | HasThread, ThreadID: uint64(r.IntN(5)),
					Query: fmt.Appendf(nil, "select a%d from t where id = %d", r.IntN(3), r.IntN(4000)), Host: fmt.Sprint("web-", r.IntN(6)),
				})
			}
			all = append(all, events...)
			return func() *Summary {
				s := summaryOf(events, level)
				for _, c := range s.classes {
					if packed {
						c.starts.pack(level)
					}
				}
				if !saved {
					return s
				}
				return reload(t, s)
			}
		}
		parts := []func() *Summary{part(0), part(1), part(2)}
		sum := func(list ...*Summary) *Summary {
			s := &Summary{}
			for _, x := range list {
				s.Merge(x)
			}
			return s
		}
		p := rapid.Permutation(parts).Draw(t, "order")
		left, right := sum(sum(p[0](), p[1]()), p[2]()), sum(p[0](), sum(p[1](), p[2]()))
		if d := cmp.Diff(string(saveBytes(t, left)), string(saveBytes(t, right))); d != "" {
			t.Fatalf("(a+b)+c is not a+(b+c): %s", d)
		}
		whole := summaryOf(all, top)
		if left.level != top || len(left.classes) != len(whole.classes) {
			t.Fatalf("level %d of %d, %d classes of %d", left.level, top, len(left.classes), len(whole.classes))
		}
		for hash, c := range whole.classes {
			_, ids := left.saved()
			_, wids := whole.saved()
			got, want := slices.Collect(left.classes[hash].starts.renumbered(ids)), slices.Collect(c.starts.renumbered(wids))
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s: %s", c.shape, d)
			}
		}
	})
}

// summaryOf counts events and rounds their starts.
func summaryOf(events []Event, level int) *Summary {
	s := &Summary{fine: true}
	for _, e := range events {
		s.Add(&e)
	}
	s.level = level
	s.settle()
	return s
}

// TestManyClients merges parts with more clients than are told apart.
func TestManyClients(t *testing.T) {
	part := func(from, to int) *Summary {
		s := &Summary{}
		for i := from; i < to; i++ {
			for range 2 {
				s.Add(&Event{Time: logStart.Add(time.Duration(i) * time.Second), Has: HasTime, Query: []byte("select a from t"), Host: fmt.Sprint("h", i)})
			}
		}
		return s
	}
	const clients = maxHosts + 1000
	whole, merged := part(0, clients), part(0, clients/2)
	merged.Merge(part(clients/2, clients))
	merged.Merge(part(clients/2, clients/2+1)) // a client that is known
	for name, s := range map[string]*Summary{"whole": whole, "merged": merged} {
		var n uint64
		for _, l := range s.load {
			n += l.n
		}
		want := uint64(2 * clients)
		if name == "merged" {
			want += 2
		}
		if n != want || s.other.Hosts != 2000 {
			t.Errorf("%s: %d statements of clients, want %d; %d of those without a number, want 2000", name, n, want, s.other.Hosts)
		}
	}
}
