package timing

import (
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS104 = rule.Rule{
	ID: "HS104", Name: "dependabot-pinned-time", Severity: rule.Warning,
	Title: "Dependabot is pinned to a time that it would choose at random",
	Why: "An interval without a time gets a random time from GitHub, which spreads the load by itself. A cronjob " +
		"or a time takes that away, and all ecosystems of the file start in the same minute.",
	Decided: "The schedule has a cronjob or a time. It is not asked whether the time was chosen with care: " +
		"say so with a comment \"# herdscan: pin reason=...\".",
	Before: "version: 2\nupdates:\n  - package-ecosystem: gomod\n    directory: /\n    schedule:\n" +
		"      interval: cron\n      cronjob: \"0 9 15 * *\"\n",
	After: "version: 2\nupdates:\n  - package-ecosystem: gomod\n    directory: /\n    schedule:\n      interval: monthly\n",
	See:   []string{"HS103"},
}

func checkHS104() lint.Check {
	return lint.Check{Rule: &ruleHS104, ExampleFile: ".github/dependabot.yml", Run: func(p *lint.Pass) {
		for _, e := range p.Entries {
			d, ok := e.Detail.(*job.Dependabot)
			if !ok || e.Notes.Pin {
				continue
			}
			problem := entryProblem(&ruleHS104, e, e.Command, "%s is pinned to %q; an interval alone gets a random time from GitHub",
				e.Command, e.Raw)
			problem.Advice = "interval: " + looseInterval(e, d) + "   (and no cronjob, no time)"
			p.Report(problem)
		}
	}}
}

// looseInterval is the interval word that comes nearest to the schedule.
func looseInterval(e *lint.Entry, d *job.Dependabot) string {
	if d.Interval != "" && d.Interval != "cron" {
		return d.Interval
	}
	fields := strings.Fields(e.Raw)
	switch {
	case len(fields) < 5:
		return "weekly"
	case fields[3] != "*":
		return "quarterly"
	case fields[2] != "*":
		return "monthly"
	case fields[4] != "*" && fields[4] != "1-5":
		return "weekly"
	}
	return "daily"
}
