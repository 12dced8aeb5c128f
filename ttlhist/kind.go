package ttlhist

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind says what keys are used for, as far as it changes what their joint
// expiry means.
type Kind int

// The kinds of keys. Data is the kind of keys of which nothing is known.
const (
	Data Kind = iota
	Cache
	Session
	Counter // rate limits, quotas, hit counters: nothing refills them from a database
	LockKey
	Queue
)

// String returns the kind in lower case: "data", "cache", "session",
// "counter", "lock" or "queue".
func (k Kind) String() string {
	return [...]string{"data", "cache", "session", "counter", "lock", "queue"}[k]
}

// refills tells whether the death of such keys makes somebody ask the source
// again.
func (k Kind) refills() bool { return k == Data || k == Cache || k == Session }

// A KindRule gives a kind to all keys whose pattern matches.
type KindRule struct {
	Kind  Kind
	Match *regexp.Regexp // matched against the pattern, unanchored
}

// kindWords are the words that give a kind away, in the order in which they
// are tried: "cache:lock:*" is a lock.
var kindWords = []struct {
	kind  Kind
	words []string
}{
	{LockKey, []string{"lock", "locks", "mutex", "mutexes", "lease", "leases", "semaphore", "semaphores", "redlock", "shedlock", "dlock"}},
	{Counter, []string{"rl", "ratelimit", "ratelimits", "ratelimiter", "limiter", "throttle", "throttles", "throttled", "quota", "quotas", "attempts", "counter", "counters", "hits", "flood"}},
	{Queue, []string{"queue", "queues", "bull", "bullmq", "celery", "kombu", "resque", "rq", "sidekiq", "arq", "dramatiq", "huey", "jobs", "jobqueue", "taskqueue"}},
	{Session, []string{"sess", "session", "sessions", "sid", "token", "tokens"}},
	{Cache, []string{"cache", "caches", "cached", "html", "page", "pages", "frag", "frags", "fragment", "fragments", "memoize", "memoized"}},
}

// kindPairs are neighbouring words that give a kind away.
var kindPairs = []struct {
	kind          Kind
	first, second string
}{
	{LockKey, "framework", "schedule"}, // Laravel's mutex of a scheduled task
	{LockKey, "leader", "election"},
	{Counter, "rate", "limit"},
	{Counter, "rate", "limits"},
	{Counter, "rate", "limiter"},
	{Counter, "rack", "attack"},
}

// kindOf returns the kind of a pattern and why.
func kindOf(pattern string, types map[string]uint64, noTTL uint64, rules []KindRule) (Kind, string) {
	for _, r := range rules {
		if r.Match.MatchString(pattern) {
			return r.Kind, "rule " + r.Match.String()
		}
	}
	words := wordsOf(pattern)
	for _, p := range kindPairs {
		for i := 0; i+1 < len(words); i++ {
			if words[i] == p.first && words[i+1] == p.second {
				return p.kind, fmt.Sprintf("words %q in the pattern", p.first+" "+p.second)
			}
		}
	}
	for _, k := range kindWords {
		for _, w := range words {
			if slices.Contains(k.words, w) {
				return k.kind, fmt.Sprintf("word %q in the pattern", w)
			}
		}
	}
	if noTTL > 0 && types["list"]+types["stream"] > 0 {
		return Queue, "lists or streams without a TTL"
	}
	return Data, ""
}

// wordsOf returns the words of a pattern in lower case. Camel case separates
// words.
func wordsOf(pattern string) []string {
	var words []string
	start := 0
	flush := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(pattern[start:end]))
		}
		start = end
	}
	for i := range len(pattern) {
		c := byteClass[pattern[i]]
		switch {
		case c&(minor|major|control) != 0:
			flush(i)
			start = i + 1
		case c&upper != 0 && i > start && byteClass[pattern[i-1]]&lower != 0:
			flush(i)
		}
	}
	flush(len(pattern))
	return words
}
