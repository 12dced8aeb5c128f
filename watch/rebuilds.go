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
// shows no answers, so a miss is concluded: a client that reads a key and then
// writes it has not found it, and neither have the others who read it between
// that read and the first write.
type Sample struct {
	Commands uint64
	Left     uint64 // commands on keys beyond those followed

	offset time.Duration // server's clock less ours
	keys   map[keyID]*keyReads
}

// keyReads is what one key went through.
type keyReads struct {
	open  map[string]time.Time // reads by connection, not followed by a write of it
	death *death
}

// death is the time from the first read that found nothing.
type death struct {
	from, written time.Time // first read and first write
	asked         map[string]bool
	waiting       map[string]time.Time
	writes        int
	longest       time.Duration
}

// NewSample returns an empty one. offset is the server's clock less ours.
func NewSample(offset time.Duration) *Sample {
	return &Sample{offset: offset, keys: make(map[keyID]*keyReads)}
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
	case "get", "getex", "hget", "hmget", "hgetall", "json.get", "lrange", "smembers", "zrange":
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
	case "setex", "psetex", "hset", "hmset", "json.set", "rpush", "sadd", "zadd":
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
		k = &keyReads{open: make(map[string]time.Time)}
		s.keys[id] = k
	}
	if _, waits := k.open[c.Client]; !waits && len(k.open) < maxReads {
		k.open[c.Client] = c.At.Add(-s.offset)
	}
}

func (s *Sample) write(id keyID, c *scan.Command) {
	k := s.keys[id]
	if k == nil {
		return
	}
	at := c.At.Add(-s.offset)
	asked, waited := k.open[c.Client]
	delete(k.open, c.Client)
	if d := k.death; d != nil {
		if from, waiting := d.waiting[c.Client]; waiting {
			d.writes++
			d.longest = max(d.longest, at.Sub(from))
			delete(d.waiting, c.Client)
			return
		}
	}
	if !waited || k.death != nil && !asked.After(k.death.written) {
		return
	}
	k.die(asked, at, c.Client)
}

// die takes the first write that answers a miss: all who read the key between
// that miss and the write have missed it too.
func (k *keyReads) die(from, at time.Time, client string) {
	d := &death{from: from, written: at, writes: 1, longest: at.Sub(from), asked: map[string]bool{client: true}, waiting: make(map[string]time.Time)}
	for c, t := range k.open {
		if !t.Before(from) && !t.After(at) {
			d.asked[c] = true
			d.waiting[c] = t
		}
		delete(k.open, c) // older ones have found it, and are done with it
	}
	if k.death == nil || len(d.asked) > 1 || len(k.death.asked) < 2 {
		k.death = d
	}
}

// Rebuilds are the keys that were missed by several clients at once, those
// with the most writes first. now is the time of this machine's clock up to
// which the sample has seen.
func (s *Sample) Rebuilds(now time.Time) []Rebuild {
	var out []Rebuild
	for id, k := range s.keys {
		d := k.death
		if d == nil || len(d.asked) < 2 {
			continue
		}
		r := Rebuild{
			DB: id.db, Key: id.key, From: d.from, Missed: len(d.asked), Clients: len(d.asked), Hosts: hosts(d.asked),
			Written: d.writes, Longest: d.longest,
		}
		// Who has not written after three times as long will not.
		if patience := 3*d.longest + 100*time.Millisecond; now.Sub(d.written) < patience {
			r.InFlight = len(d.waiting)
		}
		out = append(out, r)
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
