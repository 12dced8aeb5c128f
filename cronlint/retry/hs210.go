package retry

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs210() lint.Check {
	r := &rule.Rule{
		ID: "HS210", Name: "jitter-not-possible", Severity: rule.Note,
		Title: "This system has no jitter for its retries",
		Why: "Jobs that failed together are tried again together. The system has no setting against it, so " +
			"the spreading has to come from elsewhere.",
		Decided: "The waits are fixed or grow, and the system's format has no jitter.",
		Before: "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  entrypoint: a\n  templates:\n  - name: a\n" +
			"    retryStrategy:\n      limit: 5\n      backoff:\n        duration: 10s\n        factor: 2\n    container: {image: busybox}\n",
		After: "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  entrypoint: a\n  templates:\n  - name: a\n" +
			"    synchronization: {semaphores: [{configMapKeyRef: {name: limits, key: a}}]}\n    retryStrategy:\n      limit: 5\n" +
			"      backoff:\n        duration: 10s # herdscan: ignore[HS210] the semaphore bounds it\n        factor: 2\n" +
			"    container: {image: busybox}\n",
		See: []string{"HS203"},
	}
	return lint.Check{Rule: r, ExampleFile: "workflow.yaml", Run: func(p *lint.Pass) {
		each(p, func(s *lint.Setting, x *Policy) {
			if (x.Shape == Fixed || grows(x.Shape)) && x.Jitter != Jittered && !x.CanJitter {
				report(p, r, s, x.DelayAt, "retries wait "+x.waits()+", the same for all: "+x.System+" can't add jitter", x.Advice)
			}
		})
	}}
}
