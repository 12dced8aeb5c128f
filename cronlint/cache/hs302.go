package cache

import (
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/nginx"
)

func hs302() lint.Check {
	r := &rule.Rule{
		ID: "HS302", Name: "no-stale-while-updating", Severity: rule.Warning,
		Title: "An expired page is fetched once for every request",
		Why: "When a popular page expires, every request that comes before the new answer goes to the origin. " +
			"That is each page's fate once in every lifetime, far more often than a cold cache; the cache lock " +
			"does not help there.",
		Decided: "A cache is in use and *_cache_use_stale without \"updating\" is in force. An origin that sends " +
			"stale-while-revalidate itself has the same effect; that is not in the file.",
		Before: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n}\n",
		After: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating error timeout http_500 http_502 http_503;\n  proxy_cache_background_update on;\n}\n",
		See: []string{"HS301", "HS303"},
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "nginx.conf", Run: func(p *lint.Pass) {
		eachUse(p, r, func(u *use) (finding, bool) {
			text := u.family + "_cache_use_stale updating error timeout http_500 http_502 http_503;"
			stale := u.get("cache_use_stale")
			fix := after(u.cache, text, "visitors may then see a page that has just expired")
			if stale != nil {
				text = strings.TrimSuffix(stale.File.Text(stale.Span), ";") + " updating;"
				fix = addArg(stale, "updating")
			}
			return finding{
				message: "when a cached page expires, all requests go to the origin until it is back: " +
					u.family + "_cache_use_stale has no \"updating\"",
				advice: text, fix: fix,
			}, !u.updating()
		})
	}}
}

// addArg makes an edit that adds an argument in front of the first one; "off"
// gives way to it.
func addArg(d *nginx.Directive, arg string) *lint.Edit {
	old := d.File.Text(d.Span)
	text := strings.Replace(old, d.Name, d.Name+" "+arg, 1)
	if d.Has("off") {
		text = d.Name + " " + arg + ";"
	}
	return &lint.Edit{
		File: d.File.Path, Span: d.Span, New: text, Text: text, Why: "visitors may then see a page that has just expired",
	}
}
