package html

import (
	"math"
	"time"

	"github.com/herdscan/herdscan/report"
)

// sampleStart is when the two days of the sample begin.
var sampleStart = time.Date(2026, 11, 3, 8, 0, 0, 0, time.UTC)

// sample is a document as "herdscan report" makes it: a deploy gave every cache
// key one TTL of an hour, and a crontab that fires each full hour is innocent.
func sample() *report.Document {
	const hours = 36
	d := report.New("0.1.0", "report")
	from, to := sampleStart, sampleStart.Add(hours*time.Hour)
	d.Coverage = []report.Coverage{
		{Source: "slow.log", Kind: "mysql-slow", Unit: "queries", Read: 412883, Total: 412886, Skipped: 3, From: &from, To: &to, Complete: true, Errors: []string{}, Text: "slow log (MySQL 8.0), 412,883 queries", Notes: []string{"3 lines not understood (list them: --errors)"}},
		{Source: "redis://cache-1:6379/0", Kind: "redis", Unit: "keys", Read: 60318, Total: 60318, Complete: true, Errors: []string{}, Text: "60,318 of 60,318 keys read in 1.9 s, all with a TTL"},
		{Source: "deploy/crontab", Kind: "crontab", Unit: "entries", Read: 14, Total: 14, Complete: true, Errors: []string{}, Text: "14 schedules"},
	}
	d.Timeline = sampleTimeline(hours)
	d.Findings = []report.Finding{sampleHerd(), sampleHotKey(), sampleLint()}
	d.Tables = []report.Table{{
		Columns: []string{"query", "rule", "every", "teeth", "in teeth", "same second", "hosts"}, Left: []bool{true, true},
		Rows: [][]string{
			{"SELECT … FROM price WHERE sku = ?", "HS501", "60m 1.2s", "34", "92 %", "911", "14"},
			{"SELECT … FROM best_sellers WHERE region = ?", "HS502", "60m 1.2s", "34", "96 %", "402", "14"},
		},
		LeftOut: "and 41 queries without a comb",
	}}
	d.Undecided = []string{"UPDATE cart SET qty = ? WHERE id = ?: 12 queries: too few to judge (need 20)"}
	d.Notes = []string{"Redis was read at 2 % of its time; no command took longer than 4 ms"}
	d.Next = []string{"herdscan explain HS501", "herdscan simulate --from ttl.hs"}
	d.Finish()
	d.Verdict = "a deploy at 2026-11-03T10:00:04Z gave page:* one TTL of 3600 s: 2 herds reach the database every 60m 1.2s"
	return d
}

// toothAt is the onset of tooth i, in seconds from the start.
func toothAt(i int) int64 { return 7204 + int64(math.Round(float64(i)*3601.2)) }

func sampleTimeline(hours int64) *report.Timeline {
	lane := func(name, kind, unit string) report.Lane {
		return report.Lane{Name: name, Kind: kind, Unit: unit, StepNS: int64(time.Second)}
	}
	price := lane("SELECT … FROM price WHERE sku = ?", "queries", "queries/s")
	hot := lane("SELECT … FROM best_sellers WHERE region = ?", "queries", "queries/s")
	page := lane("page:*", "expiries", "keys/s")
	cron := lane("deploy/crontab:7  0 * * * * /opt/rotate-logs", "fires", "starts")
	deploy := lane("events", "events", "events")
	add := func(l *report.Lane, at int64, n float64) { l.At, l.N = append(l.At, at), append(l.N, n) }
	next := 1
	for s := range hours * 3600 {
		if s%37 == 0 {
			add(&price, s, float64(1+s%5))
		}
		switch d := s - toothAt(next); {
		case d >= 0 && d < 4:
			add(&price, s, []float64{911, 420, 60, 9}[d])
			add(&hot, s, []float64{402, 35, 3, 1}[d])
			add(&page, s, []float64{3427, 12, 4, 2}[d])
		case d == 4:
			next++
		}
		if s%3600 == 0 {
			add(&cron, s, 1)
		}
	}
	deploy.At, deploy.N, deploy.Text = []int64{7204}, []float64{1}, []string{"deploy"}
	return &report.Timeline{
		From: sampleStart, To: sampleStart.Add(time.Duration(hours) * time.Hour),
		Lanes: []report.Lane{page, price, hot, cron, deploy},
	}
}

func sampleHerd() report.Finding {
	locked := false
	f := report.Finding{
		Rule: "HS501", Severity: "warning", Subject: "SELECT … FROM price WHERE sku = ?", Count: 201440, Also: []string{"HS401"},
		Message: "SELECT … FROM price WHERE sku = ?: about 1,400 queries come together every 60m 1.2s (drifting)",
		Details: []string{
			"34 teeth seen, 0 missed, 1.4 s wide; 92 % of 201,440 queries lie in them; busiest second 911 over 0.7 queries/s between the teeth (p ≤ 1e-31).",
			"First tooth 2026-11-03T11:00:05Z, last 2026-11-04T19:00:44Z; the next would fall at about 2026-11-04T20:00:45Z.",
		},
		Why: "Each tooth asks the database for thousands of rows in the same second.",
		Comb: &report.Comb{
			PeriodNS: int64(3601200 * time.Millisecond), Anchor: sampleStart.Add(3 * time.Hour), WidthNS: int64(1400 * time.Millisecond),
			DriftNS: int64(1200 * time.Millisecond), Lock: "drifting", Locked: &locked, Teeth: 34, Share: 0.92, Peak: 911, Baseline: 0.7, Log10P: -31.2,
		},
		Causes: []report.Cause{
			{
				Kind: "ttl", Score: 0.93, Suspect: "page:*", Why: "keys of page:* were written together at the deploy with one TTL of 3600 s and expire together",
				RefutedBy: "teeth that keep their period when the TTL of page:* is changed",
				For:       []string{"period 60m 1.2s = TTL 3600 s + rebuild 1.2 s", "3,427 keys expire 0.3 s before each tooth", "the first tooth comes one TTL after the deploy"},
			},
			{
				Kind: "warmup", Score: 0.31, Suspect: "deploy/crontab:9", Why: "a job that refills the cache each hour would make the same teeth",
				RefutedBy: "teeth that stay when the job is off", For: []string{"fires hourly"}, Against: []string{"the teeth drift 1.2 s an hour, the job does not"},
			},
		},
		Cleared: []report.Cause{
			{Kind: "cron", Score: 0.05, Suspect: "deploy/crontab:7", Why: "fires at :00 but the teeth drift 1.2 s an hour: not cron", Against: []string{"33 of 34 teeth have no fire within 1 s"}, Locations: []report.Location{{File: "deploy/crontab", Line: 7, Col: 1}}},
			{Kind: "retry", Score: 0.01, Why: "no client comes back within a tooth"},
		},
		Missing: []string{"whether the application locks its refills: the log of one client would tell"},
		Chain: []report.Link{
			{OffsetNS: -3601200e6, Name: "deploy", Text: "all keys are written"},
			{OffsetNS: -300e6, Name: "page:*", Text: "3,427 keys expire in 1 s (TTL 3600 s)"},
			{Name: "SELECT … FROM price WHERE sku = ?", Text: "1,400 runs in 1.4 s"},
		},
		Fold: sampleFold(),
		Fix: &report.Fix{
			Text: "write page:* with a random TTL of 3060–4140 s instead of 3600 s", Effects: []string{"busiest second 911 → 24 queries", "mean TTL unchanged"},
			Effect: &report.Effect{PeakBefore: 911, PeakAfter: 24, Unit: "queries/s"}, Lang: "go",
			Code: "ttl := time.Duration(3060+rand.IntN(1081)) * time.Second // math/rand/v2\nrdb.Set(ctx, key, value, ttl)",
		},
		Fingerprint: "a1",
	}
	for i := 1; i < 35; i++ {
		f.Teeth = append(f.Teeth, report.Tooth{At: sampleStart.Add(time.Duration(toothAt(i)) * time.Second), WidthNS: int64(time.Second), Count: uint64(1380 + i%7)})
	}
	f.Remedies = []report.Remedy{
		{
			Name: "ttl_jitter", Helps: "yes", Text: f.Fix.Text, Why: "Thousands of different keys: spreading their deaths spreads their refills.",
			Effect: f.Fix.Effect, Curve: sampleCurve(24), Caveats: []string{"jitter does not help the one hot key below"},
		},
		{Name: "coalesce", Helps: "partly", Text: "let one caller in each process refill a key", Effect: &report.Effect{PeakBefore: 911, PeakAfter: 640, Unit: "queries/s"}, Curve: sampleCurve(640)},
		{Name: "lock", Helps: "no", Text: "a lock across processes", Why: "The teeth are thousands of different keys: each would take its own lock."},
	}
	return f
}

func sampleCurve(after float64) *report.Curve {
	c := &report.Curve{StepNS: int64(time.Second), Unit: "queries/s"}
	for s := range 60 {
		c.Before = append(c.Before, 911*math.Exp(-float64(s)*1.1))
		c.After = append(c.After, after*math.Exp(-float64(s)*0.03))
	}
	return c
}

func sampleFold() *report.Fold {
	const steps = 720 // of 5 s
	f := &report.Fold{PeriodNS: int64(3601200 * time.Millisecond), StepNS: int64(5 * time.Second)}
	queries, keys := make([]float64, steps), make([]float64, steps)
	for i := range steps {
		queries[i] = 0.4 + 0.2*math.Sin(float64(i)/40)
	}
	queries[steps/2], queries[steps/2+1] = 274, 12
	keys[steps/2-1], keys[steps/2] = 41, 640
	f.Lanes = []report.FoldLane{
		{Name: "page:*", Kind: "expiries", Unit: "keys/s", N: keys},
		{Name: "SELECT … FROM price WHERE sku = ?", Kind: "queries", Unit: "queries/s", N: queries},
	}
	return f
}

func sampleHotKey() report.Finding {
	return report.Finding{
		Rule: "HS502", Severity: "warning", Subject: "SELECT … FROM best_sellers WHERE region = ?", Count: 9251,
		Message: "SELECT … FROM best_sellers WHERE region = ?: up to 402 copies of one statement at once",
		Details: []string{"Largest burst of one identical text: 402 copies within 1 s at 2026-11-03T14:00:09Z, up to 388 at once, from 14 clients."},
		Causes: []report.Cause{{
			Kind: "hot_key", Score: 0.88, Suspect: "page:best", Why: "one cached value that 14 processes refill at once",
			RefutedBy: "copies that stay when one caller alone may refill this value", For: []string{"402 copies of one text in a second", "400 reads/s of this key"},
		}},
		Fix: &report.Fix{
			Text: "let one caller refill (single-flight in each process, or a lock)", Effects: []string{"busiest second 402 → 14 queries"},
			Effect: &report.Effect{PeakBefore: 402, PeakAfter: 14, Unit: "queries/s"},
			Lang:   "go", Code: "v, err, _ := group.Do(key, func() (any, error) { return load(key) }) // golang.org/x/sync/singleflight",
			Caveats: []string{"jitter alone does not help one hot key"},
		},
		Fingerprint: "b2",
	}
}

func sampleLint() report.Finding {
	return report.Finding{
		Rule: "HS110", Severity: "warning", Subject: "0 * * * *", Count: 14, Message: "14 jobs start in the same minute, every hour",
		Why:       "Machines and databases see all of them at once.",
		Locations: []report.Location{{File: "deploy/crontab", Line: 7, Col: 1, EndCol: 10}},
		Related:   []report.Location{{File: "deploy/crontab", Line: 8, Col: 1}, {File: "deploy/crontab", Line: 11, Col: 1, Note: "the same minute"}},
		Excerpt:   &report.Excerpt{Line: 7, Text: "0 * * * * /opt/rotate-logs", From: 0, To: 9},
		Fix: &report.Fix{
			Text: "37 * * * * /opt/rotate-logs", Code: "37 * * * * /opt/rotate-logs", Effects: []string{"busiest minute 14 → 2 starts"},
			Effect: &report.Effect{PeakBefore: 14, PeakAfter: 2, Unit: "starts"},
		},
		Fingerprint: "c3",
	}
}
