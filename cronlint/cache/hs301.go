package cache

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs301() lint.Check {
	r := &rule.Rule{
		ID: "HS301", Name: "no-cache-lock", Severity: rule.Warning,
		Title: "A page that is not in the cache is fetched once for every request",
		Why: "Until the first answer is in, all requests for a new page go to the origin: after a purge, a " +
			"deploy or a restart one popular page can be all of the load.",
		Decided: "A cache is in use and no *_cache_lock on is in force there. nginx takes the lock only when " +
			"there is no entry at all; an expired entry is a matter of HS302.",
		Before: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_use_stale updating error timeout;\n" +
			"  proxy_cache_background_update on;\n}\n",
		After: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating error timeout;\n  proxy_cache_background_update on;\n}\n",
		See: []string{"HS302", "HS305"},
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "nginx.conf", Run: func(p *lint.Pass) {
		eachUse(p, r, func(u *use) (finding, bool) {
			text := u.family + "_cache_lock on;"
			return finding{
				message: "requests for a page that is not cached all go to the origin: no " + u.family + "_cache_lock",
				advice:  text,
				fix:     after(u.cache, text, "requests for one new page then wait for each other, up to the lock's timeout"),
			}, !u.on("cache_lock")
		})
	}}
}
