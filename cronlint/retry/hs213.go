package retry

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// leastBase is Envoy's own default base interval; below it a jittered wait is
// hardly a wait.
const leastBase = 25 * time.Millisecond

func hs213() lint.Check {
	r := &rule.Rule{
		ID: "HS213", Name: "tiny-base-interval", Severity: rule.Warning,
		Title: "The first wait is so short that retries come at once",
		Why: "Jitter spreads the retries over the wait. Over a few milliseconds there is nothing to spread: " +
			"the service gets the repeated load while it is still failing.",
		Decided: "The wait has jitter and its base is below 25 ms, the default of Envoy.",
		Before: "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  http:\n" +
			"  - retries: {attempts: 3, backoff: 2ms}\n",
		After: "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  http:\n" +
			"  - retries: {attempts: 3, backoff: 50ms}\n",
		See: []string{"HS201"},
	}
	return lint.Check{Rule: r, ExampleFile: "vs.yaml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if x.Jitter == Jittered && x.Delay > 0 && x.Delay < leastBase {
				report(p, r, s, x.DelayAt, "retries spread over "+short(x.Delay)+" only: next to no wait", x.Advice)
			}
		})
	}}
}
