package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs203() lint.Check {
	r := &rule.Rule{
		ID: "HS203", Name: "backoff-without-jitter", Severity: rule.Warning,
		Title: "Retries back off, but without jitter",
		Why: "Exponential waits make the waves rarer, not smaller: clients that failed in one second still " +
			"come back in one second. Randomness is what spreads them.",
		Decided: "The waits grow, nothing random is added, and the system offers jitter.",
		Before: "resilience4j.retry:\n  instances:\n    billing:\n      maxAttempts: 4\n      waitDuration: 1s\n" +
			"      enableExponentialBackoff: true\n",
		After: "resilience4j.retry:\n  instances:\n    billing:\n      maxAttempts: 4\n      waitDuration: 1s\n" +
			"      enableExponentialBackoff: true\n      enableRandomizedWait: true\n",
		See: []string{"HS202", "HS204", "HS208"},
	}
	return lint.Check{Rule: r, ExampleFile: "application.yml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if grows(x.Shape) && x.Jitter == NoJitter && x.CanJitter && !x.DeadJitter() {
				reportFix(p, r, s, x, "the waits ("+x.waits()+") are the same for every client: no jitter")
			}
		})
	}}
}

// grows says whether waits of a shape differ from attempt to attempt without
// being random.
func grows(s Shape) bool { return s == Linear || s == Exponential || s == Steps }
