package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS150 = rule.Rule{
	ID: "HS150", Name: "round-timer", Severity: rule.Warning,
	Title: "A timer at a round time without a random delay",
	Why: "OnCalendar=daily is midnight on every machine that has the unit: backups, log rotation and certificate " +
		"renewals of a whole fleet start in one second, and with the other timers of the same machine.",
	Decided: "OnCalendar starts at minute 0 of an hour and neither RandomizedDelaySec= nor RandomizedOffsetSec= is in " +
		"force, drop-ins included. FixedRandomDelay=true (systemd 247) keeps a machine's moment the same every day. A note for " +
		"housekeeping that asks nothing of other machines (log rotation, man-db).",
	Before: "[Timer]\nOnCalendar=daily\n",
	After:  "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\nFixedRandomDelay=true\n",
	See:    []string{"HS101", "HS151", "HS152", "HS153"},
}

func checkHS150(a *analysis) lint.Check {
	return lint.Check{Rule: &ruleHS150, CrossFile: true, ExampleFile: "backup.timer", Run: func(p *lint.Pass) {
		mended := map[*unit]bool{} // one delay is enough for all events of a unit
		for _, s := range a.of(p).all {
			if !roundTimer(s) {
				continue
			}
			problem := s.problem(&ruleHS150, "%s is a round time and has no random delay", s.Raw)
			if hosts := s.hosts(p.Options); hosts > 1 {
				problem.Message += fmt.Sprintf(": %d machines start at once", hosts)
				problem.Count = hosts
			}
			if s.local() {
				problem.Severity = rule.Note
				problem.Message += localText
			}
			if !mended[s.unit] && untilMidnight(s) >= leastWindow {
				mended[s.unit] = true
				problem.Fix = delayEdit(s, p)
				problem.Advice = problem.Fix.Text
			}
			p.Report(problem)
		}
	}}
}

// roundTimer reports whether a timer starts at minute 0 with nothing to spread it.
func roundTimer(s *subject) bool {
	return s.unit != nil && s.unit.window() == 0 && !s.pinned() && s.Schedule.MinutesOfHour()&1 != 0 && s.Schedule.Seconds&1 != 0
}

// fixedDelaySince is the systemd version that knows FixedRandomDelay=.
const fixedDelaySince = 247

// delayEdit adds a random delay below the OnCalendar= line.
func delayEdit(s *subject, p *lint.Pass) *lint.Edit {
	newline := "\n"
	if s.File.CRLF() {
		newline = "\r\n"
	}
	window := spreadWindow(s, s.hosts(p.Options), p)
	text := fmt.Sprintf("RandomizedDelaySec=%s", spanText(window))
	if v := p.Options.SystemdVersion; v == 0 || v >= fixedDelaySince {
		text += newline + "FixedRandomDelay=true"
	}
	at := s.Span.End
	e := &lint.Edit{File: s.File.Path, Span: lint.Span{Start: at, End: at}, New: newline + text, Text: text, Safe: true}
	if e.Why = s.doubt(); e.Why != "" {
		e.Safe = false
	}
	return e
}
