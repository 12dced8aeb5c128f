package ttlhist

import (
	"bufio"
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
)

// labDir holds recorded incidents with their truth, outside the project.
const labDir = "../../shared/lab"

// A labTruth is the part of truth.json about the cache.
type labTruth struct {
	Snapshot struct {
		ServerTime float64 `json:"server_time"`
		Groups     []struct {
			Group     string  `json:"group"`
			Keys      int     `json:"keys"`
			TTL       float64 `json:"ttl_s"`
			Min       float64 `json:"expire_min"`
			Max       float64 `json:"expire_max"`
			Clustered bool    `json:"clustered"`
			Harmful   bool    `json:"harmful"`
		} `json:"groups"`
		Locks []string `json:"lock_keys_without_ttl"`
	} `json:"cache_snapshot"`
}

func labScenarios(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(labDir, "S*", "truth.json"))
	if err != nil || len(dirs) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s has no records", labDir)
		}
		t.Skipf("%s has no records", labDir)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

func readLab(t *testing.T, dir string) (labTruth, []scan.Key, *Summary) {
	t.Helper()
	var truth labTruth
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	src := Source{Name: filepath.Base(dir), Kind: "redis", Policy: labConfig(dir, "maxmemory-policy")}
	src.MaxMemory, _ = strconv.ParseUint(labConfig(dir, "maxmemory"), 10, 64)
	keys, now := labKeys(t, dir)
	src.Now = time.UnixMilli(now)
	if strings.Contains(dir, "S10") {
		src.Kind, src.Resolution = "memcached", time.Second
		src.Now = time.UnixMilli(int64(truth.Snapshot.ServerTime * 1000))
	}
	s := &Summary{}
	s.Begin(src)
	for i := range keys {
		s.Add(&keys[i])
	}
	return truth, keys, s
}

func labConfig(dir, name string) string {
	data, _ := os.ReadFile(filepath.Join(dir, "redis_config.txt"))
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
		if line == name && i+1 < len(lines) {
			return strings.TrimSpace(lines[i+1])
		}
	}
	return ""
}

// labKeys reads the keys as the server told them.
func labKeys(t *testing.T, dir string) (keys []scan.Key, now int64) {
	t.Helper()
	name, parse := "keys.tsv", parseLabRedis
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		name, parse = "memcached_metadump.txt", parseLabMemcached
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if k, at, ok := parse(lines.Text()); ok {
			keys = append(keys, k)
			now = at
		}
	}
	if err := lines.Err(); err != nil || len(keys) == 0 {
		t.Fatalf("%d keys, error %v", len(keys), err)
	}
	return keys, now
}

func parseLabRedis(line string) (k scan.Key, now int64, ok bool) {
	f := strings.Split(line, "\t")
	if len(f) != 4 || f[0] == "key" {
		return k, 0, false
	}
	pttl, err := strconv.ParseInt(f[1], 10, 64)
	us, err2 := strconv.ParseInt(f[2], 10, 64)
	if err != nil || err2 != nil {
		return k, 0, false
	}
	now = us / 1000
	k = scan.Key{Name: []byte(f[0]), ExpireMS: scan.NoExpiry, Type: f[3]}
	if pttl >= 0 {
		k.ExpireMS = now + pttl
	}
	return k, now, true
}

func parseLabMemcached(line string) (k scan.Key, now int64, ok bool) {
	v := make(map[string]string)
	for _, f := range strings.Fields(line) {
		name, value, _ := strings.Cut(f, "=")
		v[name] = value
	}
	exp, err := strconv.ParseInt(v["exp"], 10, 64)
	la, err2 := strconv.ParseInt(v["la"], 10, 64)
	name, err3 := url.QueryUnescape(v["key"])
	if err != nil || err2 != nil || err3 != nil {
		return k, 0, false
	}
	k = scan.Key{Name: []byte(name), ExpireMS: exp * 1000}
	if v["fetch"] == "no" {
		k.TTL = time.Duration(exp-la) * time.Second
	}
	return k, 0, true
}

// TestLab judges the recorded caches and compares with the truth of the
// simulator that filled them.
func TestLab(t *testing.T) {
	for _, dir := range labScenarios(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			truth, keys, s := readLab(t, dir)
			a := Analyse(s, Options{})
			for _, f := range a.Findings {
				t.Logf("%s %s %q %d: %s", f.Rule, f.Severity, f.Subject, f.Count, f.Why)
				if f.Herd != nil {
					t.Logf("   next %s..%s busiest %d base %v/%v %v p %.1f members %v within %d jitter %+v", f.Herd.Next.From.UTC().Format("05.000"), f.Herd.Next.To.UTC().Format("05.000"), f.Herd.Busiest, f.Herd.Base.TTL, f.Herd.Base.AtLeast, f.Herd.Base.From, f.Herd.Log10P, f.Herd.Members, f.Herd.Within, f.Herd.Jitter.First)
				}
			}
			checkLabHerds(t, truth, keys, a)
			checkLabLocks(t, truth, a)
			checkLabPolicy(t, filepath.Base(dir), a)
		})
	}
}

// checkLabHerds wants a warning for each harmful cluster of the truth, with
// its tooth and its busiest second, and none without.
func checkLabHerds(t *testing.T, truth labTruth, keys []scan.Key, a *Analysis) {
	t.Helper()
	harmful := 0
	for _, g := range truth.Snapshot.Groups {
		if !g.Clustered || !g.Harmful {
			continue
		}
		harmful++
		hit := false
		for _, f := range a.Findings {
			if f.Rule != "HS401" || f.Severity != rule.Warning {
				continue
			}
			from, to := f.Herd.Next.From.UnixMilli(), f.Herd.Next.To.UnixMilli()
			if float64(from) > g.Max*1000+1000 || float64(to) < g.Min*1000-1000 {
				continue
			}
			if int(f.Count) < g.Keys*8/10 {
				continue
			}
			hit = true
			if f.Herd.Base.TTL != 0 && math.Abs(f.Herd.Base.TTL.Seconds()-g.TTL) > 0.01*g.TTL {
				t.Errorf("%s: TTL %v (%v), want %v s", f.Subject, f.Herd.Base.TTL, f.Herd.Base.From, g.TTL)
			}
			real := busiestReal(keys, f.Patterns, from, to)
			if math.Abs(float64(f.Herd.Next.Busiest)-real) > 0.1*real {
				t.Errorf("%s: busiest second %d, want %v", f.Subject, f.Herd.Next.Busiest, real)
			}
		}
		if !hit {
			t.Errorf("no herd for %q (%d keys, %.1f s wide)", g.Group, g.Keys, g.Max-g.Min)
		}
	}
	for _, f := range a.Findings {
		if harmful == 0 && f.Rule == "HS401" && f.Severity != rule.Note {
			t.Errorf("a herd where there is none: %s", f.Subject)
		}
	}
}

// busiestReal counts the keys of some patterns in the busiest second of a
// window, by brute force.
func busiestReal(keys []scan.Key, patterns []string, from, to int64) float64 {
	var times []int64
	for _, k := range keys {
		if k.ExpireMS >= from && k.ExpireMS <= to && slices.Contains(patterns, string(appendPattern(nil, k.Name))) {
			times = append(times, k.ExpireMS)
		}
	}
	most := 0
	for _, t := range times {
		n := 0
		for _, u := range times {
			if u >= t && u < t+1000 {
				n++
			}
		}
		most = max(most, n)
	}
	return float64(most)
}

func checkLabLocks(t *testing.T, truth labTruth, a *Analysis) {
	t.Helper()
	var locks uint64
	for _, f := range a.Findings {
		if f.Rule == "HS402" {
			locks += f.Count
		}
	}
	if want := uint64(len(truth.Snapshot.Locks)); locks != want {
		t.Errorf("%d locks without TTL, want %d", locks, want)
	}
}

func checkLabPolicy(t *testing.T, name string, a *Analysis) {
	t.Helper()
	worst := rule.Severity(-1)
	for _, f := range a.Findings {
		switch f.Rule {
		case "HS403":
			worst = max(worst, f.Severity)
		case "HS401", "HS402":
		default:
			if f.Severity > rule.Note {
				t.Errorf("%s %s: %s", f.Rule, f.Severity, f.Subject)
			}
		}
	}
	if (name == "S8") != (worst == rule.Warning) {
		t.Errorf("HS403 has severity %v", worst)
	}
}
