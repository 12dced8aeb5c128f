package cache

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs310() lint.Check {
	r := &rule.Rule{
		ID: "HS310", Name: "no-grace", Severity: rule.Warning,
		Title: "Varnish's grace is switched off",
		Why: "In its grace an expired object is still served while one request refreshes it (10 s by default). " +
			"Without grace every request waits for the origin at each expiry, in one queue behind one fetch.",
		Decided: "beresp.grace or req.grace is set to 0, not set again further down, and the block around it caches. Inside " +
			"a condition it is a note: for errors and for pages that must never be old it is right.",
		Before: "vcl 4.1;\nsub vcl_backend_response {\n  set beresp.ttl = 60s;\n  set beresp.grace = 0s;\n}\n",
		After:  "vcl 4.1;\nsub vcl_backend_response {\n  set beresp.ttl = 60s;\n  set beresp.grace = 1h;\n}\n",
		See:    []string{"HS302"},
	}
	return lint.Check{Rule: r, ExampleFile: "default.vcl", Run: func(p *lint.Pass) {
		for _, s := range p.Settings {
			g, ok := s.Value.(*Grace)
			if !ok || g.Value != 0 || g.Moot {
				continue
			}
			problem := s.Problem(r, g.At, "no stale answer while an object is refreshed: "+g.Variable+" is 0")
			problem.Advice = "set " + g.Variable + " = 1h;"
			if g.Conditional {
				problem.Severity = rule.Note
			}
			p.Report(problem)
		}
	}}
}
