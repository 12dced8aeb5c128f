package comb

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// labTruth is what really happened in one recorded incident.
type labTruth struct {
	Healthy bool    `json:"healthy"`
	Start   float64 `json:"start_epoch"`
	End     float64 `json:"end_epoch"`
	Combs   []struct {
		ID           string     `json:"id"`
		Locked       string     `json:"locked"`
		Harmful      bool       `json:"harmful"`
		Period       float64    `json:"period_s"`
		Fingerprints []labShape `json:"fingerprints"`
		Teeth        []labTooth `json:"teeth_list"`
	} `json:"combs"`
	Spikes []struct {
		ID     string  `json:"id"`
		From   float64 `json:"from"`
		To     float64 `json:"to"`
		Events int     `json:"events"`
	} `json:"one_off_spikes"`
}

type labShape struct {
	Shape  string  `json:"shape"`
	Events float64 `json:"events_per_tooth_median"`
	Period float64 `json:"period_s"`
	Width  float64 `json:"width_p80_s"`
}

type labTooth struct {
	Start  float64 `json:"start"`
	End    float64 `json:"end"`
	Events int     `json:"events"`
}

// labRecord is one incident: its truth and its statements counted by shape.
type labRecord struct {
	id     string
	truth  labTruth
	shapes []Named
}

const labDir = "../../shared/lab"

func readLab(t *testing.T) []labRecord {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(labDir, "*", "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no incident records in %s", labDir)
		}
		t.Skipf("no incident records in %s", labDir)
	}
	var out []labRecord
	for _, f := range files {
		dir := filepath.Dir(f)
		r := labRecord{id: filepath.Base(dir)}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &r.truth); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		r.shapes = readLabEvents(t, filepath.Join(dir, "events.tsv.gz"))
		out = append(out, r)
	}
	return out
}

func readLabEvents(t *testing.T, path string) []Named {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]*Series{}
	sc := bufio.NewScanner(z)
	sc.Scan() // the header
	for sc.Scan() {
		col := strings.Split(sc.Text(), "\t")
		at, err := strconv.ParseFloat(col[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		if series[col[5]] == nil {
			series[col[5]] = NewSeries(FineBin)
		}
		series[col[5]].Add(int64(math.Round(at*1e3))*1e6, 1)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	var out []Named
	for _, name := range slices.Sorted(maps.Keys(series)) {
		follower := name == "tx_begin" || name == "tx_commit"
		out = append(out, Named{Name: name, Series: series[name], Follower: follower})
	}
	return out
}

func (r labRecord) options() Options {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	return Options{From: at(r.truth.Start), To: at(r.truth.End), Resolution: time.Millisecond}
}

// TestLabRecords compares the detector with the truth of incidents that were
// run on real servers: every comb of at least 20 statements with its period,
// lock and teeth, every one-off, and no comb or one-off that is not there.
func TestLabRecords(t *testing.T) {
	for _, r := range readLab(t) {
		t.Run(r.id, func(t *testing.T) {
			each, families := DetectFamilies(r.shapes, r.options())
			surges := Surges(r.shapes, each, r.options())
			for _, c := range r.truth.Combs {
				for _, f := range c.Fingerprints {
					r.checkComb(t, each, c.Locked, f, c.Teeth)
				}
			}
			r.checkOneOffs(t, each, surges)
			r.checkNothingElse(t, each, families)
		})
	}
}

// checkComb wants the comb of one shape, if the shape makes teeth that can be
// told from each other: narrower than a fifth of the period.
func (r labRecord) checkComb(t *testing.T, each []Result, locked string, f labShape, teeth []labTooth) {
	t.Helper()
	i := slices.IndexFunc(r.shapes, func(n Named) bool { return n.Name == f.Shape })
	herd := f.Events >= 6 && f.Width < 0.12*f.Period && float64(r.shapes[i].Series.Total()) < 2*f.Events*float64(len(teeth))
	if !herd || r.shapes[i].Series.Total() < needed || r.shapes[i].Follower {
		return
	}
	k := slices.IndexFunc(each[i].Combs, func(c Comb) bool {
		return math.Abs(c.Period.Seconds()-f.Period) < max(0.005*f.Period, 0.3*f.Width)
	})
	if k < 0 {
		t.Errorf("%s: no comb of %.3f s among %d", f.Shape, f.Period, len(each[i].Combs))
		return
	}
	c := each[i].Combs[k]
	if wrong := map[string]Lock{"wall_clock": Drifting, "timer": Drifting, "free": WallClock}[locked]; c.Lock == wrong {
		t.Errorf("%s: lock %v, truth %s", f.Shape, c.Lock, locked)
	}
	if f.Events >= 12 && !c.Harm && !r.truth.Healthy {
		t.Errorf("%s: a comb of %.0f events a tooth does no harm?", f.Shape, f.Events)
	}
	if n := countTeeth(c, teeth); n > 0 {
		t.Errorf("%s: %d of %d teeth not found", f.Shape, n, len(teeth))
	}
}

// countTeeth returns how many of the teeth with at least half the median number of events are not in the comb.
func countTeeth(c Comb, teeth []labTooth) int {
	var sizes []float64
	for _, x := range teeth {
		sizes = append(sizes, float64(x.Events))
	}
	lost := 0
	for _, x := range teeth {
		if float64(x.Events) < median(sizes)/2 || x.Events == 0 {
			continue
		}
		if !slices.ContainsFunc(c.Teeth, func(k Tooth) bool {
			at := float64(k.At.UnixMicro()) / 1e6
			return at > x.Start-2 && at < x.End+2
		}) {
			lost++
		}
	}
	return lost
}

// checkOneOffs wants each burst of 30 statements or more as a spike, a surge, or a tooth of a comb.
func (r labRecord) checkOneOffs(t *testing.T, each []Result, surges []Surge) {
	t.Helper()
	var at []float64
	note := func(x Tooth) { at = append(at, float64(x.At.UnixMicro())/1e6) }
	for _, s := range surges {
		note(s.Tooth)
	}
	for _, e := range each {
		for _, s := range e.Spikes {
			note(s.Tooth)
		}
		for _, c := range e.Combs {
			for _, x := range c.Teeth {
				note(x)
			}
		}
	}
	for _, s := range r.truth.Spikes {
		if s.Events >= spikeEvents && !slices.ContainsFunc(at, func(v float64) bool { return v > s.From-2 && v < s.To+2 }) {
			t.Errorf("one-off %s of %d statements not found", s.ID, s.Events)
		}
	}
}

// checkNothingElse refuses combs whose period is not in the truth.
func (r labRecord) checkNothingElse(t *testing.T, each []Result, families []Family) {
	t.Helper()
	known := func(c Comb) bool {
		for _, k := range r.truth.Combs {
			for _, f := range append(k.Fingerprints, labShape{Period: k.Period}) {
				if math.Abs(c.Period.Seconds()-f.Period) < 0.02*f.Period {
					return true
				}
			}
		}
		return !c.Harm
	}
	for i, e := range each {
		for _, c := range e.Combs {
			if !known(c) {
				t.Errorf("%s: comb of %v is not in the truth", r.shapes[i].Name, c.Period)
			}
		}
	}
	for _, f := range families {
		if !known(f.Comb) {
			t.Errorf("family of %v is not in the truth", f.Comb.Period)
		}
	}
}
