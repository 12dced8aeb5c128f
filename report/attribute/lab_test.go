package attribute

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// labDir holds recorded incidents with their truth, outside the project.
const labDir = "../../../shared/lab"

// A labTruth is the part of truth.json that attribution is held to.
type labTruth struct {
	Scenario string  `json:"scenario"`
	Healthy  bool    `json:"healthy"`
	Start    float64 `json:"start_epoch"`
	End      float64 `json:"end_epoch"`
	Combs    []struct {
		ID      string  `json:"id"`
		Harmful bool    `json:"harmful"`
		Period  float64 `json:"period_s"`
	} `json:"combs"`
	Snapshot struct {
		ServerTime float64 `json:"server_time"`
	} `json:"cache_snapshot"`
	Params struct {
		DeployAt float64 `json:"deploy_at_s"`
		FlushAt  float64 `json:"flush_at_s"`
		TTL      float64 `json:"ttl_s"`
	} `json:"params"`
}

func labScenarios(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(labDir, "S*", "truth.json"))
	if err != nil || len(found) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s has no records", labDir)
		}
		t.Skipf("%s has no records", labDir)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

func readTruth(t *testing.T, dir string) labTruth {
	t.Helper()
	var truth labTruth
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	return truth
}

// epoch turns Unix seconds into a time.
func epoch(s float64) time.Time { return time.UnixMicro(int64(s * 1e6)).UTC() }

func readLog(t *testing.T, path string) *querylog.Analysis {
	t.Helper()
	sources, err := querylog.Files(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := querylog.Summarise(context.Background(), sources, querylog.Options{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return querylog.Analyse(s, querylog.AnalyseOptions{Zone: time.UTC})
}

// readCache reads a dump, a metadump or a list of keys as they were at now.
func readCache(t *testing.T, path string, now time.Time) Cache {
	t.Helper()
	ctx := context.Background()
	src, err := scan.OpenFile(ctx, path, scan.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := src.Now(); !ok || src.Kind() == "memcached" { // the format has no clock of its own
		if src, err = scan.OpenFile(ctx, path, scan.FileOptions{Now: now}); err != nil {
			t.Fatal(err)
		}
	}
	info := src.Info()
	s := &ttlhist.Summary{}
	about := ttlhist.Source{Name: path, Kind: info.Kind, Now: info.Now, Resolution: src.Resolution()}
	s.Begin(about)
	if err := src.Keys(ctx, func(k *scan.Key) error { s.Add(k); return nil }); err != nil {
		t.Fatal(err)
	}
	return Cache{Name: filepath.Base(path), Analysis: ttlhist.Analyse(s, ttlhist.Options{})}
}

func readLint(t *testing.T, dir string) *cronlint.Result {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"crontab*", "*.yml", "*.yaml", "*.java", "*.properties", "*.timer"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil
	}
	res, err := cronlint.Lint(context.Background(), paths, cronlint.Options{OptIn: []string{"code"}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestLabShow prints every verdict of every record, for people: set LAB=all or
// LAB=S1.
func TestLabShow(t *testing.T) {
	only := os.Getenv("LAB")
	if only == "" {
		t.Skip("LAB is not set")
	}
	for _, dir := range labScenarios(t) {
		if only != "all" && filepath.Base(dir) != only {
			continue
		}
		truth := readTruth(t, dir)
		fmt.Printf("\n######## %s healthy=%v\n", truth.Scenario, truth.Healthy)
		for _, c := range truth.Combs {
			fmt.Println("  truth:", c.ID, c.Period, c.Harmful)
		}
		lint := readLint(t, dir)
		for _, log := range []string{"slow.log.gz", "general.log.gz"} {
			for _, name := range []string{"dump.rdb", "memcached_metadump.txt", ""} {
				e := Evidence{Log: readLog(t, filepath.Join(dir, log)), Lint: lint}
				if name != "" {
					path := filepath.Join(dir, name)
					if _, err := os.Stat(path); err != nil {
						continue
					}
					e.Caches = []Cache{readCache(t, path, epoch(truth.Snapshot.ServerTime))}
				}
				show(log+" "+name, e)
			}
		}
	}
}

func show(name string, e Evidence) {
	r := Attribute(e)
	fmt.Printf("  == %s: %v: %s\n", name, r.Outcome, r.Why)
	for _, v := range r.Verdicts {
		subject := "cache"
		if v.Cache < 0 {
			f := e.Log.Findings[v.Finding]
			subject = fmt.Sprint(f.Rule, " ", f.Severity, " ", f.Subject[:min(40, len(f.Subject))])
		}
		fmt.Printf("    %s same=%d tied=%v conf=%v doubts=%v\n", subject, v.Same, v.Tied, v.Confidence, v.Doubts)
		for _, c := range v.Suspects {
			fmt.Printf("       %-8s %5.1f %.2f %q\n            + %s\n            - %s\n", c.Kind, c.Nats, c.Score, c.Name, strings.Join(c.For, "; "), strings.Join(c.Against, "; "))
		}
		for _, c := range v.Cleared {
			fmt.Printf("       cleared %s %.1f %q: %s\n", c.Kind, c.Nats, c.Name, strings.Join(c.Against, "; "))
		}
		for _, m := range v.Missing {
			fmt.Printf("       missing %s\n", m.Text)
		}
		for _, l := range v.Layers {
			fmt.Printf("       layer %+v\n", l)
		}
	}
	for _, f := range r.Findings {
		fmt.Printf("    %s %s\n", f.Rule, f.Message)
	}
}
