package ttlhist

import (
	"bytes"
	"strings"
)

// PatternOf returns the pattern of a key: the key with its ids replaced by
// "*". Analyse may join several patterns to one row (see Matcher).
func PatternOf(name []byte) string { return string(appendPattern(nil, name)) }

// KindOf returns what the keys of a pattern are used for, as far as its words
// tell, and why. rules are tried first.
func KindOf(pattern string, rules []KindRule) (Kind, string) { return kindOf(pattern, nil, 0, rules) }

// A Match says how a key belongs to a row of the table.
type Match int

// The ways in which a key belongs to a row.
const (
	NoMatch Match = iota
	Joined        // its pattern may have been joined with others to the row
	Exact         // its pattern is the row's
)

// A Matcher tells which keys belong to a row of the table, by the row's
// pattern as Analyse prints it. A row that joins patterns has "*" for the
// segments in which they differ, and ends in "**" if it holds all patterns of
// a first word.
type Matcher struct {
	pattern string
	root    string // of a row that ends in "**"; else ""
	prefix  []byte // of all keys that may belong to the row
	want    []string
	buf     []byte
}

// NewMatcher returns the Matcher of a row.
func NewMatcher(pattern string) *Matcher {
	m := &Matcher{pattern: pattern, want: pieces(pattern)}
	if root, ok := strings.CutSuffix(pattern, "**"); ok {
		m.root = root
		return m
	}
	literal, _, _ := strings.Cut(pattern, "*")
	m.prefix = []byte(literal)
	return m
}

// Match tells whether, and how, a key belongs to the row.
func (m *Matcher) Match(name []byte) Match {
	if !bytes.HasPrefix(name, m.prefix) {
		return NoMatch
	}
	m.buf = appendPattern(m.buf[:0], name)
	if string(m.buf) == m.pattern {
		return Exact
	}
	if m.root != "" {
		if rootOf(string(m.buf)) == m.root {
			return Joined
		}
		return NoMatch
	}
	if m.joins(pieces(string(m.buf))) {
		return Joined
	}
	return NoMatch
}

// joins tells whether a pattern becomes the row's when segments become "*".
func (m *Matcher) joins(pieces []string) bool {
	if len(pieces) != len(m.want) {
		return false
	}
	for i, p := range pieces {
		if p != m.want[i] && m.want[i] != "*" {
			return false
		}
	}
	return true
}

// pieces cuts a pattern into segments and what is between them.
func pieces(pattern string) []string {
	var all []string
	end := 0
	for _, seg := range segments(pattern) {
		if seg[0] > end {
			all = append(all, pattern[end:seg[0]])
		}
		all = append(all, pattern[seg[0]:seg[1]])
		end = seg[1]
	}
	if end < len(pattern) {
		all = append(all, pattern[end:])
	}
	return all
}
