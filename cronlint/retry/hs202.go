package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs202() lint.Check {
	r := &rule.Rule{
		ID: "HS202", Name: "fixed-retry-delay", Severity: rule.Warning,
		Title: "Retries wait a fixed time, the same for all",
		Why: "Clients that failed together try again together: the outage comes back as a comb with the " +
			"delay as its spacing, and the service falls again as it rises.",
		Decided: "The wait is constant and nothing random is added, while the system offers both growth and " +
			"jitter. A system whose jitter is built in is never reported for lack of it; if its growth is " +
			"switched off, that is a note. A policy that many others inherit is reported once, where it is written.",
		Before: "resilience4j.retry:\n  configs:\n    default:\n      maxAttempts: 3\n      waitDuration: 1s\n",
		After: "resilience4j.retry:\n  configs:\n    default:\n      maxAttempts: 3\n      waitDuration: 1s\n" +
			"      enableExponentialBackoff: true\n      exponentialBackoffMultiplier: 2\n" +
			"      enableRandomizedWait: true\n      randomizedWaitFactor: 0.5\n",
		See: []string{"HS203", "HS205", "HS210"},
	}
	return lint.Check{Rule: r, ExampleFile: "application.yml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			switch {
			case x.Constant && x.Jitter == Jittered:
				reportAs(p, r, rule.Note, s, x.DelayAt, "the wait of "+x.waits()+" never grows: the load stays as high "+
					"as long as the failure lasts", x.Advice)
			case x.Shape == Fixed && x.Jitter != Jittered && x.CanJitter && !x.DeadJitter():
				reportFix(p, r, s, x, "every client waits exactly "+x.waits()+" and then tries again with all others")
			}
		})
	}}
}
