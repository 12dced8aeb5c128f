package cache

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// nginx's defaults.
const (
	lockTimeout = 5 * time.Second
	lockAge     = 5 * time.Second
	readTimeout = 60 * time.Second
)

func hs305() lint.Check {
	r := &rule.Rule{
		ID: "HS305", Name: "lock-shorter-than-origin", Severity: rule.Warning,
		Title: "The cache lock gives up before the origin has answered",
		Why: "Requests that wait for the lock go to the origin when its timeout is over, all together and without " +
			"filling the cache: a slow origin gets the whole crowd just because it is slow.",
		Decided: "The lock is on and its timeout or its age is shorter than the read timeout that is written for " +
			"the same place. It is a note where only one of the two is written: a read timeout of up to 60 s (nginx's " +
			"default) beside a lock of 5 s (the default), or a lock made shorter than that.",
		Before: "location / {\n  proxy_pass http://app;\n  proxy_read_timeout 120s;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_lock_timeout 5s;\n  proxy_cache_use_stale updating;\n  proxy_cache_background_update on;\n}\n",
		After: "location / {\n  proxy_pass http://app;\n  proxy_read_timeout 10s;\n  proxy_cache one;\n  proxy_cache_lock on;\n" +
			"  proxy_cache_lock_timeout 15s;\n  proxy_cache_lock_age 15s;\n  proxy_cache_use_stale updating;\n" +
			"  proxy_cache_background_update on;\n}\n",
		See: []string{"HS301"},
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "nginx.conf", Run: func(p *lint.Pass) {
		eachUse(p, r, shortLock)
	}}
}

func shortLock(u *use) (finding, bool) {
	if !u.on("cache_lock") {
		return finding{}, false
	}
	wait, waitSet := u.duration("cache_lock_timeout", lockTimeout)
	age, ageSet := u.duration("cache_lock_age", lockAge)
	read, readSet := u.duration("read_timeout", readTimeout)
	if wait >= read && age >= read || !readSet && (wait >= lockTimeout && age >= lockAge) {
		return finding{}, false
	}
	chosen := readSet && (waitSet || ageSet || read > readTimeout)
	got := finding{note: !chosen, at: u.get("cache_lock")}
	name := u.family + "_cache_lock_timeout"
	got.message = fmt.Sprintf("an origin that needs more than %s gets every waiting request: %s is below %s_read_timeout (%s)",
		wait, name, u.family, read)
	if wait >= read || !readSet && wait >= lockTimeout {
		name = u.family + "_cache_lock_age"
		got.message = fmt.Sprintf("an origin that needs more than %s gets one more request each %s: %s is below %s_read_timeout (%s)",
			age, age, name, u.family, read)
	}
	for _, d := range []string{"cache_lock_age", "cache_lock_timeout"} {
		if set := u.get(d); set != nil && u.family+"_"+d == name {
			got.at = set
		}
	}
	got.advice = fmt.Sprintf("%s %ds;", name, int(read.Seconds()))
	return got, true
}
