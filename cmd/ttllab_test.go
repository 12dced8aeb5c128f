package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan/redistest"
)

// A labTruth is what the simulator of a recorded incident knows of its cache.
type labTruth struct {
	Snapshot struct {
		ServerTime float64 `json:"server_time"`
		Groups     []struct {
			Group     string
			Keys      int
			TTL       float64 `json:"ttl_s"`
			Min       float64 `json:"expire_min"`
			Max       float64 `json:"expire_max"`
			Clustered bool
			Harmful   bool
		} `json:"groups"`
		Locks []string `json:"lock_keys_without_ttl"`
	} `json:"cache_snapshot"`
}

// TestTTLLab fills a real Redis from the keys of each recorded incident, with
// their types, their expiries shifted to the present, and the policy of the
// recorded server, and compares the verdict with the truth.
func TestTTLLab(t *testing.T) {
	records, err := filepath.Glob(filepath.Join(shared(t, "lab"), "S*", "keys.tsv"))
	if err != nil || len(records) == 0 {
		t.Fatalf("no records: %v", err)
	}
	s := redistest.Start(t)
	for _, keys := range records {
		dir := filepath.Dir(keys)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			shift := fillLab(t, s, dir)
			d := runner{}.run("ttl", "redis://"+s.Addr, "--format", "json").document(t)
			checkLab(t, dir, d, shift)
		})
	}
}

// fillLab replaces what the server holds by the keys of a record. It returns
// how far the expiries were shifted.
func fillLab(t *testing.T, s *redistest.Server, dir string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "keys.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	s.Do(t, "FLUSHALL")
	s.Do(t, "CONFIG", "SET", "maxmemory-policy", labConfig(t, dir, "maxmemory-policy"))
	s.Do(t, "CONFIG", "SET", "maxmemory", labConfig(t, dir, "maxmemory"))
	create := map[string][]string{
		"string": {"SET", "", "x"}, "list": {"RPUSH", "", "x"}, "set": {"SADD", "", "x"},
		"hash": {"HSET", "", "f", "x"}, "zset": {"ZADD", "", "1", "x"}, "stream": {"XADD", "", "*", "f", "x"},
	}
	var taken time.Time
	var shift time.Duration
	s.Pipe(t, func(do func(args ...string)) {
		for line := range strings.SplitSeq(string(text), "\n") {
			f := strings.Split(line, "\t")
			if len(f) != 4 || f[0] == "key" {
				continue
			}
			if taken.IsZero() {
				us, _ := strconv.ParseInt(f[2], 10, 64)
				taken = time.UnixMicro(us)
				shift = time.Since(taken)
			}
			command := append([]string(nil), create[f[3]]...)
			command[1] = f[0]
			do(command...)
			if pttl, _ := strconv.ParseInt(f[1], 10, 64); pttl >= 0 {
				at := taken.Add(shift).UnixMilli() + pttl
				do("PEXPIREAT", f[0], strconv.FormatInt(at, 10))
			}
		}
	})
	return shift
}

// labConfig reads one setting of the recorded server.
func labConfig(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "redis_config.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("%s: no %s", dir, name)
	return ""
}

func checkLab(t *testing.T, dir string, d report.Document, shift time.Duration) {
	t.Helper()
	var truth labTruth
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	harmful := 0
	for _, g := range truth.Snapshot.Groups {
		if !g.Clustered || !g.Harmful {
			continue
		}
		harmful++
		if !hasHerd(d, g.Min+shift.Seconds(), g.Max+shift.Seconds(), g.Keys) {
			t.Errorf("no warning for %s: %d keys that die within %.1f s", g.Group, g.Keys, g.Max-g.Min)
		}
	}
	locks := uint64(0)
	for _, f := range d.Findings {
		switch {
		case f.Rule == "HS401" && f.Severity != "note" && harmful == 0:
			t.Errorf("a healthy cache is warned about: %s", f.Message)
		case f.Rule == "HS402":
			locks += f.Count
		case f.Rule == "HS403" && (f.Severity == "warning") != (len(truth.Snapshot.Locks) > 0):
			t.Errorf("HS403 is a %s", f.Severity)
		}
	}
	if locks != uint64(len(truth.Snapshot.Locks)) {
		t.Errorf("%d locks without TTL, want %d", locks, len(truth.Snapshot.Locks))
	}
}

// hasHerd looks for a warning whose next tooth overlaps from–to (Unix seconds)
// and holds most of the keys.
func hasHerd(d report.Document, from, to float64, keys int) bool {
	for _, f := range d.Findings {
		if f.Rule != "HS401" || f.Severity == "note" || f.Herd == nil {
			continue
		}
		a, b := float64(f.Herd.From.UnixMilli())/1000, float64(f.Herd.To.UnixMilli())/1000
		if a <= to && b >= from && int(f.Count) >= keys*8/10 {
			return true
		}
	}
	return false
}
