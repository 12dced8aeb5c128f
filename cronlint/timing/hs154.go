package timing

import (
	"maps"
	"slices"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS154 = rule.Rule{
	ID: "HS154", Name: "boot-herd", Severity: rule.Note,
	Title: "A timer counts from boot, so machines that boot together stay together",
	Why: "OnBootSec= and OnUnitActiveSec= follow no wall clock. But after a mass reboot (a kernel update, a power " +
		"failure) all machines count from the same moment, and go on in step for weeks.",
	Decided: "The timer has OnBootSec=, OnStartupSec= or OnActiveSec= and no RandomizedDelaySec=. Persistent= has no " +
		"effect on such timers.",
	Before: "[Timer]\nOnBootSec=30min\nOnUnitActiveSec=24h\n",
	After:  "[Timer]\nOnBootSec=30min\nOnUnitActiveSec=24h\nRandomizedDelaySec=1h\n",
	See:    []string{"HS152"},
}

func checkHS154() lint.Check {
	return lint.Check{Rule: &ruleHS154, CrossFile: true, ExampleFile: "check.timer", Run: func(p *lint.Pass) {
		units := timerUnits(p)
		for _, name := range slices.Sorted(maps.Keys(units)) {
			u := units[name]
			if u.window() > 0 {
				continue
			}
			for _, key := range []string{"OnBootSec", "OnStartupSec", "OnActiveSec"} {
				k, file := u.key(key)
				if k == nil {
					continue
				}
				problem := lint.NewProblem(&ruleHS154, file, k.Span, u.name,
					"machines that boot together run "+u.name+" together from then on")
				problem.Identity, problem.Key = "systemd:"+u.name, k.Name+"="+k.Value
				problem.Advice = "RandomizedDelaySec=1h"
				p.Report(problem)
				break
			}
		}
	}}
}
