package report

import (
	"fmt"
	"math"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/ttlhist"
)

// Langs are the languages that code snippets come in.
func Langs() []string { return []string{"go", "python", "php", "java", "js", "ruby"} }

// ttlSnippet writes a TTL with its jitter in a language, for the range that
// the prediction was made for.
func ttlSnippet(lang string, j ttlhist.JitterEffect) (name, code string) {
	low := int64(math.Round(j.Shortest.Seconds()))
	high := int64(math.Round(j.Longest.Seconds()))
	span := high - low + 1
	switch lang {
	case "go":
		return lang, fmt.Sprintf("ttl := time.Duration(%d+rand.IntN(%d)) * time.Second // math/rand/v2\nrdb.Set(ctx, key, value, ttl)", low, span)
	case "python":
		return lang, fmt.Sprintf("r.set(key, value, ex=random.randint(%d, %d))", low, high)
	case "php":
		return lang, fmt.Sprintf("$redis->setex($key, random_int(%d, %d), $value);", low, high)
	case "java":
		return lang, fmt.Sprintf("jedis.setex(key, ThreadLocalRandom.current().nextLong(%d, %d), value);", low, high+1)
	case "js":
		return lang, fmt.Sprintf("await redis.set(key, value, 'EX', %d + Math.floor(Math.random() * %d));", low, span)
	case "ruby":
		return lang, fmt.Sprintf("redis.set(key, value, ex: rand(%d..%d))", low, high)
	default:
		return "", ""
	}
}

// querySnippet writes the remedy for the best cause of a finding.
func querySnippet(lang string, f *querylog.Finding) (name, code string) {
	switch f.Causes[0].Kind {
	case querylog.CauseHotKey, querylog.CauseColdStart:
		return singleFlight(lang)
	case querylog.CauseReplicaJob:
		return claim(lang)
	case querylog.CauseRetry:
		return backoff(lang)
	case querylog.CauseMissingKey:
		return negativeCache(lang)
	default:
		return "", ""
	}
}

// singleFlight lets one caller in each process refill a key.
func singleFlight(lang string) (string, string) {
	code := map[string]string{
		"go":     "v, err, _ := group.Do(key, func() (any, error) { return load(key) }) // golang.org/x/sync/singleflight",
		"python": "with locks[key]:  # one threading.Lock a key\n    value = cache.get(key)\n    if value is None:\n        value = load(key)\n        cache.set(key, value, ttl)",
		"php":    "$value = $cache->get($key, fn ($item) => load($key)); // symfony/cache locks the refill",
		"java":   "value = cache.get(key, k -> load(k)); // Caffeine: one load a key",
		"js":     "inflight.get(key) ?? inflight.set(key, load(key).finally(() => inflight.delete(key))).get(key)",
		"ruby":   "value = Rails.cache.fetch(key, expires_in: ttl, race_condition_ttl: 10) { load(key) }",
	}
	return lang, code[lang]
}

// claim lets one replica run a job in each period.
func claim(lang string) (string, string) {
	code := map[string]string{
		"go":     "ok, err := rdb.SetNX(ctx, \"claim:job:\"+period, host, window).Result()\nif err != nil || ok { run() } // if Redis is down, run anyway",
		"python": "if r.set(f\"claim:job:{period}\", host, nx=True, ex=window):\n    run()",
		"php":    "if ($redis->set(\"claim:job:$period\", $host, ['nx', 'ex' => $window])) { run(); }",
		"java":   "if (\"OK\".equals(jedis.set(\"claim:job:\" + period, host, SetParams.setParams().nx().ex(window)))) run();",
		"js":     "if (await redis.set(`claim:job:${period}`, host, 'EX', window, 'NX')) await run();",
		"ruby":   "run if redis.set(\"claim:job:#{period}\", host, nx: true, ex: window)",
	}
	return lang, code[lang]
}

// backoff waits longer each time, and at random.
func backoff(lang string) (string, string) {
	code := map[string]string{
		"go":     "time.Sleep(rand.N(min(maxWait, base<<attempt))) // full jitter",
		"python": "time.sleep(random.uniform(0, min(max_wait, base * 2 ** attempt)))",
		"php":    "usleep(random_int(0, min($maxWait, $base * 2 ** $attempt)));",
		"java":   "Thread.sleep(ThreadLocalRandom.current().nextLong(Math.min(maxWait, base << attempt)));",
		"js":     "await sleep(Math.random() * Math.min(maxWait, base * 2 ** attempt));",
		"ruby":   "sleep(rand * [max_wait, base * 2**attempt].min)",
	}
	return lang, code[lang]
}

// negativeCache remembers for a short time that there is nothing.
func negativeCache(lang string) (string, string) {
	code := map[string]string{
		"go":     "if errors.Is(err, sql.ErrNoRows) { rdb.Set(ctx, key, \"none\", 30*time.Second) }",
		"python": "r.set(key, value if value is not None else \"none\", ex=ttl if value is not None else 30)",
		"php":    "$redis->setex($key, $row ? $ttl : 30, $row ? serialize($row) : 'none');",
		"java":   "jedis.setex(key, row == null ? 30 : ttl, row == null ? \"none\" : encode(row));",
		"js":     "await redis.set(key, row ? JSON.stringify(row) : 'none', 'EX', row ? ttl : 30);",
		"ruby":   "redis.set(key, row ? row.to_json : 'none', ex: row ? ttl : 30)",
	}
	return lang, code[lang]
}
