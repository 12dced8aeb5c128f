package ttlhist

import "github.com/herdscan/herdscan/comb/rule"

// liveRules are the rules about keys that only somebody who watches can decide.
func liveRules() []rule.Rule {
	return []rule.Rule{
		{
			ID: "HS410", Name: "key-stampede", Severity: rule.Warning,
			Title: "one key is missed by many at once, and rebuilt by each of them",
			Why: "When a key that is much asked for dies, every client that asks finds nothing, and each computes the same value and writes it. " +
				"The database gets hundreds of copies of one query, which makes each of them slower and lets still more clients join.",
			Decided: "Only by herdscan watch, while it happens. By keymiss events: at least 20 misses of one key in a run without a pause of a second, followed by as many writes more than usual " +
				"(a third of the misses, at least 20, less the misses of other keys, and six times what writes scatter); a key that a lock or single-flight protects is missed as often, but written once. " +
				"By MONITOR (--monitor): after a calm, at least 20 writes of the key in a row, by at least 10 connections that have read it, and at least 20 reads within the time of a rebuild before the first. " +
				"A note if how often it was rebuilt can't be told from other writes.",
			Before: "value = redis.get(key)\nif value is None:\n    value = compute(key)          # by every caller at once\n    redis.set(key, value, ex=60)",
			After:  "if value is None and redis.set(\"lock:\" + key, me, nx=True, px=5000):\n    value = compute(key)          # by one; the others serve the old value\n    redis.set(key, value, ex=60)",
			See:    []string{"HS404", "HS502"},
		},
		{
			ID: "HS411", Name: "cache-emptied", Severity: rule.Warning,
			Title: "the cache lost its keys at once",
			Why: "After FLUSHALL, or a restart without its data, every read is a miss and goes to the database. " +
				"The keys are written again within minutes, and with one fixed TTL they die together from then on.",
			Decided: "Only by herdscan watch: half of a server's keys or more (at least 20) are gone between two looks at its counters, and FLUSHALL or FLUSHDB was called meanwhile, or the server was started anew, " +
				"or there were at least 1000 and their deadlines do not explain it.",
			Before: "redis-cli FLUSHALL            # as part of a deploy",
			After:  "a new prefix for the keys, warmed before the switch; FLUSHALL forbidden by ACL (-flushall -flushdb)",
			See:    []string{"HS401", "HS504"},
		},
	}
}
