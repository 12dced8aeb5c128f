package retry

import (
	"fmt"
	"path"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// Checks of servers as one HAProxy file has them. It is the Value of a
// lint.Setting.
type HealthChecks struct {
	Servers  int       // that are checked
	Global   bool      // the file has a global section
	Spread   bool      // with spread-checks above 0
	GlobalAt lint.Span // where the setting belongs
}

func hs220() lint.Check {
	r := &rule.Rule{
		ID: "HS220", Name: "checks-not-spread", Severity: rule.Note,
		Title: "Health checks are not spread",
		Why: "HAProxy starts its checks spread over one interval and then keeps them strictly periodic. With " +
			"several proxies, or several servers on one machine, the checks drift into step and stay there.",
		Decided: "Two servers or more are checked and no file beside this one sets spread-checks above 0. HAProxy's " +
			"manual recommends 2 to 5.",
		Before: "global\n  maxconn 1000\nbackend app\n  server a 192.0.2.1:80 check inter 2s\n  server b 192.0.2.2:80 check inter 2s\n",
		After: "global\n  maxconn 1000\n  spread-checks 5\nbackend app\n  server a 192.0.2.1:80 check inter 2s\n" +
			"  server b 192.0.2.2:80 check inter 2s\n",
	}
	return lint.Check{Rule: r, CrossFile: true, ExampleFile: "haproxy.cfg", Run: func(p *lint.Pass) { spread(p, r) }}
}

// spread takes the files of one folder as one configuration, as HAProxy does.
func spread(p *lint.Pass, r *rule.Rule) {
	type folder struct {
		servers int
		spread  bool
	}
	folders := make(map[string]*folder)
	for _, s := range p.Settings {
		if x, ok := s.Value.(*HealthChecks); ok {
			dir := path.Dir(s.File.Path)
			if folders[dir] == nil {
				folders[dir] = new(folder)
			}
			folders[dir].servers += x.Servers
			folders[dir].spread = folders[dir].spread || x.Spread
		}
	}
	for _, s := range p.Settings {
		x, ok := s.Value.(*HealthChecks)
		if !ok || !x.Global || x.Servers == 0 {
			continue
		}
		if f := folders[path.Dir(s.File.Path)]; f.servers >= 2 && !f.spread {
			report(p, r, s, x.GlobalAt, fmt.Sprintf("%d servers are checked at fixed intervals, not spread", x.Servers),
				"spread-checks 5")
		}
	}
}
