package querylog

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// copies plants n copies of one statement within a second.
func copies(r *rand.Rand, at time.Duration, n int, query string) (out []planted) {
	for range n {
		out = append(out, planted{at: at + ms(r, 1000), took: time.Second, query: query, host: r.IntN(4), thread: 100 + r.IntN(60), sent: 1})
	}
	return out
}

// TestPartOf wants a stampede to warn once: by itself, or in the herd whose
// teeth its copies are.
func TestPartOf(t *testing.T) {
	const span = 30 * time.Minute
	const hot = "SELECT * FROM rates WHERE base = 'EUR'"
	tests := []struct {
		name     string
		plant    func(r *rand.Rand) []planted
		head     string // rule of the finding it is a part of, "" for none
		severity rule.Severity
	}{
		{"the teeth of a comb", func(r *rand.Rand) (out []planted) {
			every(62*time.Second, 10*time.Second, span, func(k int, at time.Duration) {
				n := 120
				if k == 0 {
					n = 55 // the first fill
				}
				out = append(out, copies(r, at, n, hot)...)
			})
			return out
		}, "HS501", rule.Note},
		{"one beside the teeth of a comb", func(r *rand.Rand) (out []planted) {
			every(62*time.Second, 10*time.Second, span, func(_ int, at time.Duration) { out = append(out, copies(r, at, 120, hot)...) })
			return append(out, copies(r, 10*time.Minute+35*time.Second, 200, hot)...)
		}, "", rule.Warning},
		{"once", func(r *rand.Rand) []planted { return copies(r, 11*time.Minute, 300, hot) }, "HS504", rule.Note},
		{"the hot key among many keys", func(r *rand.Rand) (out []planted) {
			every(62*time.Second, 10*time.Second, span, func(_ int, at time.Duration) {
				out = append(out, copies(r, at, 60, hot)...)
				for i := range 120 {
					out = append(out, copies(r, at, 1, fmt.Sprintf("SELECT * FROM rates WHERE base = 'X%d'", i))...)
				}
			})
			return out
		}, "HS501", rule.Warning},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, 22))
			a := Analyse(summarise(t, Options{}, text(slowLog(append(background(r, 3, span), tt.plant(r)...)))), AnalyseOptions{})
			byRule := map[string]*Finding{}
			for i := range a.Findings {
				byRule[a.Findings[i].Rule] = &a.Findings[i]
			}
			f := byRule["HS502"]
			if f == nil {
				t.Fatalf("no stampede: %s", rulesOf(a))
			}
			if f.Severity != tt.severity || f.PartOfRule != tt.head || !f.Crowded() {
				t.Errorf("%v, part of %q: %s", f.Severity, f.PartOfRule, f.Reason)
			}
			if tt.head == "" {
				if f.PartOf != "" || len(f.Bursts) != 1 || f.Bursts[0].Count != 200 {
					t.Errorf("part of %q, bursts %+v", f.PartOf, f.Bursts)
				}
				return
			}
			head := byRule[tt.head]
			if head == nil || head.Severity != rule.Warning || head.Fingerprint != f.PartOf {
				t.Fatalf("part of %q, not of %+v", f.PartOf, head)
			}
			if also := len(head.Also) == 1 && head.Also[0] == "HS502"; also != (tt.severity == rule.Note) {
				t.Errorf("also %v", head.Also)
			}
		})
	}
}

// TestIsRead wants locking reads to be none that a cache answers.
func TestIsRead(t *testing.T) {
	for shape, want := range map[string]bool{
		"select * from t where id = ?": true, "with x as (select ?) select * from x": true, "(select ?) union (select ?)": true,
		"select * from t where id = ? for update": false, "select * from t for update skip locked": false,
		"select * from t lock in share mode": false, "update t set a = ?": false,
	} {
		if got := isRead(shape); got != want {
			t.Errorf("%s: %v", shape, got)
		}
	}
}
