package timing

import (
	"fmt"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

var ruleHS156 = rule.Rule{
	ID: "HS156", Name: "key-too-new", Severity: rule.Warning,
	Title: "The systemd of the target does not know this key",
	Why: "systemd ignores a key that it does not know, with a line in the journal. The delay that the unit seems to " +
		"have is not there.",
	Decided: "Needs --systemd-version. The versions are those of systemd.timer(5).",
	Before:  "[Timer]\nOnCalendar=daily\nRandomizedOffsetSec=1h\n",
	After:   "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\nFixedRandomDelay=true\n",
	See:     []string{"HS155"},
}

// keySince is the systemd version that introduced a key of [Timer].
var keySince = map[string]int{
	"Persistent": 212, "WakeSystem": 212, "AccuracySec": 209, "RandomizedDelaySec": 229, "RemainAfterElapse": 229,
	"OnClockChange": 242, "OnTimezoneChange": 242, "FixedRandomDelay": 247, "DeferReactivation": 257, "RandomizedOffsetSec": 258,
}

func checkHS156() lint.Check {
	return lint.Check{
		Rule: &ruleHS156, ExampleFile: "backup.timer", ExampleOptions: lint.Options{SystemdVersion: 252},
		Run: func(p *lint.Pass) {
			if p.Options.SystemdVersion == 0 {
				return
			}
			for _, s := range p.Settings {
				t, ok := s.Value.(*job.TimerFile)
				if !ok {
					continue
				}
				for _, k := range t.Keys {
					if since := keySince[k.Name]; k.Section == "Timer" && since > p.Options.SystemdVersion {
						problem := s.Problem(&ruleHS156, k.Span, fmt.Sprintf("%s= needs systemd %d; version %d ignores it",
							k.Name, since, p.Options.SystemdVersion))
						problem.Key = k.Name
						p.Report(problem)
					}
				}
			}
		},
	}
}
