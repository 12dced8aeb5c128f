package timing

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS152 = rule.Rule{
	ID: "HS152", Name: "catch-up-herd", Severity: rule.Warning,
	Title: "Persistent= makes a fleet catch up together",
	Why: "After an outage or a reboot of many machines every missed timer with Persistent=true starts at once, all " +
		"over the fleet, in the minute the machines come back.",
	Decided: "Persistent=true on an OnCalendar= timer without RandomizedDelaySec=, on a fleet (--hosts).",
	Before:  "# herdscan: file hosts=200\n[Timer]\nOnCalendar=*-*-* 03:17\nPersistent=true\n",
	After:   "# herdscan: file hosts=200\n[Timer]\nOnCalendar=*-*-* 03:17\nPersistent=true\nRandomizedDelaySec=1h\n",
	See:     []string{"HS150", "HS153"},
}

func checkHS152(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS152, CrossFile: true, ExampleFile: "backup.timer", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).timers() {
			hosts := s.hosts(p.Options)
			k, file := s.unit.key("Persistent")
			if hosts < 2 || k == nil || !s.unit.isTrue("Persistent") || s.unit.window() > 0 {
				continue
			}
			problem := keyProblem(&ruleHS152, s, file, k, "after an outage "+count(hosts, "machine")+" catch up in the same minute")
			problem.Count = hosts
			if s.local() {
				problem.Severity = rule.Note
				problem.Message += localText
			}
			problem.Advice = "RandomizedDelaySec=" + spanText(spreadWindow(s, hosts, p))
			p.Report(problem)
		}
	}}
}
