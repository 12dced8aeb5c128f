package cache

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs304() lint.Check {
	r := &rule.Rule{
		ID: "HS304", Name: "dead-background-update", Severity: rule.Error,
		Title: "Background updates are switched on but never happen",
		Why: "nginx refreshes in the background only while it may serve the stale page. Without that permission " +
			"the setting does nothing: every request of an expired page goes to the origin and waits.",
		Decided: "*_cache_background_update on is in force and *_cache_use_stale has no \"updating\". Only answers " +
			"that carry stale-while-revalidate from the origin are served stale even so.",
		Before: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale error timeout;\n  proxy_cache_background_update on;\n}\n",
		After: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating error timeout;\n  proxy_cache_background_update on;\n}\n",
		See: []string{"HS302", "HS303"},
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "nginx.conf", Run: func(p *lint.Pass) {
		eachUse(p, r, func(u *use) (finding, bool) {
			return finding{
				message: u.family + "_cache_background_update has no effect without \"updating\" in " + u.family +
					"_cache_use_stale (unless the origin sends stale-while-revalidate)",
				advice: u.family + "_cache_use_stale updating error timeout;",
				at:     u.get("cache_background_update"),
			}, u.on("cache_background_update") && !u.updating()
		})
	}}
}
