package cache

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/code"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// ttlFormat finds cache writes with a literal lifetime in source code. It is
// asked for (OptIn "code").
type ttlFormat struct{}

func (ttlFormat) Name() string { return "code-ttl" }

func (ttlFormat) OptIn() string { return "code" }

// A TTL is one write with a literal lifetime, the Value of a lint.Setting.
type TTL struct {
	Lang   code.Language
	Value  time.Duration
	At     lint.Span
	All    bool // it is the lifetime of everything in the cache
	Spread bool // the library spreads it or serves stale by itself
}

// A setter is a call that writes into a cache, and where its lifetime stands.
type setter struct {
	lang code.Language
	head *regexp.Regexp
	keys []string // keyword arguments
	pos  int      // or the position, from 0; -1: none
	flag string   // or the argument behind this flag
	all  bool     // the default of a whole cache
}

var setters = []setter{
	{lang: code.Python, head: regexp.MustCompile(`\bcache\.(?:set|add|get_or_set)\s*\(`), keys: []string{"timeout"}, pos: 2},
	{lang: code.Python, head: regexp.MustCompile(`\bcache_page\s*\(`), pos: 0},
	{lang: code.Python, head: regexp.MustCompile(`\.setex\s*\(`), keys: []string{"time"}, pos: 1},
	{lang: code.Python, head: regexp.MustCompile(`\b(?:redis|r|rdb|redis_client|client|conn)\.set\s*\(`), keys: []string{"ex"}, pos: -1},
	{lang: code.PHP, head: regexp.MustCompile(`\bCache::(?:remember|add)\s*\(`), keys: []string{"ttl"}, pos: 1},
	{lang: code.PHP, head: regexp.MustCompile(`\bCache::put\s*\(`), keys: []string{"ttl"}, pos: 2},
	{lang: code.Ruby, head: regexp.MustCompile(`\bcache\.(?:fetch|write)\s*\(`), keys: []string{"expires_in"}, pos: -1},
	{lang: code.Ruby, head: regexp.MustCompile(`\bcache_store\s*=\s*:\w+,[^\n{]*\{`), keys: []string{"expires_in"}, pos: -1, all: true},
	{lang: code.Python, head: regexp.MustCompile(`(?s)\bCACHES\s*=\s*\{.{0,200}?["']default["']\s*:\s*\{`), keys: []string{"TIMEOUT"}, pos: -1, all: true},
	{lang: code.Script, head: regexp.MustCompile(`\.setex\s*\(`), pos: 1},
	{lang: code.Script, head: regexp.MustCompile(`\b(?:redis|redisClient|client|cache)\.set\s*\(`), pos: -1, flag: "EX"},
	{lang: code.Java, head: regexp.MustCompile(`\.entryTtl\s*\(`), pos: 0},
	{lang: code.Go, head: regexp.MustCompile(`\b(?:rdb|redis|client|cache|c\.rdb|c\.redis|s\.redis)\.(?:Set|SetEx|SetNX)\s*\(`), pos: 3},
}

func (ttlFormat) Match(name string, head []byte) bool {
	lang := code.Of(name)
	if code.Test(name) {
		return false
	}
	for _, s := range setters {
		if s.lang == lang && s.head.Match(head) {
			return true
		}
	}
	return false
}

func (ttlFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	src := code.Read(f)
	out := new(lint.Parsed)
	for _, s := range setters {
		if s.lang != src.Lang {
			continue
		}
		for _, c := range src.Calls(s.head) {
			a, ok := s.lifetime(src, &c)
			if !ok {
				continue
			}
			ttl, ok := literalTTL(a.Value)
			if !ok || ttl <= 0 {
				continue
			}
			_, race := c.Get("race_condition_ttl")
			out.Settings = append(out.Settings, &lint.Setting{
				File: f, Format: "code-ttl", Span: a.Span, Subject: "cache TTL " + ttl.String(),
				Identity: "ttl " + string(src.Lang) + " " + ttl.String(),
				Value:    &TTL{Lang: src.Lang, Value: ttl, At: a.Span, All: s.all, Spread: race},
			})
		}
	}
	return out, nil
}

// lifetime finds the argument that holds the lifetime.
func (s setter) lifetime(src *code.Source, c *code.Call) (code.Arg, bool) {
	for _, k := range s.keys {
		if a, ok := c.Get(k); ok {
			return a, true
		}
	}
	if s.flag != "" {
		return flagged(src, c, s.flag)
	}
	if s.pos >= 0 {
		return c.Pos(s.pos)
	}
	return code.Arg{}, false
}

// flagged finds "'EX', 3600" or "{ EX: 3600 }" among the arguments.
func flagged(src *code.Source, c *code.Call, flag string) (code.Arg, bool) {
	for i, a := range c.Args {
		if strings.EqualFold(strings.Trim(a.Value, `'"`), flag) && i+1 < len(c.Args) {
			return c.Args[i+1], true
		}
		if o, ok := src.Object(a); ok {
			if member, has := o.Get(flag); has {
				return member, true
			}
		}
	}
	return code.Arg{}, false
}

var (
	ttlProduct = regexp.MustCompile(`^\d[\d_]*(?:\s*\*\s*\d[\d_]*)*$`)
	ttlUnit    = regexp.MustCompile(`^(?:now\(\)->add|Duration\.of)?(\d*)\.?(Seconds?|Minutes?|Hours?|Days?|seconds?|minutes?|hours?|days?)\(?(\d*)\)?$`)
	goTTL      = regexp.MustCompile(`^(?:(\d+)\s*\*\s*)?time\.(Second|Minute|Hour)$`)
)

// literalTTL reads "60 * 15", "15.minutes", "now()->addMinutes(15)",
// "Duration.ofMinutes(15)" and "15 * time.Minute".
func literalTTL(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if ttlProduct.MatchString(text) {
		return product(text, time.Second)
	}
	if m := goTTL.FindStringSubmatch(text); m != nil {
		return product(orOne(m[1]), ttlUnits[strings.ToLower(m[2])])
	}
	if m := ttlUnit.FindStringSubmatch(text); m != nil && (m[1] == "") != (m[3] == "") {
		return product(m[1]+m[3], ttlUnits[strings.TrimSuffix(strings.ToLower(m[2]), "s")])
	}
	return 0, false
}

var ttlUnits = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

func orOne(s string) string {
	if s == "" {
		return "1"
	}
	return s
}

// product multiplies whole numbers with a unit; not beyond ten years.
func product(text string, unit time.Duration) (time.Duration, bool) {
	total := unit
	for part := range strings.SplitSeq(text, "*") {
		n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(part), "_", ""), 10, 32)
		if err != nil || n > 0 && total > 10*365*24*time.Hour/time.Duration(n) {
			return 0, false
		}
		total *= time.Duration(n)
	}
	return total, true
}
