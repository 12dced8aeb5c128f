package attribute

import "github.com/herdscan/herdscan/comb/rule"

// Rules returns the documentation of what attribution can say about the
// sources, HS601 to HS604.
func Rules() []rule.Rule {
	return []rule.Rule{
		{
			ID: "HS601", Name: "sources-disagree", Severity: rule.Note,
			Title: "two sources contradict each other",
			Why: "The log shows keys that die together and the cache shows those keys spread, or a schedule fits the teeth only on another clock. " +
				"One of the two is not what it is taken for: another cache, a snapshot from another time, another time zone. A cause found on such ground is not safe.",
			Decided: "A comb whose best cause is a TTL, and a key pattern that is named like its statements, whose expiries are no denser in the teeth than " +
				"between them. Or a schedule of two hours and more, with the period of the comb, that fires at every tooth once its clock is moved by whole quarter hours.",
			Before: "comb of 30m 0.8s on SELECT ... FROM products\nproduct:*  4,000 keys, spread over 30 minutes",
			After:  "the same comb, read with a snapshot of the cache that this application uses",
			See:    []string{"HS401", "HS501", "HS602"},
		},
		{
			ID: "HS602", Name: "source-missing", Severity: rule.Note,
			Title: "a source that could decide was not given",
			Why: "One source alone seldom proves a cause: a log shows when, a cache shows what, a crontab shows who. The cause named is then " +
				"the best of those that the log alone speaks for.",
			Decided: "The sources that were not given (cache, schedules, retry settings, events, log) against the kinds of cause that are still possible. " +
				"It is not said where independent sources agree already.",
			Before: "herdscan report slow.log",
			After:  "herdscan report slow.log --redis redis://cache-1:6379 deploy/",
			See:    []string{"HS501", "HS601"},
		},
		{
			ID: "HS603", Name: "suspect-cleared", Severity: rule.Note,
			Title: "a suspect was looked at and does not fit",
			Why:   "Most hours of an incident go to suspects that had nothing to do with it. Why they are out is worth as much as who is in.",
			Decided: "A schedule is cleared when the teeth drift against its fires (more than 4 standard errors and two of the log's time steps over the whole train), " +
				"when most teeth come without a fire, or when most fires come without a tooth. A key pattern is cleared when its TTL is longer than the period, or shorter by more than " +
				"a rebuild, or when its keys are spread. A retry policy is cleared when its waits are random, longer than the period, or shorter by more than an attempt.",
			Before: "deploy/crontab:7 fires at :00, so it must be the comb at :00",
			After:  "not deploy/crontab:7: it fires every 60m, but the teeth drift 2.7 s an hour against it",
			See:    []string{"HS501", "HS110"},
		},
		{
			ID: "HS604", Name: "remedy-conflicts", Severity: rule.Note,
			Title: "a remedy conflicts with the configuration seen",
			Why: "A lock without a lease, an eviction policy that drops locks with blobs, a retry that multiplies the refill: a cure that meets these " +
				"is a new incident.",
			Decided: "The remedies proposed for a herd against the findings about the cache and the configuration that were read (HS402, HS403, HS2xx, HS3xx).",
			Before:  "remedy: a lock in Redis\nHS403: maxmemory-policy allkeys-lru may evict lock:*",
			After:   "the lock in a Redis of its own with maxmemory-policy noeviction",
			See:     []string{"HS402", "HS403"},
		},
	}
}
