package ttlhist

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/herdscan/herdscan/scan"
)

// Grouping says how keys are put into groups. The zero value groups by
// pattern.
type Grouping struct {
	Match    *regexp.Regexp // its capture groups, joined by ":", name a key's group; without one, the whole match does
	Prefixes []string       // keys that begin with one of these belong to the group PREFIX*; the longest counts
}

// String describes the grouping; "" for grouping by pattern.
func (g Grouping) String() string {
	var parts []string
	if g.Match != nil {
		parts = append(parts, "regexp "+g.Match.String())
	}
	if len(g.Prefixes) > 0 {
		prefixes := slices.Sorted(slices.Values(g.Prefixes))
		parts = append(parts, "prefixes "+strings.Join(prefixes, " "))
	}
	return strings.Join(parts, ", ")
}

// A Summary counts the keys of one or more caches by group. Its zero value is
// ready. It is not safe for concurrent use; merge one per goroutine instead.
type Summary struct {
	Grouping Grouping // set before the first Add

	sources []Source
	now     int64 // Unix ms of the current source
	precise bool  // the current source knows milliseconds

	groups map[string]*group
	index  folding

	bins   binBound
	buf    []byte
	loaded string // the grouping of a loaded Summary
}

const (
	sideShare = 128 // the side histograms may have a part of the bins
	minSide   = 8
)

// ErrGrouping is returned (wrapped) by Merge.
var ErrGrouping = errors.New("summaries of different groupings")

// Begin declares the source of the keys that follow. Without it their
// deadlines are taken for exact to the millisecond, and idle times for
// unknown.
func (s *Summary) Begin(src Source) {
	s.sources = append(s.sources, src)
	s.now = 0
	if !src.Now.IsZero() {
		s.now = src.Now.UnixMilli()
	}
	s.precise = src.Resolution <= time.Millisecond
}

// End completes the description of the source that Begin declared last with
// what is only known after the scan. A source of several parts (the shards of
// a cluster) ends with one description for each.
func (s *Summary) End(parts ...Source) {
	if n := len(s.sources); n > 0 {
		s.sources = s.sources[:n-1]
	}
	s.sources = append(s.sources, parts...)
}

// Add counts one key. It keeps nothing of k but copies.
func (s *Summary) Add(k *scan.Key) {
	s.prepare()
	hash := xxhash.Sum64(k.Name)
	g := s.find(k.Name)
	before := g.withTTL()
	g.add(k, hash, s.now, s.precise)
	if g.wants(hash) && len(k.Name) <= maxSample {
		g.addSample(s.sampled(g, k, hash))
	}
	if g.withTTL() == before {
		return
	}
	if s.bins.count(s.buf) {
		s.fitAll()
	}
	s.fit(g)
}

func (s *Summary) sampled(g *group, k *scan.Key, hash uint64) sampledKey {
	key := sampledKey{Hash: hash, Name: slices.Clone(k.Name)}
	if g.level == bucketLevel {
		key.Pattern = rootOf(string(s.buf))
	}
	return key
}

// find returns the group of a key, a new one if need be. The key's pattern is
// left in s.buf.
func (s *Summary) find(name []byte) *group {
	s.buf = s.appendGroup(s.buf[:0], name)
	if g := s.groups[string(s.buf)]; g != nil && !s.index.buckets {
		return g
	}
	return s.place(string(s.buf))
}

// appendGroup appends the name of a key's group before folding.
func (s *Summary) appendGroup(dst, name []byte) []byte {
	if prefix := longestPrefix(s.Grouping.Prefixes, name); prefix != "" {
		return append(append(dst, prefix...), '*')
	}
	re := s.Grouping.Match
	if re == nil {
		return appendPattern(dst, name)
	}
	m := re.FindSubmatchIndex(name)
	switch {
	case m == nil:
		return appendPattern(dst, name)
	case len(m) == 2:
		return append(dst, name[m[0]:m[1]]...)
	}
	for i := 2; i < len(m); i += 2 {
		if i > 2 {
			dst = append(dst, ':')
		}
		if m[i] >= 0 {
			dst = append(dst, name[m[i]:m[i+1]]...)
		}
	}
	return dst
}

func longestPrefix(prefixes []string, name []byte) (longest string) {
	for _, p := range prefixes {
		if len(p) > len(longest) && strings.HasPrefix(string(name[:min(len(name), len(p))]), p) {
			longest = p
		}
	}
	return longest
}

func (s *Summary) prepare() {
	if s.groups == nil {
		s.groups = make(map[string]*group)
	}
}

// fit keeps a group's histograms within the bound.
func (s *Summary) fit(g *group) {
	limit := s.bins.limit()
	side := max(minSide, limit/sideShare)
	g.expiry.fit(limit)
	g.originals.fit(side)
	g.lives.fit(side)
}

func (s *Summary) fitAll() {
	for _, g := range s.groups {
		s.fit(g)
	}
}

// settle brings the histograms into the state that depends on the keys alone.
func (s *Summary) settle() {
	for _, g := range s.groups {
		g.expiry.settle()
		g.originals.settle()
		g.lives.settle()
		s.fit(g)
	}
}

// Merge adds all that other has counted. other stays as it is. Keys that were
// grouped in two ways can't be put together: that is an error that wraps
// ErrGrouping, and s stays as it was.
func (s *Summary) Merge(other *Summary) error {
	switch a, b := s.grouping(), other.grouping(); {
	case a == b:
	case len(s.groups) == 0:
		s.loaded = b
	case len(other.groups) > 0:
		return fmt.Errorf("%w: %q and %q", ErrGrouping, a, b)
	}
	s.prepare()
	s.sources = append(s.sources, other.sources...)
	s.bins.merge(&other.bins)
	s.adoptFolding(&other.index)
	for _, g := range other.groups {
		s.placeFolded(g).merge(g)
	}
	s.fitAll()
	return nil
}

// grouping describes how the keys so far were grouped.
func (s *Summary) grouping() string { return cmp.Or(s.Grouping.String(), s.loaded) }

// ObserveTTL adds the time to live with which a key was seen to be written, as
// evidence for its group: of a key that was written between two looks.
func (s *Summary) ObserveTTL(name []byte, ttl time.Duration) {
	s.prepare()
	g := s.find(name)
	g.originals.raise(secondLevel)
	g.originals.add(ttl.Milliseconds(), 1)
	s.fit(g)
}

// Sources returns where the keys came from, in order of name and time.
func (s *Summary) Sources() []Source {
	all := slices.Clone(s.sources)
	slices.SortStableFunc(all, func(a, b Source) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Now.Compare(b.Now)
	})
	return all
}

// Keys returns the number of keys counted.
func (s *Summary) Keys() uint64 {
	var n uint64
	for _, g := range s.groups {
		n += g.keys
	}
	return n
}

// Samples returns up to 8 keys of a pattern, chosen by hash: to ask the cache
// for their type or idle time, or to show as examples.
func (s *Summary) Samples(pattern string) [][]byte {
	g := s.groups[pattern]
	if g == nil {
		return nil
	}
	var names [][]byte
	for _, k := range g.sample {
		if k.Name != nil {
			names = append(names, k.Name)
		}
	}
	return names
}
