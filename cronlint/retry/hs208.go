package retry

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs208() lint.Check {
	r := &rule.Rule{
		ID: "HS208", Name: "clipped-jitter", Severity: rule.Warning,
		Title: "The cap cuts the jitter off",
		Why: "Some libraries draw a random wait and then cut it at the maximum. Once even the smallest draw is " +
			"above the maximum, every client waits exactly the maximum: a herd with the cap as its spacing.",
		Decided: "Computed: the first retry for which wait × least jitter factor reaches the cap, if the policy " +
			"gets that far. Systems that put the jitter on after the cap are not concerned.",
		Before: "resilience4j.retry:\n  instances:\n    billing:\n      maxAttempts: 10\n      waitDuration: 1s\n" +
			"      enableExponentialBackoff: true\n      exponentialBackoffMultiplier: 2\n      exponentialMaxWaitDuration: 5s\n" +
			"      enableRandomizedWait: true\n      randomizedWaitFactor: 0.5\n",
		After: "resilience4j.retry:\n  instances:\n    billing:\n      maxAttempts: 5\n      waitDuration: 1s\n" +
			"      enableExponentialBackoff: true\n      exponentialBackoffMultiplier: 2\n      exponentialMaxWaitDuration: 20s\n" +
			"      enableRandomizedWait: true\n      randomizedWaitFactor: 0.5\n",
		See: []string{"HS203"},
	}
	return lint.Check{Rule: r, ExampleFile: "application.yml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if k, ok := x.ClippedFrom(); ok {
				report(p, r, s, x.JitterAt, fmt.Sprintf(
					"from retry %d on every client waits exactly %s: the jitter is cut off by the cap", k, short(x.Max)),
					"raise the cap, or make fewer attempts")
			}
		})
	}}
}
