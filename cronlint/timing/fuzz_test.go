package timing

import (
	"testing"

	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// FuzzJudge runs every rule and the plan over whatever a file may hold.
func FuzzJudge(f *testing.F) {
	for _, text := range []string{
		"0 * * * * root /opt/a\n0 * * * * root /opt/b\n0 2 * * * root sleep $((RANDOM \\% 600)); /opt/c",
		"# herdscan: duration=20m window=01:00-05:00 after=b\n*/5 1-5 1 * 1 root a %\r\n@daily root b\r\n",
		"CRON_TZ=Australia/Lord_Howe\nRANDOM_DELAY=9\n0 2 * * * cmd `x $(( ( RANDOM % 9\n0~30 2 * * * cmd\n",
		"[Timer]\nOnCalendar=daily\nOnCalendar=*:0/7\nAccuracySec=1h\nPersistent=yes\nFixedRandomDelay=1\nOnBootSec=1\n",
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: CRON_TZ=Europe/Berlin 0 2 * * 1\n",
		"on:\n  schedule:\n    - cron: '*/90 2 31 2 *'\n      timezone: Europe/Berlin\njobs: {}\n",
		"0 0 29 2 * root a\n59-0 * * * * root b\n0 0 1-7 * 1 root c\n",
	} {
		for i := range fuzzPaths {
			f.Add(i, text, 0)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, text string, hosts int) {
		if len(text) > 4096 {
			return
		}
		path := fuzzPaths[(kind%len(fuzzPaths)+len(fuzzPaths))%len(fuzzPaths)]
		p := &lint.Pass{Options: &lint.Options{Now: testNow, Hosts: hosts, Dialect: "cronie"}}
		file := lint.NewFile(path, []byte(text))
		notes := lint.IndexDirectives(file)
		for _, format := range job.Formats() {
			if !format.Match(path, file.Data) {
				continue
			}
			parsed, err := format.Parse(file, p.Options)
			if err != nil {
				continue
			}
			for _, e := range parsed.Entries {
				notes.Annotate(e)
			}
			p.Entries = append(p.Entries, parsed.Entries...)
			p.Settings = append(p.Settings, parsed.Settings...)
		}
		check := func(e *lint.Edit) {
			if e.Span.Start < 0 || e.Span.End > len(text) || e.Span.Start > e.Span.End || e.File != path {
				t.Fatalf("edit %+v of %d bytes", e, len(text))
			}
		}
		p.Report = func(problem lint.Problem) {
			if problem.Message == "" || problem.Line < 1 {
				t.Fatalf("problem %+v", problem)
			}
			if problem.Fix != nil {
				check(problem.Fix)
				for i := range problem.Fix.With {
					check(&problem.Fix.With[i])
				}
			}
		}
		for _, c := range Checks() {
			c.Run(p)
		}
		NewPlan(p, true)
	})
}

var fuzzPaths = []string{"etc/crontab", "a.timer", "k8s/a.yaml", ".github/workflows/a.yml", "main.tf", "Jenkinsfile"}
