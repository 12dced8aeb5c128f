package job

import (
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// deref follows an alias.
func deref(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// pairs yields the keys and values of a mapping; nothing for other nodes.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		n = deref(n)
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], deref(n.Content[i+1])) {
				return
			}
		}
	}
}

// items yields the elements of a sequence; nothing for other nodes.
func items(n *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		n = deref(n)
		if n == nil || n.Kind != yaml.SequenceNode {
			return
		}
		for _, c := range n.Content {
			if !yield(deref(c)) {
				return
			}
		}
	}
}

// at follows keys down from a node; nil where one is missing.
func at(n *yaml.Node, keys ...string) *yaml.Node {
	if n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		n = n.Content[0]
	}
	for _, key := range keys {
		var found *yaml.Node
		for k, v := range pairs(n) {
			if k.Value == key {
				found = v
				break
			}
		}
		if found == nil {
			return nil
		}
		n = found
	}
	return deref(n)
}

// text is the value of a scalar, "" for other nodes.
func text(n *yaml.Node) string {
	n = deref(n)
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// yamlSpan is the bytes of a whole node: for a mapping or a sequence, to the
// end of its last element.
func yamlSpan(f *lint.File, n *yaml.Node) lint.Span {
	span := f.NodeSpan(n)
	if n.Kind == yaml.ScalarNode {
		return span
	}
	for last := n; last != nil && len(last.Content) > 0; {
		last = last.Content[len(last.Content)-1]
		if last.Kind == yaml.AliasNode {
			break
		}
		span.End = max(span.End, f.NodeSpan(last).End)
	}
	return span
}

// yamlDocs are the documents that could be read, and the fault that ended them.
func yamlDocs(src *lint.File, p *lint.Parsed) []*yaml.Node {
	docs, err := src.YAML()
	if err != nil {
		if e, ok := err.(*lint.Error); ok {
			p.Errors = append(p.Errors, e)
		}
	}
	return docs
}

// isYAML reports whether a path ends like a YAML file.
func isYAML(path string) bool {
	return strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
}
