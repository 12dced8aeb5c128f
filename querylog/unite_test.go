package querylog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// filled are keys of one statement that are written with one TTL, rebuilt in a
// time of their own and asked for again soon after they expire.
type filled struct {
	shape   string // with %d for the key
	keys    int
	ttl     time.Duration
	rebuild time.Duration
	first   time.Duration
}

func (f filled) plant(r *rand.Rand, span time.Duration) (out []planted) {
	for key := range f.keys {
		for at := f.first + ms(r, 900); at < span; at += f.ttl + f.rebuild + ms(r, 60) {
			out = append(out, planted{at: at, took: f.rebuild, query: fmt.Sprintf(f.shape, key), host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
		}
	}
	return out
}

// TestUnite wants keys that were filled together with one TTL to be one herd
// whatever time they take to rebuild, and what only looks alike to stay apart.
func TestUnite(t *testing.T) {
	const price, page = "SELECT * FROM price WHERE sku = %d", "SELECT html FROM page WHERE id = %d"
	sets := []struct {
		name string
		sets []filled
		want int
	}{
		{"one TTL, rebuilt in 0.1 s and in 1.2 s", []filled{{price, 40, 90 * time.Second, 100 * time.Millisecond, 20 * time.Second}, {page, 40, 90 * time.Second, 1200 * time.Millisecond, 20 * time.Second}}, 1},
		{"one TTL, filled 40 s apart", []filled{{price, 40, 90 * time.Second, 100 * time.Millisecond, 20 * time.Second}, {page, 40, 90 * time.Second, 1200 * time.Millisecond, 60 * time.Second}}, 2},
		{"two TTLs", []filled{{price, 40, 90 * time.Second, 100 * time.Millisecond, 20 * time.Second}, {page, 40, 60 * time.Second, 100 * time.Millisecond, 20 * time.Second}}, 2},
		{"many keys and a hot one", []filled{{price, 40, 90 * time.Second, 100 * time.Millisecond, 20 * time.Second}, {"SELECT * FROM rates WHERE base = 'EUR' -- %d", 60, 90 * time.Second, 1500 * time.Millisecond, 20 * time.Second}}, 2},
	}
	for _, tt := range sets {
		for name, log := range map[string]func([]planted) string{"slow": slowLog, "general": generalLog} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 8))
				const span = 13 * time.Minute
				events := background(r, 3, span)
				for _, f := range tt.sets {
					events = append(events, f.plant(r, span)...)
				}
				a := Analyse(summarise(t, Options{}, text(log(events))), AnalyseOptions{})
				n := 0
				for i := range a.Findings {
					f := &a.Findings[i]
					if f.Rule != "HS501" {
						continue
					}
					n++
					if f.Severity != rule.Warning {
						t.Errorf("a %v: %s", f.Severity, f.Reason)
					}
					if tt.want == 1 {
						checkUnited(t, f, span)
					}
				}
				if n != tt.want {
					t.Errorf("%d combs, want %d: %s", n, tt.want, rulesOf(a))
				}
			})
		}
	}
}

// checkUnited wants a herd of the two statements of 40 keys each, in each tooth
// all of them.
func checkUnited(t *testing.T, f *Finding, span time.Duration) {
	t.Helper()
	if p := f.Comb.Period.Seconds(); math.Abs(p/90.7-1) > 0.01 {
		t.Errorf("period of %.2f s, want that between 90.1 and 91.3", p)
	}
	if f.Causes[0].Kind != CauseTTL {
		t.Errorf("causes %+v", f.Causes)
	}
	shapes := ""
	for _, m := range f.Members {
		if !m.Follower {
			shapes += m.Shape + "; "
		}
	}
	if !strings.Contains(shapes, "from price") || !strings.Contains(shapes, "from page") {
		t.Errorf("members: %s", shapes)
	}
	if len(f.Teeth) != int((span-20*time.Second)/(90*time.Second))+1 || f.Comb.Missing != 0 {
		t.Errorf("%d teeth, %d missing", len(f.Teeth), f.Comb.Missing)
	}
	for _, tooth := range f.Teeth {
		if tooth.Count < 60 || tooth.Count > 84 { // the detector cuts the tails of teeth
			t.Errorf("%d statements in the tooth at %v, want 80", tooth.Count, tooth.At)
		}
	}
	if f.Count > f.Of || f.Comb.Share > 1 || f.Comb.Share < 0.9 {
		t.Errorf("%d of %d, share %.2f", f.Count, f.Of, f.Comb.Share)
	}
}
