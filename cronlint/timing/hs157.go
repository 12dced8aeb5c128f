package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS157 = rule.Rule{
	ID: "HS157", Name: "delay-longer-than-period", Severity: rule.Warning,
	Title: "The random delay is longer than the time to the next start",
	Why:   "A start may be delayed beyond the next one, which is then skipped: the job runs less often than written.",
	Decided: "RandomizedDelaySec= is greater than the shortest time between two starts. Equal is allowed: Debian ships " +
		"such timers.",
	Before: "[Timer]\nOnCalendar=hourly\nRandomizedDelaySec=2h\n",
	After:  "[Timer]\nOnCalendar=hourly\nRandomizedDelaySec=20min\n",
	See:    []string{"HS147", "HS153"},
}

func checkHS157(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS157, CrossFile: true, ExampleFile: "poll.timer", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).timers() {
			period := s.period(p.Options.Time())
			k, file := s.unit.key("RandomizedDelaySec")
			if k == nil || period == 0 || s.unit.span("RandomizedDelaySec") <= period {
				continue
			}
			problem := keyProblem(&ruleHS157, s, file, k, fmt.Sprintf("the delay of up to %s is longer than the %s to the next start",
				lasts(s.unit.span("RandomizedDelaySec")), lasts(period)))
			problem.Advice = "RandomizedDelaySec=" + spanText(defaultWindow(period))
			p.Report(problem)
		}
	}}
}
