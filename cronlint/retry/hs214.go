package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs214() lint.Check {
	r := &rule.Rule{
		ID: "HS214", Name: "no-retry-budget", Severity: rule.Note,
		Title: "No budget bounds the share of retries",
		Why: "Attempts are bounded for each call, not for all calls: when everything fails, traffic is " +
			"multiplied by the number of attempts. A budget stops retrying when too much of the traffic is retries.",
		Decided: "The system offers a budget and the file that holds the policy sets none. Asked for only " +
			"(pedantic): hardly anybody sets one.",
		Before: "{\"methodConfig\": [{\"name\": [{\"service\": \"a.B\"}], \"retryPolicy\": {\"maxAttempts\": 4,\n" +
			" \"initialBackoff\": \"0.1s\", \"maxBackoff\": \"1s\", \"backoffMultiplier\": 2, \"retryableStatusCodes\": [\"UNAVAILABLE\"]}}]}\n",
		After: "{\"retryThrottling\": {\"maxTokens\": 10, \"tokenRatio\": 0.1},\n" +
			" \"methodConfig\": [{\"name\": [{\"service\": \"a.B\"}], \"retryPolicy\": {\"maxAttempts\": 4,\n" +
			" \"initialBackoff\": \"0.1s\", \"maxBackoff\": \"1s\", \"backoffMultiplier\": 2, \"retryableStatusCodes\": [\"UNAVAILABLE\"]}}]}\n",
	}
	return lint.Check{Rule: r, OptIn: "pedantic", ExampleFile: "service_config.json", Run: func(p *lint.Pass) {
		seen := make(map[*lint.File]bool)
		each(p, func(s *lint.Setting, x *Policy) {
			if x.Budget == BudgetMissing && !seen[s.File] {
				seen[s.File] = true
				report(p, r, s, lint.Span{}, "retries are bounded for each call, but no budget bounds all of them together", "")
			}
		})
	}}
}
