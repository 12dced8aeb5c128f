package cache

import (
	"fmt"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func hs306() lint.Check {
	r := &rule.Rule{
		ID: "HS306", Name: "cache-shares-redis", Severity: rule.Warning,
		Title: "Cache and queue share one Redis",
		Why: "Eviction and its policy belong to the server, not to the database: a Redis that may drop cache keys " +
			"when memory is full drops jobs and locks with them, and one that may not fails the cache's writes. " +
			"In one database, clearing the cache (FLUSHDB) empties the queue and logs everybody out.",
		Decided: "The file names one server for the cache and for a queue or for locks. Cache and sessions alone, " +
			"and example files, are a note. What the server's policy is, is not in the file.",
		Before: "APP_NAME=Laravel\nCACHE_STORE=redis\nQUEUE_CONNECTION=redis\nSESSION_DRIVER=redis\nREDIS_HOST=redis.internal\n",
		After: "APP_NAME=Laravel\nCACHE_STORE=redis\nQUEUE_CONNECTION=redis\nSESSION_DRIVER=redis\nREDIS_HOST=redis.internal\n" +
			"REDIS_CACHE_HOST=cache.internal\n",
	}
	return lint.Check{Rule: r, ExampleFile: ".env", Run: func(p *lint.Pass) {
		for _, s := range p.Settings {
			if x, ok := s.Value.(*Store); ok {
				shared(p, r, s, x)
			}
		}
	}}
}

// shared reports what shares the cache's server, once a file.
func shared(p *lint.Pass, r *rule.Rule, s *lint.Setting, x *Store) {
	i := slices.IndexFunc(x.Uses, func(u StoreUse) bool { return u.Role == "cache" })
	if i < 0 {
		return
	}
	cache := x.Uses[i]
	var names []string
	var related []lint.Location
	queue, same := false, false
	for _, u := range x.Uses {
		if u.Role == "cache" || u.Server != cache.Server || slices.Contains(names, u.Role) {
			continue
		}
		names = append(names, u.Role)
		queue = queue || u.Role == "queue"
		same = same || u.DB == cache.DB
		loc := s.File.Location(u.At)
		loc.Note = u.Role
		related = append(related, loc)
	}
	if len(names) == 0 {
		return
	}
	where := "one Redis server (databases differ, the eviction policy does not)"
	if same {
		where = fmt.Sprintf("one Redis database (%s): clearing the cache clears them, too", cache.DB)
	}
	problem := s.Problem(r, cache.At, fmt.Sprintf("cache and %s share %s", strings.Join(names, " and "), where))
	problem.Related = related
	problem.Advice = "a Redis of its own for the cache (maxmemory-policy allkeys-lru), noeviction for the other"
	if x.Sample || !queue {
		problem.Severity = rule.Note
	}
	p.Report(problem)
}
