package ttlhist

import "time"

// A Source describes where keys of a Summary came from. Zero values mean
// unknown.
type Source struct {
	Name       string        // as the user gave it, without secrets
	Kind       string        // "redis", "rdb", "memcached"
	Now        time.Time     // the source's own clock at the snapshot
	From, To   time.Time     // start and end of the scan, by the source's clock
	Resolution time.Duration // of its deadlines: 1 ms for Redis, 1 s for memcached; 0: 1 ms
	Total      uint64        // keys the source says it has
	Read       uint64        // keys read
	Vanished   uint64        // gone between SCAN and the question for their TTL
	Duplicates uint64
	Errors     []string
	Partial    bool // interrupted or cut short
	Version    string
	Role       string
	MaxMemory  uint64 // bytes; 0: no limit (if Policy is known)
	Policy     string // maxmemory-policy; "": unknown
}
