package timing

import (
	"fmt"
	"strings"

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
		"timer that has a fixed minute and no random wait, whatever the minute is. A note for housekeeping that asks nothing " +
		"of other machines (log rotation, man-db, a dump to the local disk). Of a timer at a round time HS150 says it. The wait proposed never crosses midnight.",
	Before: "# herdscan: hosts=200\n25 6 * * * root /usr/local/bin/report\n",
	After:  "# herdscan: hosts=200\n25 6 * * * root sleep $(shuf -i 0-1799 -n 1); /usr/local/bin/report\n",
	See:    []string{"HS121", "HS145", "HS150", "HS153"},
}

func checkHS120(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS120, ExampleFile: "etc/crontab", Run: func(p *lint.Pass) {
		for _, s := range a.of(p).all {
			hosts := s.hosts(p.Options)
			if !inStep(s, hosts) || roundTimer(s) && enabled(p, &ruleHS150) || sharedRole(s) && enabled(p, &ruleHS121) {
				continue // another rule says it
			}
			problem := s.problem(&ruleHS120, "%q starts on %d machines in the same minute", s.Raw, hosts)
			problem.Advice, problem.Count = fleetAdvice(s, hosts, p), hosts
			if s.local() {
				problem.Severity = rule.Note
				problem.Message += localText
			}
			p.Report(problem)
		}
	}}
}

// inStep reports whether nothing sets the machines apart on which a job runs.
func inStep(s *subject, hosts int) bool {
	return hosts > 1 && !s.spread() && !s.pinned() && !s.script.tick && !spreadByDelay(s)
}

// inStep reports whether HS120 speaks of a job.
func (a *analysis) inStep(s *subject) bool {
	return enabled(a.pass, &ruleHS120) && inStep(s, s.hosts(a.pass.Options))
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
	if untilMidnight(s) < leastWindow {
		return "" // the day ends before a wait would help
	}
	if _, ok := s.Detail.(*job.Ansible); ok {
		return ansibleMinute
	}
	window := spreadWindow(s, hosts, p)
	if s.unit != nil {
		return fmt.Sprintf("RandomizedDelaySec=%s", spanText(window))
	}
	return strings.Join(afterSleep(s, fmt.Sprintf("$(shuf -i 0-%d -n 1)", int(window.Seconds())-1)), "")
}
