package cache

import (
	"fmt"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/code"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// sharedTTL is the number of writes with one literal lifetime from which HS320
// speaks.
const sharedTTL = 3

func hs320() lint.Check {
	r := &rule.Rule{
		ID: "HS320", Name: "shared-fixed-ttl", Severity: rule.Note,
		Title: "Many kinds of keys get one fixed TTL",
		Why: "What is written together dies together: after a deploy or a flush everything is filled within " +
			"minutes, and one lifetime later all of it is gone again, and so on for ever.",
		Decided: fmt.Sprintf("The same literal lifetime is given at %d places or more of one language, or as the one of a "+
			"whole cache, without anything random. It is asked for (code) and a note: how many keys each place writes is not in the file.", sharedTTL),
		Before: "def f():\n    cache.set('a', a(), 3600)\n    cache.set('b', b(), timeout=60 * 60)\n    cache.set('c', c(), 3600)\n",
		After: "def f():\n    cache.set('a', a(), ttl(3600))\n    cache.set('b', b(), timeout=ttl(60 * 60))\n    cache.set('c', c(), 3600)\n" +
			"\n\ndef ttl(mean):\n    return random.uniform(0.85, 1.15) * mean\n",
	}
	return lint.Check{Rule: r, OptIn: "code", CrossFile: true, ExampleFile: "views.py", Run: func(p *lint.Pass) { sharedTTLs(p, r) }}
}

var ttlAdvice = map[code.Language]string{
	code.Python: "timeout=int(random.uniform(0.85, 1.15) * %d)",
	code.PHP:    "random_int((int) (0.85 * %d), (int) (1.15 * %[1]d))",
	code.Ruby:   "expires_in: rand(0.85..1.15) * %d, race_condition_ttl: 10.seconds",
	code.Script: "Math.round((0.85 + 0.3 * Math.random()) * %d)",
	code.Java:   "Duration.ofSeconds(ThreadLocalRandom.current().nextLong((long) (0.85 * %d), (long) (1.15 * %[1]d)))",
	code.Go:     "time.Duration((0.85 + 0.3*rand.Float64()) * float64(%d*time.Second))",
}

func sharedTTLs(p *lint.Pass, r *rule.Rule) {
	type key struct {
		lang  code.Language
		value time.Duration
	}
	groups := make(map[key][]*lint.Setting)
	var order []key
	for _, s := range p.Settings {
		x, ok := s.Value.(*TTL)
		if !ok || x.Spread {
			continue
		}
		if x.All {
			problem := s.Problem(r, x.At, "every key of this cache gets one fixed TTL of "+x.Value.String())
			problem.Advice = "give each write a TTL of its own, ± 15 %"
			p.Report(problem)
			continue
		}
		k := key{x.Lang, x.Value}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	for _, k := range order {
		g := groups[k]
		if len(g) < sharedTTL {
			continue
		}
		problem := g[0].Problem(r, g[0].Span, fmt.Sprintf("%d cache writes share one fixed TTL of %s", len(g), k.value))
		problem.Advice = fmt.Sprintf(ttlAdvice[k.lang], int64(k.value.Seconds()))
		for _, s := range g[1:] {
			problem.Related = append(problem.Related, s.File.Location(s.Span))
		}
		p.Report(problem)
	}
}
