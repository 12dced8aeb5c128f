package ttlhist

import "github.com/herdscan/herdscan/comb/rule"

// Rules returns the rules about keys in a cache, HS401 to HS411.
func Rules() []rule.Rule {
	return append([]rule.Rule{
		{
			ID: "HS401", Name: "expiry-herd", Severity: rule.Warning,
			Title: "keys of one pattern expire together",
			Why: "Keys that were written together with one TTL die together. Each of them that is read again is a miss in the same second, " +
				"and all misses go to the database at once. They are refilled together, so the tooth comes again after each TTL.",
			Decided: "A scan statistic on the remaining times of one snapshot: a window must hold at least 20 keys (three quarters of a small group), " +
				"4 times what its sides and the typical rate of the group hold, with a false-alarm probability below 1 in 1000 after a correction for keys that are written in batches. " +
				"It must also stand out from the largest windows that remain. Groups of fewer than 20 keys are judged together and within the whole keyspace. " +
				"Keys that are renewed at each access, a second shorter TTL and the daily wave are no herd. " +
				"The TTL is only given where the data carry it; otherwise the report says that it is at least the longest remaining time. " +
				"A note, not a warning, for locks, queues and counters, whose death makes nobody ask the source again.",
			Before: `redis.set("product:" + id, value, ex=3600)`,
			After:  `redis.set("product:" + id, value, ex=int(3600 * random.uniform(0.85, 1.15)))`,
			See:    []string{"HS405", "HS407", "HS408"},
		},
		{
			ID: "HS402", Name: "lock-without-ttl", Severity: rule.Warning,
			Title: "a lock has no TTL",
			Why: "If the holder of a lock dies, a lock without a lease is never released: everybody who waits for it waits for ever, " +
				"and nothing in the logs says why.",
			Decided: "By the name: a word such as lock, mutex, lease or semaphore in the pattern (--kind adds rules), no TTL, and a type that can be a lock. " +
				"herdscan does not know whether the application deletes the key in another way.",
			Before: "SETNX lock:invoice:42 worker-7",
			After:  "SET lock:invoice:42 worker-7 NX PX 30000",
			See:    []string{"HS403"},
		},
		{
			ID: "HS403", Name: "evicted-with-cache", Severity: rule.Warning,
			Title: "locks, queues or sessions may be evicted together with cache values",
			Why: "When the memory is full, the policy evicts whatever it picks. A cache value can be computed again; an evicted lock lets two workers in, " +
				"an evicted queue loses its jobs, an evicted session logs its user out. It happens under load, together with the stampede that follows the evicted cache values.",
			Decided: "maxmemory is set, the policy is allkeys-* (any key may go) or volatile-* (only keys with a TTL may go), and locks or queues are seen beside cache values: " +
				"by name, and lists and streams without a TTL count as queues. Only sessions: a note. noeviction: nothing is reported. " +
				"Whether memory ever fills up is not in a snapshot.",
			Before: "maxmemory 64mb\nmaxmemory-policy allkeys-lru   # one Redis for cache, locks and queues",
			After:  "# Redis for locks and queues\nmaxmemory-policy noeviction\n# another Redis for the cache\nmaxmemory-policy allkeys-lru",
			See:    []string{"HS402", "HS406"},
		},
		{
			ID: "HS404", Name: "hot-key-dying", Severity: rule.Note,
			Title: "a hot key dies within seconds",
			Why: "A key that is read hundreds of times a second and takes a second to compute is computed hundreds of times at its death, " +
				"unless one caller does it for all.",
			Decided: "Only under an LFU policy, which counts reads: the access counter is at least 100 and less than 10 s remain. " +
				"Whether the application protects the key can't be seen in a snapshot, so this is never more than a note.",
			Before: "value, ok := cache.Get(key)\nif !ok {\n\tvalue = compute(key) // by every caller at once\n}",
			After:  "value, err, _ := group.Do(key, func() (any, error) { return compute(key) }) // singleflight",
			See:    []string{"HS401"},
		},
		{
			ID: "HS405", Name: "fixed-ttl", Severity: rule.Note,
			Title: "one fixed TTL: spread today, a herd after the next cold start",
			Why: "The keys are spread out because they were written at different times. After a flush, a restart or a change of the key format they are all written " +
				"within minutes, and from then on they die together.",
			Decided: "At least 100 keys, no tooth, and remaining times that fit one TTL without a random part better than any other. " +
				"A jitter of less than about 1 % can't be told from none.",
			Before: `$cache->set($key, $value, 600);`,
			After:  `$cache->set($key, $value, random_int(510, 690));`,
			See:    []string{"HS401"},
		},
		{
			ID: "HS406", Name: "cache-without-ttl", Severity: rule.Warning,
			Title: "cache keys have no TTL",
			Why: "A cache value without a TTL is served for ever, stale or not, and fills the memory until the server evicts, or refuses writes. " +
				"Often a plain SET has removed the TTL that an earlier command had set.",
			Decided: "Keys of a pattern that is named as a cache, or at most a fifth of a pattern whose other keys have a TTL (then a note). " +
				"A note too under an allkeys policy, which bounds the memory. Hashes of which a field expires don't count.",
			Before: "SET cache:product:42 ...",
			After:  "SET cache:product:42 ... EX 3600",
			See:    []string{"HS403"},
		},
		{
			ID: "HS407", Name: "wall-clock-expiry", Severity: rule.Note,
			Title: "deadlines are pinned to the wall clock",
			Why: "A deadline that is a time of day (midnight, the full hour) is the same for every key and every copy of the program, however far apart they were written. " +
				"For cached values that is a herd each day; for the counters of a fixed window it is meant.",
			Decided: "Only from sources that know milliseconds: nearly all deadlines of a group are within 20 ms of a full minute, hour or midnight, " +
				"or all of at least 20 are whole seconds, which a relative TTL gives once in 1000 keys.",
			Before: "EXPIREAT page:home 1767225600      # midnight",
			After:  "EXPIRE page:home 3600-4140         # a random time to live",
			See:    []string{"HS401"},
		},
		{
			ID: "HS408", Name: "over-budget", Severity: rule.Warning,
			Title: "more keys expire in one second than the store or database can take",
			Why:   "Each expiry of a key that is in use is a query to whatever refills it. If more come in one second than it can answer, they pile up and the next second is worse.",
			Decided: "Only with --budget: the busiest second of the whole keyspace, without locks, queues and counters, is above it. " +
				"The number of queries may be lower, if not all keys are read again, or higher, if several processes compute the same key.",
			Before: "3,427 keys expire in one second, --budget 500",
			After:  "a random TTL, so that the busiest second has fewer than 500",
			See:    []string{"HS401"},
		},
		{
			ID: "HS409", Name: "two-versions", Severity: rule.Note,
			Title: "two versions of one prefix are alive",
			Why: "After a change of the key format every read misses until the new keys are written: a cold start. " +
				"The old keys fill memory until they die, and the new ones, written together, are the next herd.",
			Decided: "Two patterns differ only in v1, v2 ... and the older one is not written any more: its longest remaining time is at least a tenth shorter. " +
				"Programs that write both versions on purpose look the same.",
			Before: "v1:product:* and v2:product:*, both in memory",
			After:  "warm the most read v2 keys before the switch; switch at low traffic",
			See:    []string{"HS401"},
		},
	}, liveRules()...)
}
