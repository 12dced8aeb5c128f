// Package conf reads YAML, JSON and .properties files into one kind of tree
// whose nodes know the bytes they came from, so that a format needs to be
// written once for all three.
package conf

import (
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// Kind says what a Node holds.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	Map
	List
)

// A Node is a value. A nil *Node is a value that is absent: all methods work
// on it.
type Node struct {
	Kind     Kind
	Key      string    // in its map; empty in a list
	KeySpan  lint.Span // where the key is written
	Span     lint.Span // a scalar inside its quotes; else the first line
	Value    string    // of a scalar
	Null     bool      // a scalar that says nothing: null, ~ or empty
	Children []*Node   // of a map or list, in the file's order
}

// Get walks down a path of keys, exactly as written.
func (n *Node) Get(path ...string) *Node {
	return n.find(path, func(a, b string) bool { return a == b })
}

// Relaxed walks down like Get, but as Spring and .NET bind names: without
// regard to case, "-" and "_".
func (n *Node) Relaxed(path ...string) *Node {
	return n.find(path, func(a, b string) bool { return fold(a) == fold(b) })
}

func (n *Node) find(path []string, same func(a, b string) bool) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		var next *Node
		for _, c := range n.Children {
			if n.Kind == Map && same(c.Key, key) {
				next = c // the last one wins, as in most parsers
			}
		}
		n = next
	}
	return n
}

// fold takes what relaxed binding ignores out of a name.
func fold(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != '-' && c != '_' {
			out = append(out, c)
		}
	}
	return string(out)
}

// Has says whether the path is there.
func (n *Node) Has(path ...string) bool { return n.Get(path...) != nil }

// Items returns the children of a list, or the node itself for a scalar or a
// map: "one or many".
func (n *Node) Items() []*Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == List:
		return n.Children
	}
	return []*Node{n}
}

// Walk calls f for the node and everything below it, parents first, with the
// path of keys. f returns false to leave out what is below.
func (n *Node) Walk(f func(path []string, n *Node) bool) { n.walk(nil, f) }

func (n *Node) walk(path []string, f func([]string, *Node) bool) {
	if n == nil || !f(path, n) {
		return
	}
	for i, c := range n.Children {
		key := c.Key
		if n.Kind == List {
			key = strconv.Itoa(i)
		}
		c.walk(append(path[:len(path):len(path)], key), f)
	}
}

// Text returns a scalar's text; "" for anything else.
func (n *Node) Text() string {
	if n == nil || n.Kind != Scalar || n.Null {
		return ""
	}
	return n.Value
}

// Bool returns a scalar's truth; ok is false when it is neither true nor false.
func (n *Node) Bool() (value, ok bool) {
	switch strings.ToLower(n.Text()) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// Int returns a scalar's whole number.
func (n *Node) Int() (int, bool) {
	v, err := strconv.Atoi(strings.TrimSpace(n.Text()))
	return v, err == nil
}

// Float returns a scalar's number.
func (n *Node) Float() (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(n.Text()), 64)
	return v, err == nil && v == v
}

// Duration returns a scalar's length of time; a bare number counts in unit.
// Understood are "1.5s", "PT1.5S", "00:00:01.5" and "100 ms".
func (n *Node) Duration(unit time.Duration) (time.Duration, bool) {
	return ParseDuration(n.Text(), unit)
}

// Where returns the place of the first of the nodes that is there, its key
// included; the zero Span when none is.
func Where(nodes ...*Node) lint.Span {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if n.KeySpan == (lint.Span{}) {
			return n.Span
		}
		if n.Kind == Scalar && n.Span.Start >= n.KeySpan.Start && n.Span.End > n.KeySpan.End {
			return lint.Span{Start: n.KeySpan.Start, End: n.Span.End}
		}
		return n.KeySpan
	}
	return lint.Span{}
}
