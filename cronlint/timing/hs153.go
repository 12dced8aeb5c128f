package timing

import (
	"cmp"
	"fmt"
	"math"
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
				"%d machines start within %s: about %.0f of them run at once (budget %g)", hosts, lasts(window), math.Ceil(atOnce), budget(p)))
			problem.Count = hosts
			if s.local() {
				problem.Severity = rule.Note
				problem.Message += localText
			}
			if wide <= window {
				p.Report(problem) // the day or the period has no more room
				continue
			}
			problem.Advice = k.Name + "=" + spanText(wide)
			problem.Effect = runningEffect(atOnce, float64(hosts)*runs.Minutes()/wide.Minutes())
			p.Report(problem)
		}
	}}
}

// runningEffect is the effect on how many machines run at once, in whole
// machines.
func runningEffect(before, after float64) lint.Effect {
	before, after = math.Ceil(before), math.Ceil(after)
	return lint.Effect{
		Text: fmt.Sprintf("running at once %g → %g", before, after), Unit: "machines at once", Before: before, After: after,
	}
}

// delayKey is the assignment that makes the timer's window.
func (s *subject) delayKey() (*job.UnitKey, *lint.File) {
	if k, file := s.unit.key("RandomizedDelaySec"); k != nil {
		return k, file
	}
	return s.unit.key("RandomizedOffsetSec")
}
