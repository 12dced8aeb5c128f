package cache

import (
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs307() lint.Check {
	r := &rule.Rule{
		ID: "HS307", Name: "cache-ignores-sessions", Severity: rule.Warning,
		Title: "A page cache does not look at the session",
		Why: "A page made for one logged-in visitor is stored and shown to others. And the usual cure in a hurry " +
			"(switching the cache off) brings the herd back.",
		Decided: "The application's own pages (location /, or a FastCGI, uWSGI or SCGI application) are cached for " +
			"as long as nginx says, the time is that of a microcache (5 minutes or less) or Set-Cookie is ignored, and " +
			"neither *_cache_bypass nor *_no_cache nor a cookie in the key is there. A site without logins has no use for it.",
		Before: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_valid 200 2s;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating;\n  proxy_cache_background_update on;\n}\n",
		After: "location / {\n  proxy_pass http://app;\n  proxy_cache one;\n  proxy_cache_valid 200 2s;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_use_stale updating;\n  proxy_cache_background_update on;\n" +
			"  proxy_cache_bypass $cookie_session;\n  proxy_no_cache $cookie_session;\n}\n",
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "nginx.conf", Run: func(p *lint.Pass) {
		eachUse(p, r, func(u *use) (finding, bool) {
			return finding{
				message: "pages are cached whoever asks for them: neither " + u.family + "_cache_bypass nor " + u.family + "_no_cache",
				advice: u.family + "_cache_bypass $cookie_session $http_authorization;\n" +
					u.family + "_no_cache $cookie_session $http_authorization;   # your session cookie's name",
			}, mixesSessions(u)
		})
	}}
}

// microcache is the lifetime up to which pages are taken to be dynamic.
const microcache = 5 * time.Minute

func mixesSessions(u *use) bool {
	l := u.at.location()
	if l == nil || u.get("cache_bypass") != nil || u.get("no_cache") != nil {
		return false
	}
	if u.family == "proxy" && (len(l.args) != 1 || l.args[0] != "/") {
		return false
	}
	key := strings.ToLower(strings.Join(append([]string{""}, argsOf(u, "cache_key")...), " "))
	for _, mark := range []string{"$cookie_", "$http_cookie", "$http_authorization", "$arg_token", "$remote_user"} {
		if strings.Contains(key, mark) {
			return false
		}
	}
	ttl, ok := pageLifetime(u)
	if !ok {
		return false // only what the application itself declares cacheable is cached
	}
	return ttl <= microcache || u.get("ignore_headers").Has("Set-Cookie")
}

func argsOf(u *use, name string) []string {
	if d := u.get(name); d != nil {
		return d.Args
	}
	return nil
}

// pageLifetime returns how long nginx itself keeps answers of status 200.
func pageLifetime(u *use) (ttl time.Duration, ok bool) {
	for _, d := range u.all("cache_valid") {
		n := len(d.Args)
		if n == 0 || n > 1 && !d.Has("200") && !d.Has("any") {
			continue
		}
		if v, known := conf.ParseDuration(d.Args[n-1], time.Second); known {
			ttl, ok = v, v > 0
		}
	}
	return ttl, ok
}
