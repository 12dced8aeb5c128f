package cache

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// springCacheFormat reads from Spring Boot's configuration whether cache and
// sessions share the one spring.data.redis.
type springCacheFormat struct{}

func (springCacheFormat) Name() string { return "spring-cache" }

func (springCacheFormat) Match(name string, head []byte) bool {
	switch path.Ext(name) {
	case ".yml", ".yaml", ".properties":
	default:
		return false
	}
	return bytes.Contains(head, []byte("spring")) && bytes.Contains(head, []byte("cache")) &&
		bytes.Contains(head, []byte("session")) && bytes.Contains(head, []byte("redis"))
}

func (springCacheFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := springTree(f)
	out := new(lint.Parsed)
	for _, d := range docs {
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

func springTree(f *lint.File) ([]*conf.Node, error) {
	if path.Ext(f.Path) == ".properties" {
		return []*conf.Node{conf.Properties(f)}, nil
	}
	docs, err := conf.YAML(f)
	for i := range docs {
		docs[i] = docs[i].Nested()
	}
	return docs, err
}

// sortedVars returns the variables in the file's order.
func sortedVars(vars map[string]envVar) []envVar {
	out := make([]envVar, 0, len(vars))
	for _, v := range vars {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b envVar) int { return a.at.Start - b.at.Start })
	return out
}
