package scan

import "time"

// Coverage says how much of one part of a source (a server, a shard, a file) was read by the last call of Keys.
type Coverage struct {
	Name string // safe to print
	Read uint64 // keys yielded
	// Total is the number of keys the part said it holds (the larger of before and after the scan), 0 if unknown.
	Total uint64
	// Vanished counts keys that were listed but gone when their expiry was asked for. They are not yielded.
	Vanished uint64
	// Duplicates counts keys that were listed again and dropped.
	Duplicates uint64
	// Expired counts keys that were listed but had expired by the source's own clock. They are not yielded.
	Expired uint64
	// Skipped counts records that were not understood. The first of them are among Errors, with their positions.
	Skipped uint64
	// Denied counts keys whose expiry the server refused to tell (ACL). They are not yielded.
	Denied uint64
	// Errors tells what went wrong, in the order of events.
	Errors []error
	// Complete is true when the part was walked to its end without an error.
	Complete bool
	// Sampled is the share of the key space that was read on purpose: 1 for all, less for a sample.
	Sampled float64
	// Notes are plain sentences about this part that a reader of the result should know.
	Notes []string
}

// Coverer is implemented by sources that can tell how much was read, part by part, after Keys returned.
type Coverer interface {
	Coverage() []Coverage
}

// Info is what a server tells about itself. Fields it did not tell are zero; Missing names the reasons.
type Info struct {
	// Kind is the product: redis, valkey, keydb, dragonfly, garnet, kvrocks, memcached.
	Kind string
	// Version is the product's own version.
	Version string
	// Role is master or slave, as the server says it; "" when unknown.
	Role string
	// Mode is standalone, cluster or sentinel.
	Mode string
	// Replicas is the number of replicas connected to a primary.
	Replicas int
	replicas []string // addresses of those in step
	// Policy is the maxmemory-policy.
	Policy string
	// MaxMemory is the limit in bytes, 0 for none.
	MaxMemory uint64
	// UsedMemory is in bytes.
	UsedMemory uint64
	// Hits and Misses are the keyspace counters since the server's start.
	Hits, Misses uint64
	// Evicted and Expired count removed keys since the server's start.
	Evicted, Expired uint64
	// Now is the server's clock when the answer was made. Of a Redis that does not tell it, it is this machine's, and
	// Missing says so; zero elsewhere.
	Now time.Time
	// DBs maps the number of each non-empty database to its keys and to those of them with an expiry.
	DBs map[int]DBInfo
	// Missing names what the server refused or lacks, for example "info: the user lacks the permission".
	Missing []string
	// Warnings are sentences about the harm a scan may do here.
	Warnings []string
}

// DBInfo counts the keys of one logical database.
type DBInfo struct {
	Keys, Expires uint64
	// FieldExpires is the number of hashes of which a field expires; 0 if the server does not tell.
	FieldExpires uint64
}

// Impact is what the last scan cost the server.
type Impact struct {
	Duration time.Duration
	// Keys is the number of keys read and Pages the number of SCAN calls.
	Keys, Pages uint64
	// ServerPerPage is the server's time for one page (SCAN and the expiries of its keys): by the server's own
	// commandstats if it tells them (ByServer), else the time of the answer less the round trip of a PING.
	ServerPerPage time.Duration
	ByServer      bool
	// PageKeys is the number of keys that the last page asked for (COUNT).
	PageKeys int
	// Chains is the number of cursors that walked in parallel, at most.
	Chains int
	// HitsAdded is how many keyspace hits the scan itself caused (each expiry read counts as one).
	HitsAdded uint64
	// Rested is the time spent waiting to keep the load low, summed over the parts of the source.
	Rested time.Duration
	// RestShare is Rested divided by the whole time of all parts, 0-1.
	RestShare float64
	// PingIdle is the median PING before the scan; PingScan the median during it; zero when not measured.
	PingIdle, PingScan time.Duration
	// Backoffs counts how often the latency guard slowed the scan down.
	Backoffs int
	// Warnings are sentences about side effects, such as expired keys deleted on a primary.
	Warnings []string
}
