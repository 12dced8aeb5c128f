package ttlhist

import "regexp"

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

// A KindRule gives a kind to all keys whose pattern matches.
type KindRule struct {
	Kind  Kind
	Match *regexp.Regexp // matched against the pattern, unanchored
}
