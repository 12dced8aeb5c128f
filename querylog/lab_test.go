package querylog

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// truth is what really happened in a recorded incident.
type truth struct {
	Healthy bool    `json:"healthy"`
	Start   float64 `json:"start_epoch"`
	Combs   []struct {
		ID      string      `json:"id"`
		Harmful bool        `json:"harmful"`
		Locked  string      `json:"locked"`
		Fading  bool        `json:"fading"`
		Period  float64     `json:"period_s"`
		Median  float64     `json:"events_per_tooth_median"`
		Teeth   []truthSpan `json:"teeth_list"`
	} `json:"combs"`
	Spikes []struct {
		ID     string  `json:"id"`
		From   float64 `json:"from"`
		To     float64 `json:"to"`
		Events int     `json:"events"`
	} `json:"one_off_spikes"`
	Steady []struct {
		Rate float64 `json:"per_s"`
	} `json:"steady_repeats"`
}

type truthSpan struct {
	Start  float64 `json:"start"`
	End    float64 `json:"end"`
	Events float64 `json:"events"`
}

// firstCause is the cause of each kind of comb.
var firstCause = map[string]CauseKind{
	"ttl-herd": CauseTTL, "ttl-after-flush": CauseTTL, "hot-key": CauseHotKey, "cron-00": CauseCron, "recon": CauseReplicaJob, "retry-storm": CauseRetry,
}

func TestLab(t *testing.T) {
	root := sharedDir(t, "lab")
	dirs, err := filepath.Glob(filepath.Join(root, "S*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no records", err)
	}
	for _, dir := range dirs {
		raw, err := os.ReadFile(filepath.Join(dir, "truth.json"))
		if err != nil {
			t.Fatal(err)
		}
		var tr truth
		if err := json.Unmarshal(raw, &tr); err != nil {
			t.Fatal(err)
		}
		logs, err := filepath.Glob(filepath.Join(dir, "*log*.gz"))
		if err != nil || len(logs) < 2 {
			t.Fatal("no logs in", dir)
		}
		for _, path := range logs {
			t.Run(filepath.Base(dir)+"/"+filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				s := summarise(t, Options{}, FileSource(path))
				a := Analyse(s, AnalyseOptions{})
				if skipped := s.Coverage()[0].Skipped; skipped > 0 {
					t.Errorf("%d places not understood: %v", skipped, s.Coverage()[0].Errors)
				}
				labStatements(t, dir, s)
				labCombs(t, &tr, a)
				labSpikes(t, &tr, a)
				labSteady(t, &tr, a)
				if tr.Healthy {
					labHealthy(t, &tr, a)
				}
			})
		}
	}
}

// labStatements compares with what the simulator sent. Rollbacks are the driver's own.
func labStatements(t *testing.T, dir string, s *Summary) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "events.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var sent uint64
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if cols := strings.Split(lines.Text(), "\t"); len(cols) > 8 && cols[8] == "true" {
			sent++
		}
	}
	n := s.Statements()
	for _, c := range s.classes {
		if c.shape == "rollback" {
			n -= c.n
		}
	}
	if n < sent || n > sent+1 { // the end of a run may add one of its own
		t.Errorf("%d statements, %d were sent", n, sent)
	}
}

// labCombs wants every true comb that is large enough to be seen: its period, its teeth, its cause.
func labCombs(t *testing.T, tr *truth, a *Analysis) {
	t.Helper()
	for _, c := range tr.Combs {
		if !c.Harmful || c.Fading {
			continue
		}
		f := findComb(a, c.Period)
		if f == nil {
			t.Errorf("comb %s of %.2f s not found", c.ID, c.Period)
			continue
		}
		if f.Severity == rule.Note {
			t.Errorf("comb %s is a note: %s", c.ID, f.Reason)
		}
		same := 0
		for _, o := range a.Findings {
			if o.Rule == "HS501" && math.Abs(o.Comb.Period.Seconds()/c.Period-1) < 0.05 {
				same++
			}
		}
		if same > 1 {
			t.Errorf("comb %s is shown as %d", c.ID, same)
		}
		if want := firstCause[c.ID]; f.Causes[0].Kind != want {
			t.Errorf("comb %s: first cause %s, want %s", c.ID, f.Causes[0].Kind, want)
		}
		if c.Locked == "wall_clock" && (f.Comb.Lock == comb.Free || f.Comb.Lock == comb.Drifting) {
			t.Errorf("comb %s: lock %v, want %s", c.ID, f.Comb.Lock, c.Locked)
		}
		missed := 0
		for _, tooth := range c.Teeth {
			if tooth.Events >= c.Median/2 && !hasTooth(a, tooth) {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("comb %s: %d teeth missed", c.ID, missed)
		}
	}
}

// findComb returns the finding whose period is nearest, if it is within 1 %.
func findComb(a *Analysis, period float64) *Finding {
	var best *Finding
	off := 0.01
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Comb == nil || f.Rule == "HS503" {
			continue
		}
		if d := math.Abs(f.Comb.Period.Seconds()/period - 1); d <= off {
			best, off = f, d
		}
	}
	return best
}

// hasTooth says whether any finding has a tooth there, give or take the second that logs round to.
func hasTooth(a *Analysis, w truthSpan) bool {
	for i := range a.Findings {
		for _, t := range a.Findings[i].Teeth {
			at := float64(t.At.UnixNano()) / 1e9
			if at+t.Width.Seconds()+1 >= w.Start && at-1 <= w.End {
				return true
			}
		}
	}
	return false
}

// labSpikes wants every one-off in some finding: its own, or the first tooth of a comb or a storm.
func labSpikes(t *testing.T, tr *truth, a *Analysis) {
	t.Helper()
	for _, s := range tr.Spikes {
		if s.Events >= 50 && !hasTooth(a, truthSpan{s.From, s.To, float64(s.Events)}) {
			t.Errorf("one-off %s not found", s.ID)
		}
	}
}

func labSteady(t *testing.T, tr *truth, a *Analysis) {
	t.Helper()
	for _, s := range tr.Steady {
		i := slices.IndexFunc(a.Findings, func(f Finding) bool { return f.Rule == "HS506" })
		switch {
		case s.Rate < 1:
		case i < 0:
			t.Errorf("%.1f missing rows a second not found", s.Rate)
		case math.Abs(a.Findings[i].Rate/s.Rate-1) > 0.05:
			t.Errorf("%.2f missing rows a second, want %.2f", a.Findings[i].Rate, s.Rate)
		}
	}
}

// labHealthy wants no warning, but for stampedes and one-offs while a one-off really happened.
func labHealthy(t *testing.T, tr *truth, a *Analysis) {
	t.Helper()
	for _, f := range a.Findings {
		if f.Severity == rule.Note {
			continue
		}
		if (f.Rule == "HS502" || f.Rule == "HS504") && len(f.Teeth) > 0 && inSpikes(tr, f.Teeth) {
			continue
		}
		t.Errorf("healthy, but %v: %s %s", f.Severity, f.Rule, f.Subject)
	}
}

func inSpikes(tr *truth, teeth []comb.Tooth) bool {
	return !slices.ContainsFunc(teeth, func(t comb.Tooth) bool {
		return !slices.ContainsFunc(tr.Spikes, func(s struct {
			ID     string  `json:"id"`
			From   float64 `json:"from"`
			To     float64 `json:"to"`
			Events int     `json:"events"`
		},
		) bool {
			from, to := time.Unix(0, int64((s.From-1)*1e9)), time.Unix(0, int64((s.To+1)*1e9))
			return t.At.After(from) && t.At.Before(to)
		})
	})
}
