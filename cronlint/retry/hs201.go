package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs201() lint.Check {
	r := &rule.Rule{
		ID: "HS201", Name: "immediate-retries", Severity: rule.Warning,
		Title: "Failed calls are repeated at once",
		Why: "A service that fails because it is overloaded gets the same call again in the same " +
			"millisecond from everybody: n attempts multiply its load by n at the worst moment.",
		Decided: "The policy retries and its wait is zero, by its own words or by the system's default. " +
			"Where a retry takes seconds to start by itself (a pod), it is a note. Whether the calls are " +
			"many is not in the file.",
		Before: "resilience4j.retry:\n  instances:\n    billing:\n      maxAttempts: 5\n      waitDuration: 0\n",
		After: "resilience4j.retry:\n  instances:\n    billing:\n      maxAttempts: 5\n      waitDuration: 500ms\n" +
			"      enableExponentialBackoff: true\n      exponentialBackoffMultiplier: 2\n" +
			"      enableRandomizedWait: true\n      randomizedWaitFactor: 0.5\n",
		See: []string{"HS202", "HS213"},
	}
	return lint.Check{Rule: r, ExampleFile: "application.yml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if x.Shape != Immediate {
				return
			}
			sev := r.Severity
			if x.Slow {
				sev = rule.Note
			}
			reportAs(p, r, sev, s, x.DelayAt, "failed calls are repeated "+x.tries()+" without any wait", x.Advice)
		})
	}}
}
