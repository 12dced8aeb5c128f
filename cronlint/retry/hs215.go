package retry

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// A Poll is a client's fixed poll or reconnect interval, where its system
// offers jitter that is not used. It is the Value of a lint.Setting.
type Poll struct {
	System   string
	What     string // "reconnects", "collects"
	Interval time.Duration
	At       lint.Span
	Why      string // why it is fixed: which setting, or its default
	Advice   string
	Minor    bool // the default of nearly everybody: a note unless many hosts are known
}

func hs215() lint.Check {
	r := &rule.Rule{
		ID: "HS215", Name: "fixed-reconnect", Severity: rule.Warning,
		Title: "Clients poll or reconnect in step, though jitter is on offer",
		Why: "After an outage or a restart of the server all clients come back in the same second, and again " +
			"after each interval.",
		Decided: "The setting makes the interval constant, and the system documents a jitter for it. Where the " +
			"constant interval is the default, it is a note until many hosts are known (--hosts).",
		Before: "connection upstream\naddress broker.example.org:8883\ntopic # out\nrestart_timeout 20\n",
		After:  "connection upstream\naddress broker.example.org:8883\ntopic # out\nrestart_timeout 10 60\n",
		See:    []string{"HS202"},
	}
	return lint.Check{Rule: r, ExampleFile: "mosquitto.conf", Run: func(p *lint.Pass) {
		for _, s := range p.Settings {
			x, ok := s.Value.(*Poll)
			if !ok {
				continue
			}
			sev := r.Severity
			if x.Minor && p.Options.Hosts < 2 {
				sev = rule.Note
			}
			every := ""
			if x.Interval > 0 {
				every = " every " + short(x.Interval)
			}
			reportAs(p, r, sev, s, x.At, x.System+" "+x.What+every+" in step with all others: "+x.Why, x.Advice)
		}
	}}
}
