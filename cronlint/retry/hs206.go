package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs206() lint.Check {
	r := &rule.Rule{
		ID: "HS206", Name: "unbounded-retries", Severity: rule.Warning,
		Title: "Nothing ends the retries",
		Why: "What can't succeed is tried for ever. Each failure adds to the load until the retries alone " +
			"keep the service down after its cause is gone.",
		Decided: "Neither a number of attempts nor a total time is set, and the system's default is no end. " +
			"Workflow engines that are made to retry for ever under their own timeouts are not reported.",
		Before: "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  entrypoint: a\n  templates:\n  - name: a\n" +
			"    retryStrategy:\n      backoff:\n        duration: 10s\n        factor: 2\n    container: {image: busybox}\n",
		After: "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  entrypoint: a\n  templates:\n  - name: a\n" +
			"    retryStrategy:\n      limit: 5\n      backoff:\n        duration: 10s\n        factor: 2\n    container: {image: busybox}\n",
	}
	return lint.Check{Rule: r, ExampleFile: "workflow.yaml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if x.Unlimited {
				report(p, r, s, x.AttemptsAt, "retries never end: no number of attempts and no total time is set", x.Advice)
			}
		})
	}}
}
