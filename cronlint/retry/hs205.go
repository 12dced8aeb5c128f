package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs205() lint.Check {
	r := &rule.Rule{
		ID: "HS205", Name: "dead-retry-setting", Severity: rule.Error,
		Title: "A retry setting is written down but has no effect",
		Why: "Whoever wrote the jitter believes that it is there. It is not, and nothing says so: no error " +
			"at the start, no line in the log.",
		Decided: "From the way each system reads its settings: a factor without its switch, a switch without " +
			"the wait that it needs, a cap that is never looked at. An error where jitter is lost, a warning for " +
			"other settings.",
		Before: "resilience4j.retry:\n  instances:\n    billing:\n      waitDuration: 1s\n      randomizedWaitFactor: 0.5\n",
		After: "resilience4j.retry:\n  instances:\n    billing:\n      waitDuration: 1s\n" +
			"      enableRandomizedWait: true\n      randomizedWaitFactor: 0.5\n",
		See: []string{"HS202", "HS203"},
	}
	return lint.Check{Rule: r, ExampleFile: "application.yml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			for _, d := range x.Dead {
				sev := r.Severity
				if !d.Jitter {
					sev = rule.Warning
				}
				reportAs(p, r, sev, s, d.At, d.Why, x.Advice)
			}
		})
	}}
}
