package report

import (
	"fmt"
	"math"

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
