package conf

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// maxNodes bounds what aliases can make of a small file.
const maxNodes = 200_000

// YAML returns the documents of a file. With an error come the documents
// before the fault.
func YAML(f *lint.File) ([]*Node, error) {
	docs, err := f.YAML()
	var out []*Node
	for _, d := range docs {
		if len(d.Content) == 0 {
			continue
		}
		b := yamlBuilder{file: f, left: maxNodes, open: make(map[*yaml.Node]bool)}
		if n := b.node(d.Content[0]); n != nil {
			out = append(out, n)
		}
	}
	return out, err
}

type yamlBuilder struct {
	file *lint.File
	left int
	open map[*yaml.Node]bool // aliases being followed: a cycle ends there
}

// node converts a node; nil when a cycle or the bound is met.
func (b *yamlBuilder) node(y *yaml.Node) *Node {
	if b.left--; b.left < 0 {
		return nil
	}
	if y.Kind == yaml.AliasNode {
		if b.open[y.Alias] {
			return nil
		}
		b.open[y.Alias] = true
		defer delete(b.open, y.Alias)
		return b.node(y.Alias)
	}
	n := &Node{Span: b.file.NodeSpan(y)}
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Map
		b.pairs(n, y)
	case yaml.SequenceNode:
		n.Kind = List
		for _, c := range y.Content {
			if child := b.node(c); child != nil {
				n.Children = append(n.Children, child)
			}
		}
	default:
		n.Value, n.Null = y.Value, y.Tag == "!!null"
	}
	return n
}

// pairs fills a map. Keys merged with "<<" come first, so that the map's own
// win.
func (b *yamlBuilder) pairs(n *Node, y *yaml.Node) {
	var own []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		value := b.node(y.Content[i+1])
		if value == nil {
			continue
		}
		if key.Tag == "!!merge" {
			for _, m := range value.Items() {
				n.Children = append(n.Children, m.Children...)
			}
			continue
		}
		value.Key, value.KeySpan = key.Value, b.file.NodeSpan(key)
		own = append(own, value)
	}
	n.Children = append(n.Children, own...)
}

// Nested returns the tree with dotted keys taken apart ("a.b: 1" is "a: {b:
// 1}") and maps of the same key put together, as Spring reads them.
func (n *Node) Nested() *Node {
	if n == nil || n.Kind == Scalar {
		return n
	}
	out := *n
	out.Children = nil
	in := make(inserter)
	for _, c := range n.Children {
		c = c.Nested()
		if n.Kind == List {
			out.Children = append(out.Children, c)
			continue
		}
		in.insert(&out, strings.Split(c.Key, "."), c)
	}
	return &out
}

// An inserter finds the maps that it has put into a tree.
type inserter map[place]*Node

type place struct {
	parent *Node
	key    string // folded
}

// insert puts leaf under root at a path of keys, merging maps.
func (in inserter) insert(root *Node, path []string, leaf *Node) {
	key := path[0]
	spot := place{root, fold(key)}
	at := in[spot]
	if len(path) > 1 {
		if at == nil {
			at = &Node{Kind: Map, Key: key, KeySpan: leaf.KeySpan, Span: leaf.KeySpan}
			root.Children = append(root.Children, at)
			in[spot] = at
		}
		in.insert(at, path[1:], leaf)
		return
	}
	if leaf.Kind != Map {
		copied := *leaf
		copied.Key = key
		root.Children = append(root.Children, &copied)
		return
	}
	if at == nil {
		at = &Node{Kind: Map, Key: key, KeySpan: leaf.KeySpan, Span: leaf.Span}
		root.Children = append(root.Children, at)
		in[spot] = at
	}
	for _, c := range leaf.Children {
		in.insert(at, []string{c.Key}, c)
	}
}
