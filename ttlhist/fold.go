package ttlhist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Folding bounds the number of groups. Patterns belong to roots (their first
// word). A root may have rootLimit patterns; one with more has all its
// patterns reduced, level by level, until they are few enough:
//
//	0  user:alice:cart, cache:user:alice:cart
//	1  user:*:cart, cache:*:*:cart     first and last word kept
//	2  user:*:*, cache:*:*:*           first word kept
//	3  user**, cache**                 one group a root
//
// rootLimit itself falls when the sum over roots of min(patterns, rootLimit)
// is above maxGroups. Both counts only grow with the set of keys, so that the
// levels depend on the set alone and not on the order of keys or merges. When
// there are more than maxGroups roots, roots share groups by hash (level 4).
type folding struct {
	roots     map[string]*root
	rootLimit int
	mass      int // sum over roots of min(patterns, rootLimit)
	buckets   bool
}

type root struct {
	level  int
	groups map[string]*group
	full   bool // had more than rootLimit patterns at some level
}

const (
	maxGroups     = 16384
	maxRootLimit  = 4096
	wordsLevel    = 1
	rootOnlyLevel = 3
	bucketLevel   = 4
	bucketCount   = 4096
)

// weight is the root's part in the bound on all groups.
func (r *root) weight(limit int) int {
	if r.full {
		return limit
	}
	return min(len(r.groups), limit)
}

// place returns the group of a pattern that is not folded yet.
func (s *Summary) place(pattern string) *group {
	name := rootOf(pattern)
	if s.index.buckets {
		return s.group(bucketOf(name), bucketOf(name), bucketLevel)
	}
	level := 0
	if r := s.index.roots[name]; r != nil {
		level = r.level
	}
	return s.group(reduce(pattern, name, 0, level), name, level)
}

// placeFolded returns the group here of a group from another Summary, whose
// level is not above the root's level here (adoptFolding has seen to it).
func (s *Summary) placeFolded(g *group) *group {
	if s.index.buckets {
		bucket := g.root
		if g.level != bucketLevel {
			bucket = bucketOf(g.root)
		}
		to := s.group(bucket, bucket, bucketLevel)
		for _, k := range g.sample {
			k.Pattern = cmp.Or(k.Pattern, g.root)
			to.addSample(k)
		}
		return to
	}
	level := g.level
	if r := s.index.roots[g.root]; r != nil {
		level = max(level, r.level)
	}
	return s.group(reduce(g.pattern, g.root, g.level, level), g.root, level)
}

// group returns the group of a folded pattern, making it and folding further
// if need be.
func (s *Summary) group(pattern, name string, level int) *group {
	if g := s.groups[pattern]; g != nil {
		return g
	}
	x := &s.index
	if x.roots == nil {
		x.roots, x.rootLimit = make(map[string]*root), maxRootLimit
	}
	r := x.roots[name]
	if r == nil {
		r = &root{level: level, groups: make(map[string]*group)}
		x.roots[name] = r
	}
	before := r.weight(x.rootLimit)
	g := &group{pattern: pattern, root: name, level: level}
	s.groups[pattern] = g
	r.groups[pattern] = g
	s.reduceRoot(r, name)
	x.mass += r.weight(x.rootLimit) - before
	s.lowerRootLimit()
	if s.groups[g.pattern] == g {
		return g
	}
	return s.refind(pattern, name, level)
}

// refind returns the group that a pattern was folded into just now.
func (s *Summary) refind(pattern, name string, level int) *group {
	if s.index.buckets {
		return s.groups[bucketOf(name)]
	}
	return s.groups[reduce(pattern, name, level, s.index.roots[name].level)]
}

// reduceRoot raises the level of a root until it has few enough groups.
func (s *Summary) reduceRoot(r *root, name string) {
	for len(r.groups) > s.index.rootLimit && r.level < rootOnlyLevel {
		r.full = true
		s.raiseRoot(r, name, r.level+1)
	}
}

// raiseRoot reduces the patterns of a root to a level.
func (s *Summary) raiseRoot(r *root, name string, level int) {
	old := r.groups
	r.level, r.groups = level, make(map[string]*group)
	for pattern := range old {
		delete(s.groups, pattern)
	}
	for pattern, g := range old {
		to := reduce(pattern, name, g.level, level)
		s.move(g, r, to, name, level)
	}
}

// move puts the keys of g into the group of a pattern of root r.
func (s *Summary) move(g *group, r *root, pattern, name string, level int) {
	to := r.groups[pattern]
	if to == nil {
		g.pattern, g.root, g.level = pattern, name, level
		r.groups[pattern], s.groups[pattern] = g, g
		return
	}
	to.merge(g)
	s.fit(to)
}

// lowerRootLimit keeps the number of groups of all roots within bounds.
func (s *Summary) lowerRootLimit() {
	x := &s.index
	for x.mass > maxGroups && x.rootLimit > 1 && !x.buckets {
		x.rootLimit /= 2
		x.mass = 0
		for name, r := range x.roots {
			r.full = r.full || len(r.groups) > x.rootLimit
			s.reduceRoot(r, name)
			x.mass += r.weight(x.rootLimit)
		}
	}
	if x.mass > maxGroups && !x.buckets {
		s.shareRoots()
	}
}

// shareRoots puts all roots into groups by hash.
func (s *Summary) shareRoots() {
	x := &s.index
	roots := x.roots
	x.buckets, x.roots = true, make(map[string]*root)
	s.groups = make(map[string]*group)
	for name, r := range roots {
		bucket := bucketOf(name)
		to := x.roots[bucket]
		if to == nil {
			to = &root{level: bucketLevel, groups: make(map[string]*group)}
			x.roots[bucket] = to
		}
		for _, g := range r.groups {
			s.move(g.labelled(), to, bucket, bucket, bucketLevel)
		}
	}
	x.mass = len(x.roots)
}

// labelled writes the root into the sample, so that a bucket knows its
// largest roots by their share in the sample.
func (g *group) labelled() *group {
	for i := range g.sample {
		if g.sample[i].Pattern == "" {
			g.sample[i].Pattern = g.root
		}
	}
	return g
}

// adoptFolding raises the levels here to those of another Summary.
func (s *Summary) adoptFolding(other *folding) {
	x := &s.index
	if other.roots == nil {
		return
	}
	if x.roots == nil {
		x.roots, x.rootLimit = make(map[string]*root), maxRootLimit
	}
	x.rootLimit = min(x.rootLimit, other.rootLimit)
	if other.buckets && !x.buckets {
		s.shareRoots()
	}
	if x.buckets {
		return
	}
	for name, o := range other.roots {
		r := x.roots[name]
		if r == nil {
			r = &root{level: o.level, groups: make(map[string]*group)}
			x.roots[name] = r
		}
		r.full = r.full || o.full
		if o.level > r.level {
			s.raiseRoot(r, name, o.level)
		}
	}
	x.mass = 0
	for name, r := range x.roots {
		r.full = r.full || len(r.groups) > x.rootLimit
		s.reduceRoot(r, name)
		x.mass += r.weight(x.rootLimit)
	}
	s.lowerRootLimit()
}

// rootOf returns the first word of a pattern: its first segment that is not
// an id. A pattern without a word is its own root.
func rootOf(pattern string) string {
	for _, seg := range segments(pattern) {
		if part := pattern[seg[0]:seg[1]]; part != "*" {
			return part
		}
	}
	return "*"
}

// bucketOf returns the name of the group that a root shares with others.
func bucketOf(name string) string {
	return fmt.Sprintf("#%03x", xxhash.Sum64String(name)%bucketCount)
}

// reduce brings a pattern of a root from one level of folding to another.
func reduce(pattern, name string, from, to int) string {
	if to <= from {
		return pattern
	}
	if to >= rootOnlyLevel {
		return name + "**"
	}
	segs := segments(pattern)
	first := slices.IndexFunc(segs, func(s [2]int) bool { return pattern[s[0]:s[1]] != "*" })
	last := first
	if to == wordsLevel {
		for i, seg := range segs {
			if pattern[seg[0]:seg[1]] != "*" {
				last = i
			}
		}
	}
	var b strings.Builder
	at := 0
	for i, seg := range segs {
		b.WriteString(pattern[at:seg[0]])
		if i == first || i == last {
			b.WriteString(pattern[seg[0]:seg[1]])
		} else {
			b.WriteByte('*')
		}
		at = seg[1]
	}
	b.WriteString(pattern[at:])
	return b.String()
}
