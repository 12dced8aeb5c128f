package ttlhist

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/scan"
)

const (
	sampleSize = 8              // keys remembered per group
	hottest    = 4              // most frequently read keys remembered per group
	maxSample  = 512            // longest key that is remembered, in bytes
	farFuture  = int64(1) << 43 // Unix ms (year 2248): a later deadline is a mix-up of units
	pinSlack   = int64(20)      // ms: how near to a full minute a deadline sits on it
)

// A group counts the keys of one pattern. All its fields add up, or are the
// smallest or largest of a set: merging is free of order.
type group struct {
	pattern string
	root    string
	level   int // of reduction

	keys, noTTL, fieldTTL, far uint64
	expiry                     histogram
	types                      map[string]uint64

	precise      uint64    // deadlines from sources that know milliseconds
	whole        uint64    // of precise: on a full second
	minute, hour uint64    // of precise: within pinSlack of a full minute, hour
	originals    histogram // original TTLs in ms, where the source knows them
	lives        histogram // remaining + idle time in ms
	sample       []sampledKey
	hot          []hotKey
}

// A sampledKey is one of the keys with the lowest hashes of a group.
type sampledKey struct {
	Hash    uint64 `json:"h"`
	Pattern string `json:"p,omitempty"` // only in bucket groups, which hold many patterns
	Name    []byte `json:"n,omitempty"` // only saved if the user asks for samples
}

// A hotKey is a frequently read key and its deadline.
type hotKey struct {
	Freq   uint8  `json:"f"`
	Hash   uint64 `json:"h"`
	Expire int64  `json:"e"`
	Now    int64  `json:"t"` // the source's clock
}

// add counts a key. now is the source's clock in Unix ms, 0 if unknown.
func (g *group) add(k *scan.Key, hash uint64, now int64, precise bool) {
	g.keys++
	if k.Type != "" {
		g.addType(k.Type, 1)
	}
	if k.ExpireMS == scan.NoExpiry {
		g.noTTL++
		if k.FieldExpireMS > 0 {
			g.fieldTTL++
		}
		return
	}
	if k.ExpireMS >= farFuture {
		g.far++
		return
	}
	g.expiry.add(k.ExpireMS, 1)
	if precise {
		g.addPins(k.ExpireMS)
	}
	if k.TTL > 0 {
		g.originals.raise(secondLevel)
		g.originals.add(k.TTL.Milliseconds(), 1)
	}
	if k.HasIdle && now > 0 {
		g.addLife(time.Duration(k.ExpireMS-now)*time.Millisecond, k.Idle)
	}
	if k.HasFreq {
		g.addHot(hotKey{Freq: k.Freq, Hash: hash, Expire: k.ExpireMS, Now: now})
	}
}

// addLife counts the remaining plus the idle time of a key as its TTL, if it
// was idle for long enough: of a key that is read all the time the sum is what
// remains, and says nothing.
func (g *group) addLife(left, idle time.Duration) {
	const (
		shortest = 2 * time.Second
		share    = 10 // of the sum, one part in so many
	)
	life := left + idle
	if idle < shortest || idle < life/share {
		return
	}
	g.lives.raise(secondLevel)
	g.lives.add(life.Milliseconds(), 1)
}

func (g *group) addType(name string, n uint64) {
	if g.types == nil {
		g.types = make(map[string]uint64, 1)
	}
	g.types[name] += n
}

// addPins counts on which instants of the wall clock a deadline sits. Zones
// differ from UTC by whole minutes, so a full hour in a zone of half an hour
// counts as a minute only.
func (g *group) addPins(ms int64) {
	g.precise++
	if ms%1000 == 0 {
		g.whole++
	}
	off := ms % 60_000
	if off > pinSlack && off < 60_000-pinSlack {
		return
	}
	g.minute++
	if (ms+pinSlack)%3_600_000 <= 2*pinSlack {
		g.hour++
	}
}

// wants tells whether a key of this hash belongs into the sample.
func (g *group) wants(hash uint64) bool {
	return len(g.sample) < sampleSize || hash < g.sample[len(g.sample)-1].Hash
}

// addSample keeps the keys with the lowest hashes, lowest first.
func (g *group) addSample(k sampledKey) {
	at, found := slices.BinarySearchFunc(g.sample, k, compareSampled)
	if found || at == sampleSize {
		return
	}
	g.sample = slices.Insert(g.sample, at, k)
	g.sample = g.sample[:min(len(g.sample), sampleSize)]
}

func compareSampled(a, b sampledKey) int {
	return cmp.Or(cmp.Compare(a.Hash, b.Hash), strings.Compare(string(a.Name), string(b.Name)))
}

// addHot keeps the most frequently read keys, hottest first.
func (g *group) addHot(k hotKey) {
	if len(g.hot) == hottest && compareHot(k, g.hot[hottest-1]) >= 0 {
		return
	}
	at, found := slices.BinarySearchFunc(g.hot, k, compareHot)
	if found {
		return
	}
	g.hot = slices.Insert(g.hot, at, k)
	g.hot = g.hot[:min(len(g.hot), hottest)]
}

func compareHot(a, b hotKey) int {
	return cmp.Or(cmp.Compare(b.Freq, a.Freq), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Expire, b.Expire), cmp.Compare(a.Now, b.Now))
}

// merge adds the keys of other, which it leaves alone.
func (g *group) merge(other *group) {
	g.keys += other.keys
	g.noTTL += other.noTTL
	g.fieldTTL += other.fieldTTL
	g.far += other.far
	g.precise += other.precise
	g.whole += other.whole
	g.minute += other.minute
	g.hour += other.hour
	g.expiry.merge(&other.expiry)
	g.originals.merge(&other.originals)
	g.lives.merge(&other.lives)
	for name, n := range other.types {
		g.addType(name, n)
	}
	for _, k := range other.sample {
		g.addSample(k)
	}
	for _, k := range other.hot {
		g.addHot(k)
	}
}

// withTTL returns the number of keys in the histogram of expiries.
func (g *group) withTTL() uint64 { return g.expiry.n }
