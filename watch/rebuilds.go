package watch

import (
	"net"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/scan"
)

const (
	// maxReads bounds the reads of one key, and maxFollowed the keys, that a sample of MONITOR follows.
	maxReads    = 4096
	maxFollowed = 20_000
)

// A Sample looks for stampedes in the commands that MONITOR shows. MONITOR
// shows no answers, so a death of a key is concluded: it is read and not
// written for a while, and then written many times in a row, by connections
// that have read it before. Who read it within the time of a rebuild before the
// first write has missed it. That time is told by two things, and the longer
// counts: how long ago the writers have read the key, unless a pool has handed
// their connections to others meanwhile; and how long the row of writes is,
// where readers come one after the other: the first who finds nothing writes
// first, and the last one reads just before that write.
type Sample struct {
	Commands uint64
	Left     uint64 // commands on keys beyond those followed

	offset time.Duration // server's clock less ours
	began  time.Time
	keys   map[keyID]*keyReads
}

// keyReads is what one key went through.
type keyReads struct {
	reads   []read               // since the last write, the latest maxReads
	readers map[string]time.Time // last read of each connection
	written time.Time
	death   *death
}

type read struct {
	at     time.Time
	client string
}

// death is a row of writes after a calm.
type death struct {
	calm        time.Duration // without a write before the first
	first, last time.Time     // writes
	writes      int
	waits       []time.Duration // of writers that have read the key: since then
	writers     map[string]bool
	reads       []read // in the calm
}

// writeGap is the longest pause within a row of writes.
const writeGap = 500 * time.Millisecond

// minWriters is how many connections must take part in a stampede.
const minWriters = 10

// NewSample returns an empty one that begins at a time of this machine's
// clock. offset is the server's clock less ours.
func NewSample(began time.Time, offset time.Duration) *Sample {
	return &Sample{offset: offset, began: began, keys: make(map[keyID]*keyReads)}
}

// Add takes one command.
func (s *Sample) Add(c *scan.Command) {
	s.Commands++
	if c.Client == "lua" || len(c.Args) < 2 {
		return
	}
	name := strings.ToLower(string(c.Args[0]))
	if step := readStep(name); step > 0 {
		for i := 1; i < len(c.Args); i += step {
			s.read(keyID{c.DB, string(c.Args[i])}, c)
			if step == one {
				break
			}
		}
		return
	}
	if step := writeStep(name, c.Args); step > 0 {
		for i := 1; i < len(c.Args); i += step {
			s.write(keyID{c.DB, string(c.Args[i])}, c)
			if step == one {
				break
			}
		}
	}
}

// one is the step of commands with a single key.
const one = 1 << 20

// readStep says how far apart the keys of a reading command are; 0: it is none.
func readStep(name string) int {
	switch name {
	case "get", "getex", "hget", "hmget", "hgetall", "json.get":
		return one
	case "mget", "json.mget":
		return 1
	}
	return 0
}

// writeStep says the same of commands that fill a cache. SET NX is a lock or a
// claim: the value is not computed for it.
func writeStep(name string, args [][]byte) int {
	switch name {
	case "set":
		if slices.ContainsFunc(args[min(len(args), 3):], func(a []byte) bool { return strings.EqualFold(string(a), "nx") }) {
			return 0
		}
		return one
	case "setex", "psetex", "hset", "hmset", "json.set":
		return one
	case "mset", "json.mset":
		return 2
	}
	return 0
}

func (s *Sample) read(id keyID, c *scan.Command) {
	k := s.keys[id]
	if k == nil {
		if len(s.keys) >= maxFollowed {
			s.Left++
			return
		}
		k = &keyReads{readers: make(map[string]time.Time)}
		s.keys[id] = k
	}
	if len(k.reads) == maxReads { // the first half is of no use any more
		k.reads = k.reads[:copy(k.reads, k.reads[maxReads/2:])]
	}
	at := c.At.Add(-s.offset)
	k.reads = append(k.reads, read{at, c.Client})
	if _, known := k.readers[c.Client]; known || len(k.readers) < maxReads {
		k.readers[c.Client] = at
	}
}

func (s *Sample) write(id keyID, c *scan.Command) {
	k := s.keys[id]
	if k == nil {
		return // nobody has read it
	}
	at := c.At.Add(-s.offset)
	d := k.death
	if d == nil || at.Sub(d.last) > writeGap {
		from := k.written
		if from.IsZero() {
			from = s.began
		}
		next := &death{calm: at.Sub(from), first: at, writers: make(map[string]bool), reads: k.reads}
		k.reads = nil
		k.written = at
		if d != nil {
			if _, told := d.rebuild(id, at); told {
				return // what was seen says more than a later write
			}
		}
		d = next
		k.death = d
	}
	d.last, k.written = at, at
	d.writes++
	if asked, known := k.readers[c.Client]; known && len(d.waits) < maxReads {
		d.waits = append(d.waits, at.Sub(asked))
	}
	if len(d.writers) < maxReads {
		d.writers[c.Client] = true
	}
}

// rebuild tells what a death was, and whether it was one with several
// rebuilds.
func (d *death) rebuild(id keyID, now time.Time) (Rebuild, bool) {
	span := d.last.Sub(d.first)
	if len(d.writers) < minWriters || len(d.waits)*2 < min(d.writes, maxReads) || d.calm < span/2 {
		return Rebuild{}, false
	}
	waits := slices.Sorted(slices.Values(d.waits))
	took := max(span, waits[len(waits)/2])
	r := Rebuild{DB: id.db, Key: id.key, From: d.first, Written: d.writes, Took: took}
	reach := took + took/5 + 10*time.Millisecond
	asked := make(map[string]bool)
	for _, x := range d.reads {
		if d.first.Sub(x.at) > reach {
			continue
		}
		if x.at.Before(r.From) {
			r.From = x.at
		}
		r.Missed++
		asked[x.client] = true
	}
	r.Clients, r.Hosts = len(asked), hosts(asked)
	if now.Sub(d.last) <= writeGap {
		r.InFlight = max(0, r.Missed-r.Written)
	}
	return r, true
}

// Rebuilds are the keys that were missed by several clients at once, those
// with the most writes first. now is the time of this machine's clock up to
// which the sample has seen.
func (s *Sample) Rebuilds(now time.Time) []Rebuild {
	var out []Rebuild
	for id, k := range s.keys {
		if k.death == nil {
			continue
		}
		if r, ok := k.death.rebuild(id, now); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Rebuild) int {
		if a.Written != b.Written {
			return b.Written - a.Written
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out
}

// hosts counts the addresses that connections came from.
func hosts(clients map[string]bool) int {
	seen := make(map[string]bool)
	for c := range clients {
		host, _, err := net.SplitHostPort(c)
		if err != nil {
			host = c
		}
		seen[host] = true
	}
	return len(seen)
}
