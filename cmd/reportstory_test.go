package cmd

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/fixtures"
	"github.com/herdscan/herdscan/report"
)

// storyFiles writes the incident of the fixtures: the log of two days, the cache on
// the second, and the crontab that has nothing to do with it.
func storyFiles(t *testing.T) (log, keys, crontab string) {
	t.Helper()
	dir := t.TempDir()
	log, keys, crontab = filepath.Join(dir, "slow.log"), filepath.Join(dir, "keys.tsv"), filepath.Join(dir, "crontab")
	i := fixtures.DefaultIncident()
	var b bytes.Buffer
	if err := i.WriteLog(&b); err != nil {
		t.Fatal(err)
	}
	write(t, log, b.String())
	b.Reset()
	if err := i.WriteKeys(&b); err != nil {
		t.Fatal(err)
	}
	write(t, keys, b.String())
	write(t, crontab, fixtures.IncidentCrontab)
	return log, keys, crontab
}

// The comb on the hour: its cause is the deploy that gave every key one TTL,
// and not the job at :00.
func TestReportStory(t *testing.T) {
	log, keys, crontab := storyFiles(t)
	args := []string{"report", "--tz", "UTC", "--format", "json", "--event", "deploy@2026-11-03T10:00:04Z"}
	res := runner{}.run(append(args, log, keys, crontab)...)
	res.want(t, exitFindings)
	d := res.document(t)
	if l := d.Timeline.Lanes[len(d.Timeline.Lanes)-1]; l.Kind != "events" || !d.Timeline.From.Add(time.Duration(l.At[0]*l.StepNS)).Equal(time.Date(2026, 11, 3, 10, 0, 4, 0, time.UTC)) {
		t.Errorf("the deploy is drawn at step %d from %v", l.At[0], d.Timeline.From)
	}
	group, hot := combOf(t, d, "products"), combOf(t, d, "price_lists")
	for _, c := range []struct {
		f       *report.Finding
		kind    string
		suspect string
	}{{group, "ttl", "product:*"}, {hot, "hot_key", "pricelist:default"}} {
		first := c.f.Causes[0]
		if first.Kind != c.kind || !strings.Contains(first.Suspect, c.suspect) {
			t.Errorf("%s: the first cause is %s of %q, want %s of %q", c.f.Subject, first.Kind, first.Suspect, c.kind, c.suspect)
		}
		if slices.ContainsFunc(c.f.Causes, func(c report.Cause) bool { return c.Kind == "cron" }) {
			t.Errorf("%s: a schedule is among the causes", c.f.Subject)
		}
		if !slices.ContainsFunc(c.f.Cleared, func(c report.Cause) bool {
			return strings.Contains(c.Suspect, "crontab:2") && strings.Contains(strings.Join(c.Against, " "), "drift")
		}) {
			t.Errorf("%s: the decoy at :00 is not cleared by its drift: %+v", c.f.Subject, c.f.Cleared)
		}
		if p := c.f.Comb.PeriodNS; p < 3600e9 || p > 3603e9 {
			t.Errorf("%s: period %d ns", c.f.Subject, p)
		}
		if c.f.Timeline == nil || c.f.Fold == nil {
			t.Errorf("%s: no picture", c.f.Subject)
		}
	}
	for _, c := range []struct {
		f        *report.Finding
		first    string
		useless  string
		min, max float64 // of the busiest second with the first
	}{{group, "ttl_jitter", "coalesce", 3, 40}, {hot, "coalesce", "ttl_jitter", 10, 14}} {
		if len(c.f.Remedies) == 0 || c.f.Remedies[0].Name != c.first {
			t.Fatalf("%s: the first remedy is not %s: %+v", c.f.Subject, c.first, c.f.Remedies)
		}
		if e := c.f.Remedies[0].Effect; e == nil || e.PeakAfter < c.min || e.PeakAfter > c.max {
			t.Errorf("%s: predicted effect %+v, want %v to %v queries in the busiest second", c.f.Subject, e, c.min, c.max)
		}
		if !slices.ContainsFunc(c.f.Remedies, func(r report.Remedy) bool { return r.Name == c.useless && r.Helps == "no" }) {
			t.Errorf("%s: it is not said that %s does not help", c.f.Subject, c.useless)
		}
	}
	for i := range d.Findings {
		if h := d.Findings[i].Herd; h != nil && (h.TTLNS != int64(fixtures.IncidentTTL) || h.BornFrom == nil) {
			t.Errorf("%s: the log's TTL is not in the herd of the cache: %+v", d.Findings[i].Subject, h)
		}
	}
	if !slices.ContainsFunc(group.Causes[0].For, func(s string) bool { return strings.Contains(s, "deploy") }) {
		t.Errorf("the deploy is no reason for the group: %q", group.Causes[0].For)
	}
}

// With a source missing the verdict asks for it, and never turns to the decoy.
func TestReportStoryWithoutSources(t *testing.T) {
	log, keys, crontab := storyFiles(t)
	for _, c := range []struct {
		name, missing string
		files         []string
	}{
		{"no cache", "cache", []string{log, crontab}},
		{"no schedules", "schedule", []string{log, keys}},
		{"the log alone", "cache", []string{log}},
	} {
		d := runner{}.run(append([]string{"report", "--tz", "UTC", "--format", "json"}, c.files...)...).document(t)
		f := combOf(t, d, "products")
		if k := f.Causes[0].Kind; k != "ttl" {
			t.Errorf("%s: the first cause is %s", c.name, k)
		}
		if c.missing == "cache" && !strings.Contains(strings.ToLower(strings.Join(f.Missing, " ")), c.missing) {
			t.Errorf("%s: the report does not ask for it: %q", c.name, f.Missing)
		}
	}
}

// combOf is the comb whose subject names a table.
func combOf(t *testing.T, d report.Document, table string) *report.Finding {
	t.Helper()
	for i := range d.Findings {
		if f := &d.Findings[i]; f.Comb != nil && strings.Contains(f.Subject, table) {
			return f
		}
	}
	t.Fatalf("no comb of %s", table)
	return nil
}
