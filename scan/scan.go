// Package scan is where cache keys come from: a live Redis (alone, behind Sentinel or as a Cluster), an RDB file,
// memcached, a list of keys. Every source streams keys with the absolute time at which they expire; none keeps them.
package scan

import (
	"context"
	"time"
)

// NoExpiry is the value of Key.ExpireMS for a key that never expires.
const NoExpiry int64 = -1

// Key is one key of a cache. It and the bytes of its name are valid only until the next call of yield; whoever
// wants to keep them copies them.
type Key struct {
	// Name is the key as raw bytes: it may hold line breaks, escapes and invalid UTF-8.
	Name []byte
	// DB is the number of the logical database, 0 where the source has none.
	DB int
	// ExpireMS is the absolute expiry in Unix milliseconds by the server's clock, or NoExpiry.
	ExpireMS int64
	// TTL is the original time to live where the source knows it, else 0.
	TTL time.Duration
	// Idle is the time since the last access, if HasIdle.
	Idle time.Duration
	// HasIdle tells whether Idle is known.
	HasIdle bool
	// Freq is the logarithmic access counter of an LFU policy (0-255), if HasFreq.
	Freq uint8
	// HasFreq tells whether Freq is known.
	HasFreq bool
	// Type is the type by its Redis name ("string", "hash" ...), or "" when unknown.
	Type string
	// FieldExpireMS is the earliest expiry of a hash field in Unix milliseconds, 0 for none or unknown.
	FieldExpireMS int64
}

// Source is a cache whose keys can be read.
type Source interface {
	// Keys calls yield once for each key, in any order, from one goroutine at a time. It stops at the first error of
	// yield and returns that error as it is. When ctx ends it returns soon, with an error that wraps ctx.Err(). Any
	// other error means that not all keys were read; those that were have been yielded.
	Keys(ctx context.Context, yield func(*Key) error) error
	// Size is the number of keys to be expected, for progress and plausibility; 0 when the source cannot know.
	Size(ctx context.Context) (uint64, error)
	// String names the source for humans. It never holds a secret.
	String() string
}

// KeyRef names one key of a source.
type KeyRef struct {
	Name []byte
	DB   int
}

// Clone returns a copy of k that stays valid.
func (k *Key) Clone() Key {
	c := *k
	c.Name = append([]byte(nil), k.Name...)
	return c
}

// Ref returns a copy of the name of k that stays valid.
func (k *Key) Ref() KeyRef {
	return KeyRef{Name: append([]byte(nil), k.Name...), DB: k.DB}
}
