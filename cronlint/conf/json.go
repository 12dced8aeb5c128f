package conf

import (
	"github.com/tailscale/hujson"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// maxDepth bounds the nesting of JSON that is followed.
const maxDepth = 1000

// JSON returns the value of a JSON file; comments and trailing commas are
// allowed.
func JSON(f *lint.File) (*Node, error) {
	if err := depth(f.Data); err != nil {
		return nil, &lint.Error{File: f.Path, Err: err}
	}
	v, err := hujson.Parse(f.Data[f.BOM():])
	if err != nil {
		return nil, &lint.Error{File: f.Path, Err: err}
	}
	return jsonNode(f, &v), nil
}

func jsonNode(f *lint.File, v *hujson.Value) *Node {
	n := &Node{Span: lint.Span{Start: v.StartOffset + f.BOM(), End: v.EndOffset + f.BOM()}}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.Kind = Map
		n.Span.End = n.Span.Start + 1
		for i := range t.Members {
			m := &t.Members[i]
			key, value := jsonNode(f, &m.Name), jsonNode(f, &m.Value)
			value.Key, value.KeySpan = key.Value, key.Span
			n.Children = append(n.Children, value)
		}
	case *hujson.Array:
		n.Kind = List
		n.Span.End = n.Span.Start + 1
		for i := range t.Elements {
			n.Children = append(n.Children, jsonNode(f, &t.Elements[i]))
		}
	case hujson.Literal:
		n.Value, n.Null = string(t), t.Kind() == 'n'
		if t.Kind() == '"' {
			n.Value = t.String()
			n.Span.Start++
			n.Span.End--
		}
	}
	return n
}

// depth refuses JSON that is nested too deep to be followed by recursion.
func depth(data []byte) error {
	level, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if level++; level > maxDepth {
				return errTooDeep
			}
		case c == '}' || c == ']':
			level--
		}
	}
	return nil
}
