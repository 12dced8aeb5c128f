package cache

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs303() lint.Check {
	r := &rule.Rule{
		ID: "HS303", Name: "no-background-update", Severity: rule.Note,
		Title: "The visitor who meets an expired page waits for its refresh",
		Why: "With \"updating\" only one request refreshes an expired page, but that visitor waits for the origin " +
			"while all others are served at once.",
		Decided: "\"updating\" is in force and *_cache_background_update on is not.",
		Before: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating error timeout;\n}\n",
		After: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating error timeout;\n  proxy_cache_background_update on;\n}\n",
		See: []string{"HS302", "HS304"},
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "nginx.conf", Run: func(p *lint.Pass) {
		eachUse(p, r, func(u *use) (finding, bool) {
			text := u.family + "_cache_background_update on;"
			return finding{
				message: "one visitor waits for each refresh: no " + u.family + "_cache_background_update",
				advice:  text, fix: after(u.cache, text, "that visitor then sees the expired page"),
			}, u.updating() && !u.on("cache_background_update")
		})
	}}
}
