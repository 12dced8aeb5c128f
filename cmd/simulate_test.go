package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimulateFrom takes keys, TTL and the width of a fill from a saved
// summary, and lets flags win.
func TestSimulateFrom(t *testing.T) {
	dir := t.TempDir()
	keys, saved := filepath.Join(dir, "keys.tsv"), filepath.Join(dir, "ttl.hs")
	var b strings.Builder
	b.WriteString("key\tpttl_ms\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "page:%d\t%d\n", i, 1_200_000+i%2000)
	}
	if err := os.WriteFile(keys, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	runner{}.run("ttl", "--save", saved, keys)
	r := runner{}.run("simulate", "--from", saved, "--policy", "fixed,jitter", "--rebuild", "20ms", "--format", "json")
	r.want(t, 0, "taken from", "assumed: 2,000 reads/s (--reads)")
	s := r.document(t).Simulation
	if s == nil || s.Keys < 2900 || s.Keys > 3000 || len(s.Events) != 1 || s.Events[0].Kind != "fill" {
		t.Fatalf("taken: %+v", s)
	}
	if s.Policies[0].Event != nil || s.Policies[0].Later.Simulated < 2*s.Policies[1].Later.Simulated {
		t.Errorf("fixed %+v, jitter %+v", s.Policies[0].Later, s.Policies[1].Later)
	}
	own := runner{}.run("simulate", "--from", saved, "--keys", "40", "--ttl", "90s", "--event", "flush@1m", "--policy", "lock", "--format", "json")
	own.never(t, "40 keys (--keys)")
	if s := own.document(t).Simulation; s.Keys != 40 || s.TTLNS != 90e9 || s.Events[0].Kind != "flush" {
		t.Errorf("a flag did not win: %+v", s)
	}
}

// TestSimulateFromLog takes a hot key from the log of the incident lab.
func TestSimulateFromLog(t *testing.T) {
	lab := shared(t, "lab")
	saved := filepath.Join(t.TempDir(), "log.hs")
	runner{}.run("querylog", "--save", saved, lab+"/S2/slow.log.gz")
	r := runner{}.run("simulate", "--from", saved, "--policy", "fixed,lock", "--format", "json")
	r.want(t, 0, "1 hot key")
	s := r.document(t).Simulation
	if s.Keys != 1 || s.TTLNS != 30e9 || s.Processes != 8 || s.ReadsPerSecond < 130 || s.ReadsPerSecond > 390 {
		t.Errorf("taken: %+v", s)
	}
}

// TestSimulateIsRepeatable: the same flags give the same report, another seed
// another one.
func TestSimulateIsRepeatable(t *testing.T) {
	args := []string{"simulate", "--keys", "200", "--ttl", "2m", "--policy", "xfetch,coalesce+stale"}
	a, b := runner{}.run(args...), runner{}.run(args...)
	if a != b {
		t.Error("one seed gives two reports")
	}
	if c := (runner{}).run(append(args, "--seed", "2")...); c.stdout == a.stdout {
		t.Error("two seeds give one report")
	}
}
