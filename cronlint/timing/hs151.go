package timing

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS151 = rule.Rule{
	ID: "HS151", Name: "accuracy-as-jitter", Severity: rule.Warning,
	Title: "AccuracySec= is not jitter",
	Why: "AccuracySec= lets systemd delay a timer so that it wakes up together with others: it lines timers up on one " +
		"machine. Between machines the offset is at most a minute, whatever the value.",
	Decided: "AccuracySec= of more than the default minute is in force and there is no RandomizedDelaySec=.",
	Before:  "[Timer]\nOnCalendar=daily\nAccuracySec=1h\n",
	After:   "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\n",
	See:     []string{"HS150"},
}

func checkHS151(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS151, CrossFile: true, ExampleFile: "backup.timer", Run: func(p *lint.Pass) {
		for _, u := range a.of(p).timers() {
			k, file := u.unit.key("AccuracySec")
			if k == nil || u.unit.window() > 0 || u.unit.span("AccuracySec") <= time.Minute {
				continue
			}
			problem := keyProblem(&ruleHS151, u, file, k, "AccuracySec="+k.Value+" lines this timer up with others; it spreads nothing")
			problem.Advice = "RandomizedDelaySec=" + k.Value
			p.Report(problem)
		}
	}}
}

// timers are the subjects that stand for a timer unit, each unit once.
func (a *analysis) timers() (list []*subject) {
	seen := map[*unit]bool{}
	for _, s := range a.all {
		if s.unit != nil && !seen[s.unit] {
			seen[s.unit] = true
			list = append(list, s)
		}
	}
	return list
}

// keyProblem makes a problem at an assignment of a unit.
func keyProblem(r *ruleDoc, s *subject, file *lint.File, k *job.UnitKey, message string) lint.Problem {
	problem := lint.NewProblem(r, file, k.Span, s.unit.name, message)
	problem.Identity, problem.Key = s.Identity, k.Name+"="+k.Value
	return problem
}
