package attribute

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
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
	return readPart(t, path, querylog.Options{Zone: time.UTC})
}

func readPart(t *testing.T, path string, o querylog.Options) *querylog.Analysis {
	t.Helper()
	sources, err := querylog.Files(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := querylog.Summarise(context.Background(), sources, o)
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

// labKind is the cause of each kind of comb in the records.
var labKind = map[string]Kind{
	"ttl-herd": TTL, "ttl-after-flush": TTL, "hot-key": HotKey, "cron-00": Cron, "recon": ReplicaJob, "retry-storm": Retry,
}

// labAsks are the sources without which a kind can be asked about.
var labAsks = map[Kind]SourceKind{TTL: SourceCache, HotKey: SourceCache, Cron: SourceSchedule, ReplicaJob: SourceSchedule, Retry: SourceRetry}

// labEvidence is everything that a record holds, with one of its logs.
func labEvidence(t *testing.T, dir, log string, truth *labTruth) Evidence {
	t.Helper()
	e := Evidence{Log: readLog(t, filepath.Join(dir, log)), Lint: readLint(t, dir)}
	for _, name := range []string{"dump.rdb", "memcached_metadump.txt"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			e.Caches = append(e.Caches, readCache(t, path, epoch(truth.Snapshot.ServerTime)))
		}
	}
	return e
}

// keyList reads the list of keys that a record has beside its dump.
func keyList(t *testing.T, dir string, truth *labTruth) (Cache, bool) {
	t.Helper()
	path := filepath.Join(dir, "keys.tsv")
	if _, err := os.Stat(path); err != nil {
		return Cache{}, false
	}
	return readCache(t, path, epoch(truth.Snapshot.ServerTime)), true
}

// variants are the whole evidence, some of it in another form, and with one
// source at a time taken out.
func variants(t *testing.T, dir string, e Evidence, truth *labTruth) map[string]Evidence {
	t.Helper()
	all := map[string]Evidence{"all": e}
	if c, ok := keyList(t, dir, truth); ok {
		listed := e
		listed.Caches = []Cache{c}
		all["key list"] = listed
	}
	if at := max(truth.Params.DeployAt, truth.Params.FlushAt); !truth.Healthy {
		told := e
		told.Events = []Event{{Kind: Deploy, At: epoch(truth.Start + at)}} // of a flush somebody may say that it was a deploy
		all["an event"] = told
	}
	noCache, noLint, noLog := e, e, e
	noCache.Caches, noLint.Lint, noLog.Log = nil, nil, nil
	all["no cache"], all["no log"] = noCache, noLog
	if e.Lint != nil {
		all["no schedules"] = noLint
	}
	return all
}

// labLogs lists the logs of a record: text, and where it has them tables.
func labLogs(dir string) (names []string) {
	for _, name := range []string{"slow.log.gz", "general.log.gz", "slow_log.table.csv.gz", "general_log.engine.CSV.gz"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func TestLab(t *testing.T) {
	for _, dir := range labScenarios(t) {
		truth := readTruth(t, dir)
		for _, log := range labLogs(dir) {
			for given, e := range variants(t, dir, labEvidence(t, dir, log, &truth), &truth) {
				t.Run(truth.Scenario+"/"+log+"/"+given, func(t *testing.T) {
					r := Attribute(e)
					checkVerdicts(t, r)
					if e.Log == nil {
						checkKeys(t, r, truth.Scenario)
						return
					}
					if truth.Healthy {
						checkHealthy(t, e, r)
						return
					}
					for _, c := range truth.Combs {
						if c.Harmful {
							checkComb(t, e, r, c.ID, c.Period, given)
						}
					}
					checkBlame(t, e, r, &truth)
				})
			}
		}
	}
}

// checkVerdicts checks what must hold whatever the evidence.
func checkVerdicts(t *testing.T, r *Result) {
	t.Helper()
	for i, v := range r.Verdicts {
		if len(v.Suspects) == 0 {
			t.Fatalf("verdict %d has no suspect", i)
		}
		for j, c := range v.Suspects {
			if c.Why == "" || c.RefutedBy == "" || c.Score < 0 || c.Score > 0.99 {
				t.Errorf("verdict %d, suspect %d: %+v", i, j, c)
			}
		}
		for _, c := range v.Cleared {
			if len(c.Against) == 0 {
				t.Errorf("verdict %d clears %s %q without a reason", i, c.Kind, c.Name)
			}
		}
		if v.Same >= 0 && r.Verdicts[v.Same].Same >= 0 {
			t.Errorf("verdict %d is part of %d, which is itself a part", i, v.Same)
		}
	}
}

// checkKeys checks the verdicts where only the cache was given.
func checkKeys(t *testing.T, r *Result, scenario string) {
	t.Helper()
	herd := map[string]bool{"S1": true, "S3": true, "S7": true, "S8": true, "S10": true}[scenario]
	if (r.Outcome == Herd) != herd {
		t.Errorf("outcome %v: %s", r.Outcome, r.Why)
	}
	for _, v := range r.Verdicts {
		if v.Best().Kind != TTL {
			t.Errorf("first cause %s (%s)", v.Best().Kind, v.Best().Why)
		}
		if !asks(&v, SourceLog) {
			t.Errorf("does not ask for the log: %v", v.Missing)
		}
	}
}

func asks(v *Verdict, k SourceKind) bool {
	return slices.ContainsFunc(v.Missing, func(m Missing) bool { return m.Source == k })
}

// checkHealthy allows a burst that came once, and no herd that comes back.
func checkHealthy(t *testing.T, e Evidence, r *Result) {
	t.Helper()
	if r.Outcome != NoHerd && r.Outcome != Once && r.Outcome != TooShort {
		t.Errorf("outcome %v: %s", r.Outcome, r.Why)
	}
	for _, v := range r.Verdicts {
		if v.Cache < 0 && e.Log.Findings[v.Finding].Severity > rule.Note && e.Log.Findings[v.Finding].Comb != nil {
			t.Errorf("a comb that harms: %s", v.Best().Why)
		}
	}
}

// checkComb finds the verdicts about one comb and compares their first cause.
func checkComb(t *testing.T, e Evidence, r *Result, id string, period float64, given string) {
	t.Helper()
	found := false
	for _, v := range r.Verdicts {
		if v.Cache >= 0 {
			continue
		}
		f := &e.Log.Findings[v.Finding]
		if f.Comb == nil || math.Abs(f.Comb.Period.Seconds()/period-1) > 0.02 {
			continue
		}
		found = true
		best := v.Best()
		t.Logf("%s %s: %s %q %.1f nats, %v", f.Rule, id, best.Kind, best.Name, best.Nats, v.Confidence)
		if best.Kind != labKind[id] {
			t.Errorf("%s: first cause %s (%s), want %s", id, best.Kind, best.Why, labKind[id])
		}
		ask := labAsks[best.Kind]
		gone := given == "no cache" && ask == SourceCache || given == "no schedules" && (ask == SourceSchedule || ask == SourceRetry)
		if gone && v.Same < 0 && !asks(&v, ask) {
			t.Errorf("%s: does not ask for the %s: %v", id, ask, v.Missing)
		}
		if gone && v.Confidence == Strong {
			t.Errorf("%s: as sure as with the %s", id, ask)
		}
	}
	if !found {
		t.Errorf("%s: no herd of %.1f s in the log", id, period)
	}
}

// checkBlame checks that nobody is blamed for the other's teeth: a record
// without a harmful schedule blames none, one without expiring keys no TTL.
func checkBlame(t *testing.T, e Evidence, r *Result, truth *labTruth) {
	t.Helper()
	kinds := map[Kind]bool{}
	for _, c := range truth.Combs {
		kinds[labKind[c.ID]] = true
	}
	for _, v := range r.Verdicts {
		if v.Cache >= 0 || e.Log.Findings[v.Finding].Severity == rule.Note {
			continue
		}
		switch k := v.Best().Kind; {
		case k == Cron && !kinds[Cron], k == TTL && !kinds[TTL] && !kinds[HotKey]:
			t.Errorf("%s: blames %s", e.Log.Findings[v.Finding].Subject, v.Best().Why)
		}
	}
}

// TestLabHalf reads only a part of each log: the cause may become unknown or
// tied, never another one.
func TestLabHalf(t *testing.T) {
	for _, dir := range labScenarios(t) {
		truth := readTruth(t, dir)
		if truth.Healthy || len(truth.Combs) == 0 {
			continue
		}
		for part, share := range map[string][2]float64{"first half": {0, 0.5}, "second half": {0.5, 1}, "middle": {0.2, 0.75}} {
			t.Run(truth.Scenario+"/"+part, func(t *testing.T) {
				span := truth.End - truth.Start
				o := querylog.Options{Zone: time.UTC, From: epoch(truth.Start + share[0]*span), To: epoch(truth.Start + share[1]*span)}
				e := labEvidence(t, dir, "slow.log.gz", &truth)
				e.Log = readPart(t, filepath.Join(dir, "slow.log.gz"), o)
				for _, c := range truth.Combs {
					if c.Harmful {
						checkNotWrong(t, e, Attribute(e), c.ID, c.Period)
					}
				}
			})
		}
	}
}

// TestLabStrangers gives each log the cache and the files of every other
// record: they have nothing to do with it, and must not change the kind.
func TestLabStrangers(t *testing.T) {
	dirs := labScenarios(t)
	type sources struct {
		name string
		e    Evidence
	}
	var others []sources
	for _, dir := range dirs {
		truth := readTruth(t, dir)
		others = append(others, sources{truth.Scenario, labEvidence(t, dir, "general.log.gz", &truth)})
	}
	for _, dir := range dirs {
		truth := readTruth(t, dir)
		if truth.Healthy {
			continue
		}
		log := readLog(t, filepath.Join(dir, "slow.log.gz"))
		for _, o := range others {
			if o.name == truth.Scenario {
				continue
			}
			e := o.e
			e.Log = log
			r := Attribute(e)
			for _, c := range truth.Combs {
				if c.Harmful {
					checkNotWrong(t, e, r, c.ID, c.Period)
				}
			}
		}
	}
}

// checkNotWrong allows the true kind, a tie with it, and Unknown.
func checkNotWrong(t *testing.T, e Evidence, r *Result, id string, period float64) {
	t.Helper()
	for _, v := range r.Verdicts {
		if v.Cache >= 0 {
			continue
		}
		f := &e.Log.Findings[v.Finding]
		if f.Comb == nil || math.Abs(f.Comb.Period.Seconds()/period-1) > 0.02 {
			continue
		}
		best := v.Best()
		tied := v.Tied && v.Suspects[1].Kind == labKind[id]
		if best.Kind != labKind[id] && best.Kind != Unknown && !tied {
			t.Errorf("%s: %s %q (%.1f; for %v, against %v), want %s", id, best.Kind, best.Name, best.Nats, best.For, best.Against, labKind[id])
		}
	}
}
