package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs204() lint.Check {
	r := &rule.Rule{
		ID: "HS204", Name: "jitter-off", Severity: rule.Warning,
		Title: "Jitter is switched off",
		Why: "The system would spread the retries of many clients, and the setting forbids it: those that " +
			"failed together come back together.",
		Decided: "The setting says so in words (false, a factor of 0). A fixed wait without jitter is HS202.",
		Before: "{\"HttpRetry\": {\"MaxRetryAttempts\": 4, \"BackoffType\": \"Exponential\", \"Delay\": \"00:00:01\",\n" +
			"               \"UseJitter\": false}}\n",
		After: "{\"HttpRetry\": {\"MaxRetryAttempts\": 4, \"BackoffType\": \"Exponential\", \"Delay\": \"00:00:01\",\n" +
			"               \"UseJitter\": true}}\n",
		See: []string{"HS203"},
	}
	return lint.Check{Rule: r, ExampleFile: "appsettings.json", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if x.Jitter == JitterOff && x.Shape != Immediate && (x.Shape != Fixed || !x.CanJitter) {
				report(p, r, s, x.JitterAt, "jitter is switched off: clients that failed together try again together", x.Advice)
			}
		})
	}}
}
