package cache

import (
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// longLived is the max-age from which a file is taken to be versioned: its
// expiry is then no event.
const longLived = 24 * time.Hour

func hs308() lint.Check {
	r := &rule.Rule{
		ID: "HS308", Name: "no-stale-while-revalidate", Severity: rule.Note,
		Title: "Cache-Control gives no time to refresh behind the scenes",
		Why: "A CDN or a browser that may not serve a page a little too old has to ask for it at the very moment it " +
			"expires, for everybody at once.",
		Decided: "A max-age or s-maxage below one day without stale-while-revalidate. Headers with immutable, private, " +
			"no-cache, no-store or must-revalidate are left alone.",
		Before: "location /news { proxy_pass http://app; add_header Cache-Control \"public, max-age=60\"; }\nserver {\n}\n",
		After: "location /news { proxy_pass http://app; add_header Cache-Control \"public, max-age=60, " +
			"stale-while-revalidate=300\"; }\nserver {\n}\n",
	}
	return lint.Check{Rule: r, ExampleFile: "site.conf", Run: func(p *lint.Pass) {
		for _, s := range p.Settings {
			c, ok := s.Value.(*CacheControl)
			if !ok || c.Stale || c.Final || c.MaxAge == 0 || c.MaxAge >= longLived {
				continue
			}
			problem := s.Problem(r, c.At, "caches must ask again the moment this expires: no stale-while-revalidate")
			problem.Advice = c.Text + ", stale-while-revalidate=300"
			p.Report(problem)
		}
	}}
}
