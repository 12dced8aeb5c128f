package timing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS153 = rule.Rule{
	ID: "HS153", Name: "window-too-small", Severity: rule.Warning,
	Title: "The random delay is too short for the fleet",
	Why: "500 machines within ten minutes are 50 starts a minute. Whatever they share sees a herd all the same, only " +
		"a little wider.",
	Decided: "Needs the number of machines (--hosts). machines x duration / window is the number that run at once; it " +
		"must not exceed the budget (10 unless set; a run counts as a minute unless a comment tells its duration). The window " +
		"proposed is at most half the time between two starts.",
	Before: "# herdscan: file hosts=500\n[Timer]\nOnCalendar=daily\nRandomizedDelaySec=10m\n",
	After:  "# herdscan: file hosts=500\n[Timer]\nOnCalendar=daily\nRandomizedDelaySec=3h\n",
	See:    []string{"HS120", "HS150"},
}

func checkHS153(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS153, CrossFile: true, ExampleFile: "backup.timer", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).timers() {
			hosts, window := s.hosts(p.Options), s.unit.window()
			if hosts < 2 || window == 0 {
				continue
			}
			runs := cmp.Or(s.Notes.Duration, time.Minute)
			atOnce := float64(hosts) * runs.Minutes() / max(window.Minutes(), runs.Minutes())
			if atOnce <= budget(p) {
				continue
			}
			k, file := s.delayKey()
			if k == nil {
				continue
			}
			wide := spreadWindow(s, hosts, p)
			problem := keyProblem(&ruleHS153, s, file, k, fmt.Sprintf(
				"%d machines start within %v: %.3g of them run at once (budget %g)", hosts, window, atOnce, budget(p)))
			problem.Advice = k.Name + "=" + spanText(wide)
			problem.Effect = fmt.Sprintf("running at once %.3g → %.3g", atOnce, float64(hosts)*runs.Minutes()/wide.Minutes())
			p.Report(problem)
		}
	}}
}

// delayKey is the assignment that makes the timer's window.
func (s *subject) delayKey() (*job.UnitKey, *lint.File) {
	if k, file := s.unit.key("RandomizedDelaySec"); k != nil {
		return k, file
	}
	return s.unit.key("RandomizedOffsetSec")
}
