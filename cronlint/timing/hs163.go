package timing

import (
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS163 = rule.Rule{
	ID: "HS163", Name: "all-replicas-at-once", Severity: rule.Note,
	Title: "A rollout replaces all replicas at once",
	Why: "All pods start together with empty in-process caches, fill them from the database at once, and their " +
		"timers go on in step: each TTL later the herd comes again.",
	Decided: "A Deployment of more than one replica has strategy Recreate, or RollingUpdate with maxUnavailable 100%, " +
		"and no minReadySeconds.",
	Before: "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 4\n  strategy:\n    type: Recreate\n",
	After: "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 4\n  minReadySeconds: 20\n" +
		"  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxUnavailable: 1\n",
}

func checkHS163() lint.Check {
	return lint.Check{Rule: &ruleHS163, ExampleFile: "deployment.yaml", Run: func(p *lint.Pass) {
		for _, s := range p.Settings {
			d, ok := s.Value.(*job.Deployment)
			if !ok || d.Replicas < 2 || strings.TrimLeft(d.MinReadySeconds, "0") != "" {
				continue
			}
			switch {
			case d.Strategy == "Recreate":
				p.Report(allAtOnce(s, "strategy Recreate stops all pods and starts all anew at once"))
			case d.MaxUnavailable == "100%":
				p.Report(allAtOnce(s, "maxUnavailable 100% replaces all pods at once"))
			}
		}
	}}
}

func allAtOnce(s *lint.Setting, message string) lint.Problem {
	problem := s.Problem(&ruleHS163, lint.Span{}, message)
	problem.Advice = "minReadySeconds: 20 and maxUnavailable: 1"
	return problem
}
