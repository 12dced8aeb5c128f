package cache

import (
	"bytes"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// envFormat reads .env files for what is kept in which Redis.
//
// Laravel's defaults (config/database.php): the cache uses database
// REDIS_CACHE_DB (1), queues and sessions REDIS_DB (0), all on REDIS_HOST.
type envFormat struct{}

func (envFormat) Name() string { return "env" }

func (envFormat) Match(name string, head []byte) bool {
	base := path.Base(name)
	return (base == ".env" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env")) &&
		!strings.Contains(base, "test") && bytes.Contains(bytes.ToLower(head), []byte("redis"))
}

// A Store is what one Redis is used for in one file, the Value of a
// lint.Setting.
type Store struct {
	Uses   []StoreUse
	Sample bool // an example file: nobody runs it as it is
}

// A StoreUse is one use of a Redis.
type StoreUse struct {
	Role   string // "cache", "queue" or "session"
	Server string // host:port as far as known; equal for the same server
	DB     string // number; "?" when not known
	At     lint.Span
}

// An envVar is one line NAME=value.
type envVar struct {
	name, value string
	at          lint.Span
}

var envLine = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$`)

func readEnv(f *lint.File) map[string]envVar {
	vars := make(map[string]envVar)
	for n := 1; n <= f.Lines(); n++ {
		span := f.LineSpan(n)
		m := envLine.FindStringSubmatchIndex(f.Text(span))
		if m == nil {
			continue
		}
		line := f.Text(span)
		value := line[m[4]:m[5]]
		if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		name := line[m[2]:m[3]]
		vars[name] = envVar{name, strings.Trim(value, `"'`), lint.Span{Start: span.Start + m[2], End: span.Start + m[5]}}
	}
	return vars
}

func (envFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	vars := readEnv(f)
	base := path.Base(f.Name)
	s := &Store{
		Uses:   append(laravelUses(vars), urlUses(f, vars)...),
		Sample: strings.Contains(base, "example") || strings.Contains(base, "sample") || strings.Contains(base, "dist"),
	}
	if len(s.Uses) < 2 {
		return nil, nil
	}
	return &lint.Parsed{Settings: []*lint.Setting{{
		File: f, Format: "env", Span: s.Uses[0].At, Subject: "Redis", Identity: "redis roles", Value: s,
	}}}, nil
}

// laravelUses reads the drivers of a Laravel application.
func laravelUses(vars map[string]envVar) []StoreUse {
	or := func(names ...string) string {
		for _, n := range names {
			if v, ok := vars[n]; ok && v.value != "" {
				return v.value
			}
		}
		return ""
	}
	server := or("REDIS_HOST", "REDIS_URL") + ":" + or("REDIS_PORT")
	db := cmpOr(or("REDIS_DB"), "0")
	var uses []StoreUse
	add := func(role, server, db string, names ...string) {
		for _, n := range names {
			if v := vars[n]; strings.EqualFold(v.value, "redis") {
				uses = append(uses, StoreUse{Role: role, Server: server, DB: db, At: v.at})
				return
			}
		}
	}
	cacheServer := server
	if host := or("REDIS_CACHE_HOST", "REDIS_CACHE_URL"); host != "" {
		cacheServer = host + ":" + cmpOr(or("REDIS_CACHE_PORT"), or("REDIS_PORT"))
	}
	queueServer := server
	if host := or("REDIS_QUEUE_HOST", "REDIS_QUEUE_URL"); host != "" {
		queueServer = host + ":" + cmpOr(or("REDIS_QUEUE_PORT"), or("REDIS_PORT"))
	}
	add("cache", cacheServer, cmpOr(or("REDIS_CACHE_DB"), "1"), "CACHE_STORE", "CACHE_DRIVER")
	add("queue", queueServer, cmpOr(or("REDIS_QUEUE_DB"), db), "QUEUE_CONNECTION", "QUEUE_DRIVER")
	add("session", cmpOr(or("REDIS_SESSION_HOST"), server), cmpOr(or("REDIS_SESSION_DB"), db), "SESSION_DRIVER")
	return uses
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// roles say what a variable with a Redis URL is for, by its name.
var roles = []struct {
	role string
	name *regexp.Regexp
}{
	{"queue", regexp.MustCompile(`(^|_)(BROKER|CELERY|QUEUE|SIDEKIQ|RESQUE|BULL|BULLMQ|RQ|JOBS?|HUEY|DRAMATIQ|MESSENGER|LOCK|LOCKS)(_|$)`)},
	{"session", regexp.MustCompile(`(^|_)SESSIONS?(_|$)`)},
	{"cache", regexp.MustCompile(`(^|_)(CACHE|CACHES)(_|$)`)},
}

// urlUses reads variables such as CACHE_URL=redis://host:6379/1.
func urlUses(f *lint.File, vars map[string]envVar) []StoreUse {
	var uses []StoreUse
	for _, m := range sortedVars(vars) {
		if !strings.HasPrefix(m.value, "redis://") && !strings.HasPrefix(m.value, "rediss://") {
			continue
		}
		u, err := url.Parse(m.value)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "$") {
			continue
		}
		for _, r := range roles {
			if r.name.MatchString(strings.ToUpper(m.name)) {
				db := strings.Trim(u.Path, "/")
				uses = append(uses, StoreUse{
					Role: r.role, Server: u.Hostname() + ":" + cmpOr(u.Port(), "6379"), DB: cmpOr(db, "0"), At: m.at,
				})
				break
			}
		}
	}
	return uses
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
