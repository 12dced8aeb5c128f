package spread

import (
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A Collector keeps the keys of one pattern while a source is read: about 30
// bytes and the name for each.
type Collector struct {
	opts    Options
	matcher *ttlhist.Matcher
	names   []byte
	keys    []collected

	noTTL   uint64
	guarded uint64 // keys that are locks, queues or counters by their own names
	kinds   map[string]bool
}

// A collected key has its name at names[from:from+size].
type collected struct {
	from  uint64
	at    int64 // expiry in Unix ms
	size  uint32
	db    uint16
	exact bool // its own pattern is the one asked for
}

// NewCollector returns a Collector of the keys of o.Pattern.
func NewCollector(o Options) *Collector {
	return &Collector{opts: o, matcher: ttlhist.NewMatcher(o.Pattern), kinds: make(map[string]bool)}
}

// Add takes a key in if it belongs to the pattern. It keeps nothing of k but
// copies.
func (c *Collector) Add(k *scan.Key) {
	match := c.matcher.Match(k.Name)
	if match == ttlhist.NoMatch {
		return
	}
	if k.ExpireMS == scan.NoExpiry {
		c.noTTL++
		return
	}
	if match == ttlhist.Joined && c.isGuarded(k.Name) {
		c.guarded++
		return
	}
	c.keys = append(c.keys, collected{
		from: uint64(len(c.names)), size: uint32(len(k.Name)), db: uint16(k.DB), at: k.ExpireMS, exact: match == ttlhist.Exact,
	})
	c.names = append(c.names, k.Name...)
}

// isGuarded tells whether a key must not be touched, whatever the row is
// called that it was joined to.
func (c *Collector) isGuarded(name []byte) bool {
	pattern := ttlhist.PatternOf(name)
	guarded, known := c.kinds[pattern]
	if !known {
		kind, _ := ttlhist.KindOf(pattern, c.opts.Kinds)
		guarded = !mayTouch(kind)
		if len(c.kinds) < maxKinds {
			c.kinds[pattern] = guarded
		}
	}
	return guarded
}

// maxKinds bounds the patterns whose kind is remembered.
const maxKinds = 4096

func (c *Collector) name(k *collected) []byte {
	return c.names[k.from : k.from+uint64(k.size) : k.from+uint64(k.size)]
}

// settle decides which keys are those of a row: those of the very pattern, or
// also those that were joined to it, whichever the row counts.
func (c *Collector) settle(row *ttlhist.Group) (keys []collected, left uint64) {
	exact := uint64(0)
	for i := range c.keys {
		if c.keys[i].exact {
			exact++
		}
	}
	if exact == 0 || exact != row.WithTTL && uint64(len(c.keys)) == row.WithTTL {
		return c.keys, 0
	}
	for _, k := range c.keys {
		if k.exact {
			keys = append(keys, k)
		}
	}
	if row.WithTTL > exact {
		left = row.WithTTL - exact
	}
	return keys, left
}
