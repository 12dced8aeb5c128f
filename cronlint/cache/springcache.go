package cache

import (
	"bytes"
	"path"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// springCacheFormat reads from Spring Boot's configuration whether cache and
// sessions share the one spring.data.redis, and the one lifetime of all caches.
type springCacheFormat struct{}

func (springCacheFormat) Name() string { return "spring-cache" }

func (springCacheFormat) Match(name string, head []byte) bool {
	switch path.Ext(name) {
	case ".yml", ".yaml", ".properties":
	default:
		return false
	}
	return bytes.Contains(head, []byte("spring")) && bytes.Contains(head, []byte("cache")) && bytes.Contains(head, []byte("redis"))
}

func (springCacheFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := conf.Spring(f)
	out := new(lint.Parsed)
	for _, d := range docs {
		if n := d.Relaxed("spring", "cache", "redis", "time-to-live"); n != nil {
			if ttl, ok := n.Duration(time.Millisecond); ok && ttl > 0 {
				out.Settings = append(out.Settings, &lint.Setting{
					File: f, Format: "spring-cache", Span: conf.Where(n), Subject: "spring.cache.redis", Identity: "spring.cache.redis.time-to-live",
					Value: &TTL{Value: ttl, At: conf.Where(n), All: true},
				})
			}
		}
		kind := d.Relaxed("spring", "cache", "type")
		session := d.Relaxed("spring", "session", "store-type")
		if !strings.EqualFold(kind.Text(), "redis") || !strings.EqualFold(session.Text(), "redis") {
			continue
		}
		s := &Store{Uses: []StoreUse{
			{Role: "cache", Server: "spring.data.redis", DB: "0", At: conf.Where(kind)},
			{Role: "session", Server: "spring.data.redis", DB: "0", At: conf.Where(session)},
		}}
		out.Settings = append(out.Settings, &lint.Setting{
			File: f, Format: "spring-cache", Span: s.Uses[0].At, Subject: "Redis", Identity: "redis roles", Value: s,
		})
	}
	return out, err
}
