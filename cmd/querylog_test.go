package cmd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/report"
)

// stampedeLog returns the records of half an hour of a slow log in which 80
// copies of one statement come each minute and a job runs on three hosts each
// five minutes, in ordinary traffic.
func stampedeLog() []string {
	type statement struct {
		at           float64
		host         int
		query        string
		milliseconds float64
	}
	r := rand.New(rand.NewPCG(51, 52))
	var all []statement
	for at := 0.0; at < 1800; at += r.ExpFloat64() / 4 {
		all = append(all, statement{at, r.IntN(3), fmt.Sprintf("SELECT a FROM users WHERE id = %d", r.IntN(9999)), r.ExpFloat64() * 3})
	}
	for at := 13.0; at < 1800; at += 61 {
		for range 80 {
			all = append(all, statement{at + r.Float64()*0.8, r.IntN(3), "SELECT * FROM rates WHERE base = 'EUR'", 900})
		}
	}
	for at := 300.0; at < 1800; at += 300 {
		for host := range 3 {
			for k := range 8 {
				all = append(all, statement{at + 0.1*float64(k), host, fmt.Sprintf("SELECT * FROM orders WHERE shard = %d", k), 4})
			}
		}
	}
	slices.SortFunc(all, func(a, b statement) int { return int(1e6 * (a.at + a.milliseconds/1e3 - b.at - b.milliseconds/1e3)) })
	start := time.Date(2026, 3, 24, 6, 0, 0, 0, time.UTC)
	var records []string
	for i, s := range all {
		end := start.Add(time.Duration((s.at + s.milliseconds/1e3) * 1e9))
		records = append(records, fmt.Sprintf("# Time: %s\n# User@Host: app[app] @ web-%d [10.0.0.%d]  Id: %5d\n# Query_time: %.6f  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 3\nSET timestamp=%d;\n%s;\n",
			end.Format("2006-01-02T15:04:05.000000Z"), s.host, s.host, i%97, s.milliseconds/1e3, end.Unix(), s.query))
	}
	return records
}

// found is what a report says, without where it was read from.
func found(t *testing.T, r result) string {
	t.Helper()
	d := r.document(t)
	d.Coverage = nil
	b, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestQueryLogParts cuts a log anywhere, and wants of the parts, read as
// rotated logs or as saved summaries in any order, exactly what the whole says.
func TestQueryLogParts(t *testing.T) {
	dir := t.TempDir()
	records := stampedeLog()
	write := func(name string, part []string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(part, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flags := []string{"querylog", "--tz", "UTC", "--format", "json", "--fail-on", "never"}
	whole := found(t, runner{}.run(append(flags, write("whole.log", records))...))
	for _, rule := range []string{"HS501", "HS502", "HS503"} {
		if !strings.Contains(whole, rule) {
			t.Errorf("no %s in the whole", rule)
		}
	}
	old := runtime.GOMAXPROCS(1)
	serial := found(t, runner{}.run(append(flags, filepath.Join(dir, "whole.log"))...))
	runtime.GOMAXPROCS(old)
	if d := cmp.Diff(whole, serial); d != "" {
		t.Error("parallel is not serial:", d)
	}
	r := rand.New(rand.NewPCG(61, 62))
	for n := range 6 {
		a, b := r.IntN(len(records)), r.IntN(len(records))
		a, b = min(a, b), max(a, b)
		var logs, sums []string
		for i, part := range [][]string{records[:a], records[a:b], records[b:]} {
			if len(part) == 0 {
				continue
			}
			log := write(fmt.Sprintf("part%d-%d.log", n, i), part)
			sum := filepath.Join(dir, fmt.Sprintf("part%d-%d.hs", n, i))
			if res := (runner{}).run("querylog", "--tz", "UTC", "--fail-on", "never", "--samples", "--save", sum, log); res.code != 0 {
				t.Fatalf("--save: exit %d: %s", res.code, res.stderr)
			}
			logs, sums = append(logs, log), append(sums, sum)
		}
		r.Shuffle(len(logs), func(i, j int) { logs[i], logs[j] = logs[j], logs[i] })
		r.Shuffle(len(sums), func(i, j int) { sums[i], sums[j] = sums[j], sums[i] })
		for what, paths := range map[string][]string{"logs": logs, "summaries": sums} {
			if d := cmp.Diff(whole, found(t, runner{}.run(append(slices.Clone(flags), paths...)...))); d != "" {
				t.Errorf("%s cut at %d and %d: %s", what, a, b, d)
			}
		}
	}
}

func TestQueryLogSampleRate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	if err := os.WriteFile(path, []byte(strings.Join(stampedeLog(), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	stampede := func(args ...string) report.Finding {
		t.Helper()
		d := runner{}.run(append([]string{"querylog", "--tz", "UTC", "--format", "json", path}, args...)...).document(t)
		for _, f := range d.Findings {
			if f.Rule == "HS502" {
				return f
			}
		}
		t.Fatal("no HS502")
		return report.Finding{}
	}
	all, part := stampede(), stampede("--sample-rate", "10")
	if part.Count != 10*all.Count || part.Teeth[0].Count != 10*all.Teeth[0].Count {
		t.Errorf("%d of %d", part.Count, all.Count)
	}
	if text := strings.Join(part.Details, "\n"); !strings.Contains(text, "±") {
		t.Errorf("no error is stated: %s", text)
	}
	for _, bad := range []string{"0.5", "-1", "NaN"} {
		if r := (runner{}).run("querylog", "--sample-rate", bad, path); r.code != 2 {
			t.Errorf("--sample-rate %s: exit %d", bad, r.code)
		}
	}
}

// TestQueryLogFilter wants no "no herd" where a filter hides what was found.
func TestQueryLogFilter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slow.log")
	if err := os.WriteFile(path, []byte(strings.Join(stampedeLog(), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		flag, value string
		want        []string // subjects
	}{
		{"--query", "from rates", []string{"rates"}},
		{"--query", "FROM rates WHERE base = 'EUR'", []string{"rates"}},
		{"--host", "web-1", []string{"rates", "orders"}},
		{"--query", "nothing", nil},
		{"--host", "nobody", nil},
	}
	for _, tt := range tests {
		d := runner{}.run("querylog", "--tz", "UTC", "--format", "json", "--fail-on", "never", tt.flag, tt.value, path).document(t)
		for _, f := range d.Findings {
			if !slices.ContainsFunc(tt.want, func(w string) bool { return strings.Contains(f.Subject, w) }) {
				t.Errorf("%s %s: %s", tt.flag, tt.value, f.Message)
			}
		}
		if len(tt.want) > 0 != (len(d.Findings) > 0) {
			t.Errorf("%s %s: %d findings", tt.flag, tt.value, len(d.Findings))
		}
		if len(tt.want) == 0 && !strings.Contains(d.Verdict, "not shown") {
			t.Errorf("%s %s: verdict %q", tt.flag, tt.value, d.Verdict)
		}
	}
}
