package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var ruleHS120 = rule.Rule{
	ID: "HS120", Name: "fleet-in-step", Severity: rule.Warning,
	Title: "The same minute on every machine of a fleet",
	Why: "One file on many machines starts the job on all of them in the same second. What they share (a " +
		"database, a mirror, a hypervisor, a certificate authority) gets all of them at once.",
	Decided: "Needs the number of machines (--hosts, or # herdscan: hosts=200). Reported for each job of a crontab or " +
		"timer that has a fixed minute and no random wait, whatever the minute is.",
	Before: "# herdscan: hosts=200\n25 6 * * * root /usr/local/bin/report\n",
	After:  "# herdscan: hosts=200\n25 6 * * * root sleep $(shuf -i 0-1799 -n 1); /usr/local/bin/report\n",
	See:    []string{"HS121", "HS145", "HS150", "HS153"},
}

func checkHS120(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS120, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			hosts := s.hosts(p.Options)
			if hosts < 2 || s.spread() || s.pinned() || s.script.tick || spreadByDelay(s) {
				continue
			}
			problem := s.problem(&ruleHS120, "%q starts on %d machines in the same minute", s.Raw, hosts)
			problem.Advice = fleetAdvice(s, hosts, p)
			p.Report(problem)
		}
	}}
}

// spreadByDelay reports whether cronie's RANDOM_DELAY spreads the machines: it
// is drawn once for each start of the daemon.
func spreadByDelay(s *subject) bool {
	d, ok := s.Detail.(*job.CrontabJob)
	if !ok || d.Table.Dialect != schedule.Cronie {
		return false
	}
	v := d.Table.Var("RANDOM_DELAY", d.Line)
	return v != nil && v.Value != "0"
}

func fleetAdvice(s *subject, hosts int, p *lint.Pass) string {
	window := spreadWindow(s, hosts, p)
	if s.unit != nil {
		return fmt.Sprintf("RandomizedDelaySec=%s", spanText(window))
	}
	return fmt.Sprintf("sleep $(shuf -i 0-%d -n 1); %s", int(window.Seconds())-1, s.Command)
}
