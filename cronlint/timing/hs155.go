package timing

import (
	"maps"
	"slices"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS155 = rule.Rule{
	ID: "HS155", Name: "fixed-delay-alone", Severity: rule.Error,
	Title: "FixedRandomDelay= does nothing without RandomizedDelaySec=",
	Why: "FixedRandomDelay= only makes the random delay of a machine the same each time. Without " +
		"RandomizedDelaySec= the delay is zero, and the timer starts at the exact minute on every machine.",
	Decided: "FixedRandomDelay=true is in force and RandomizedDelaySec= is absent or zero, drop-ins included.",
	Before:  "[Timer]\nOnCalendar=daily\nFixedRandomDelay=true\n",
	After:   "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\nFixedRandomDelay=true\n",
	See:     []string{"HS150"},
}

func checkHS155() lint.Check {
	return lint.Check{Rule: &ruleHS155, CrossFile: true, ExampleFile: "backup.timer", Run: func(p *lint.Pass) {
		units := timerUnits(p)
		for _, name := range slices.Sorted(maps.Keys(units)) {
			u := units[name]
			if !u.isTrue("FixedRandomDelay") || u.span("RandomizedDelaySec") > 0 {
				continue
			}
			k, file := u.key("FixedRandomDelay")
			problem := lint.NewProblem(&ruleHS155, file, k.Span, u.name, "FixedRandomDelay= has no effect without RandomizedDelaySec=")
			problem.Identity, problem.Key = "systemd:"+u.name, k.Name
			problem.Advice = "RandomizedDelaySec=1h"
			p.Report(problem)
		}
	}}
}
