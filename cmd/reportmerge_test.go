package cmd

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/fixtures"
	"github.com/herdscan/herdscan/report"
)

const (
	mergeShards = 20
	mergeDays   = 10
)

// Summaries of 20 shards and 10 days tell what the whole tells.
func TestReportMergesSummaries(t *testing.T) {
	dir := t.TempDir()
	incident := fixtures.DefaultIncident()
	incident.Length, incident.Keys, incident.Hot, incident.Other = mergeDays*24*time.Hour, 60, 30, 0.02
	var log bytes.Buffer
	if err := incident.WriteLog(&log); err != nil {
		t.Fatal(err)
	}
	head, records := slowRecords(t, log.String())
	parts := map[string]*strings.Builder{}
	for _, r := range records {
		day := r[len("# Time: "):len("# Time: 2006-01-02")]
		_, text, _ := strings.Cut(r, "SET timestamp=")
		_, text, _ = strings.Cut(text, "\n")
		hash := fnv.New32a()
		hash.Write([]byte(text)) // one value is on one shard
		name := fmt.Sprintf("%s-shard-%02d", day, hash.Sum32()%mergeShards)
		if parts[name] == nil {
			parts[name] = &strings.Builder{}
			parts[name].WriteString(head)
		}
		parts[name].WriteString(r)
	}
	if len(parts) != mergeShards*mergeDays && len(parts) != mergeShards*(mergeDays+1) {
		t.Fatalf("%d parts", len(parts))
	}
	var summaries []string
	for name, text := range parts {
		path := filepath.Join(dir, name+".log")
		write(t, path, text.String())
		saved := filepath.Join(dir, name+".hs")
		runner{}.run("querylog", "--tz", "UTC", "--fail-on", "never", "--save", saved, path).want(t, 0)
		summaries = append(summaries, saved)
	}
	whole := filepath.Join(dir, "whole.log")
	write(t, whole, log.String())
	args := []string{"report", "--tz", "UTC", "--format", "json", "--fail-on", "never"}
	merged := runner{}.run(append(args, summaries...)...).document(t)
	at := runner{}.run(append(args, whole)...).document(t)
	if len(at.Findings) == 0 || at.Findings[0].Comb == nil {
		t.Fatal("the whole log shows no comb: nothing is compared")
	}
	if d := cmp.Diff(told(at), told(merged)); d != "" {
		t.Errorf("the whole (-) and its parts (+) differ:\n%s", d)
	}
	var read uint64
	for _, c := range merged.Coverage {
		read += c.Read
	}
	if read != uint64(len(records)) {
		t.Errorf("%d records covered, want %d", read, len(records))
	}
}

// told is what a report says, whatever files it came from.
func told(d report.Document) []string {
	var out []string
	for _, f := range d.Findings {
		out = append(out, fmt.Sprintln(f.Rule, f.Severity, f.Subject, f.Count, f.Message, f.Details, f.Causes))
	}
	return out
}

// slowRecords cuts a slow log into its head and its records.
func slowRecords(t *testing.T, log string) (head string, records []string) {
	t.Helper()
	i := strings.Index(log, "# Time:")
	if i < 0 {
		t.Fatal("no record")
	}
	head = log[:i]
	rest := log[i:]
	for len(rest) > 0 {
		next := strings.Index(rest[1:], "\n# Time:")
		if next < 0 {
			return head, append(records, rest)
		}
		records = append(records, rest[:next+2])
		rest = rest[next+2:]
	}
	return head, records
}
