package ttlhist

import "time"

// A Source describes where keys of a Summary came from: one server, shard or
// file. Zero values mean unknown.
type Source struct {
	Name       string        `json:"name"`           // as the user gave it, without secrets
	Kind       string        `json:"kind,omitempty"` // "redis", "rdb", "memcached"
	Now        time.Time     `json:"now"`            // the source's own clock at the snapshot
	From       time.Time     `json:"from"`           // start and end of the scan, by the source's clock
	To         time.Time     `json:"to"`
	Resolution time.Duration `json:"resolution_ns,omitempty"` // of its deadlines: 1 ms for Redis, 1 s for memcached; 0: 1 ms
	Total      uint64        `json:"total"`                   // keys the source says it has
	Read       uint64        `json:"read"`
	Vanished   uint64        `json:"vanished,omitempty"` // gone between SCAN and the question for their TTL
	Duplicates uint64        `json:"duplicates,omitempty"`
	Expired    uint64        `json:"expired,omitempty"` // listed but past their deadline
	Skipped    uint64        `json:"skipped,omitempty"` // records not understood
	Denied     uint64        `json:"denied,omitempty"`  // the server refused to tell their TTL
	Sampled    float64       `json:"sampled,omitempty"` // share of the keyspace read on purpose; 0 or 1: all
	Partial    bool          `json:"partial,omitempty"` // interrupted or cut short
	Errors     []string      `json:"errors,omitempty"`
	Notes      []string      `json:"notes,omitempty"`
	Version    string        `json:"version,omitempty"`
	Role       string        `json:"role,omitempty"`
	Policy     string        `json:"policy,omitempty"`    // maxmemory-policy; "": unknown
	MaxMemory  uint64        `json:"maxmemory,omitempty"` // bytes; 0: no limit (if Policy is known)
}
