package report

import (
	"strings"
	"testing"
	"time"
)

// comparable is a report of a log with one comb of a height.
func comparable(subject string, period time.Duration, height float64, severity string, hours int) *Document {
	d := New("test", "report")
	from := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	to := from.Add(time.Duration(hours) * time.Hour)
	d.Coverage = []Coverage{{Source: "slow.log", Unit: "records", Read: 1000, Total: 1000, Complete: true, From: &from, To: &to, Errors: []string{}}}
	if subject != "" {
		d.Findings = []Finding{{
			Rule: "HS501", Severity: severity, Subject: subject, Message: subject + " comes as a herd",
			Comb: &Comb{PeriodNS: int64(period), Teeth: 20, Height: height},
		}}
		if subject != "select c" {
			d.Findings[0].Members = []string{"select b: 5 of 9 queries"}
		}
	}
	d.Finish()
	return d
}

// once makes the comb of a report a one-off tooth.
func once(d *Document) *Document {
	f := &d.Findings[0]
	f.Rule, f.Comb, f.Teeth = "HS504", nil, []Tooth{{Count: 400}}
	return d
}

func TestCompare(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name      string
		old, next *Document
		want      string // statuses
		verdict   string
		code      string // worst severity, "" for none
	}{
		{"gone", comparable("select a", hour, 400, "warning", 24), comparable("", 0, 0, "", 24), "gone", "1 herd: 1 gone", ""},
		{"smaller", comparable("select a", hour, 400, "warning", 24), comparable("select a", hour, 40, "warning", 24), "smaller", "1 smaller", ""},
		{"a note is what is left", comparable("select a", hour, 400, "warning", 24), comparable("select a", hour, 12, "note", 24), "smaller", "1 smaller", ""},
		{"unchanged", comparable("select a", hour, 400, "warning", 24), comparable("select a", hour, 402, "warning", 24), "unchanged", "1 unchanged", ""},
		{"chance", comparable("select a", hour, 10, "warning", 24), comparable("select a", hour, 13, "warning", 24), "unchanged", "1 unchanged", ""},
		{"worse", comparable("select a", hour, 400, "warning", 24), comparable("select a", hour, 900, "warning", 24), "worse", "1 worse", "warning"},
		{"new", comparable("", 0, 0, "", 24), comparable("select a", hour, 400, "error", 24), "new", "1 new", "error"},
		{"another period is another herd", comparable("select a", hour, 400, "warning", 240), comparable("select a", 24*hour, 400, "warning", 240), "new gone", "1 new, 1 gone", "warning"},
		{"led by a member", comparable("select a", hour, 400, "warning", 24), comparable("select b", hour, 400, "warning", 24), "unchanged", "1 unchanged", ""},
		{"a deploy's tooth is what is left", comparable("select a", hour, 400, "warning", 24), once(comparable("select a", hour, 0, "warning", 24)), "smaller", "1 smaller", ""},
		{"a tooth of others is new", comparable("select a", hour, 400, "warning", 24), once(comparable("select c", hour, 0, "warning", 24)), "new gone", "1 new, 1 gone", "warning"},
		{"too short to tell", comparable("select a", hour, 400, "warning", 24), comparable("", 0, 0, "", 2), "unknown", "can't be told", ""},
		{"none", comparable("", 0, 0, "", 24), comparable("", 0, 0, "", 24), "", "no herd before and none after", ""},
	} {
		d := Compare("test", c.old, c.next)
		var got []string
		for _, x := range d.Comparison {
			got = append(got, x.Status)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
		if !strings.Contains(d.Verdict, c.verdict) {
			t.Errorf("%s: verdict %q lacks %q", c.name, d.Verdict, c.verdict)
		}
		worst := ""
		if s, any := d.Worst(); any {
			worst = s.String()
		}
		if worst != c.code {
			t.Errorf("%s: worst finding %q, want %q", c.name, worst, c.code)
		}
	}
}

// What NEW does not cover can't be gone.
func TestCompareNeedsTheSource(t *testing.T) {
	keys := New("test", "ttl")
	keys.Coverage = []Coverage{{Source: "redis", Unit: "keys", Read: 10, Total: 10, Complete: true, Errors: []string{}}}
	keys.Finish()
	d := Compare("test", comparable("select a", time.Hour, 400, "warning", 24), keys)
	if len(d.Comparison) != 1 || d.Comparison[0].Status != "unknown" || !strings.Contains(d.Comparison[0].Why, "no query log") {
		t.Errorf("%+v", d.Comparison)
	}
	if len(d.Undecided) != 1 {
		t.Errorf("undecided: %q", d.Undecided)
	}
}
