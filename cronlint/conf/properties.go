package conf

import (
	"errors"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

var errTooDeep = errors.New("nested too deep")

// A Pair is one line "key = value".
type Pair struct {
	Key, Value         string
	KeySpan, ValueSpan lint.Span
}

// Pairs returns the pairs of a .properties file, in order. Continued lines are
// joined; the span of such a value ends with its first line.
func Pairs(f *lint.File) []Pair {
	var pairs []Pair
	for n := 1; n <= f.Lines(); n++ {
		s := f.LineSpan(n)
		line := f.Text(s)
		trimmed := strings.TrimLeft(line, " \t\f")
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == '!' {
			continue
		}
		start := s.Start + len(line) - len(trimmed)
		p := splitPair(trimmed, start)
		var value strings.Builder
		part := p.Value
		for continued(part) && n < f.Lines() {
			n++
			value.WriteString(part[:len(part)-1])
			part = strings.TrimLeft(f.Line(n), " \t\f")
		}
		value.WriteString(part)
		p.Value = strings.TrimRight(value.String(), " \t")
		pairs = append(pairs, p)
	}
	return pairs
}

// splitPair cuts a line at the first unescaped "=", ":" or blank.
func splitPair(line string, start int) Pair {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	at := end
	for at < len(line) && strings.IndexByte(" \t\f", line[at]) >= 0 {
		at++
	}
	if at < len(line) && (line[at] == '=' || line[at] == ':') {
		at++
	}
	for at < len(line) && strings.IndexByte(" \t\f", line[at]) >= 0 {
		at++
	}
	return Pair{
		Key:       strings.ReplaceAll(line[:end], `\`, ""),
		Value:     line[at:],
		KeySpan:   lint.Span{Start: start, End: start + end},
		ValueSpan: lint.Span{Start: start + at, End: start + len(strings.TrimRight(line, " \t"))},
	}
}

// continued says whether a line ends in an odd number of backslashes.
func continued(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// Properties returns the tree of a .properties file, keys taken apart at their
// dots. Indexes stay part of the key: "a.b[0]".
func Properties(f *lint.File) *Node {
	root := &Node{Kind: Map}
	in := make(inserter)
	for _, p := range Pairs(f) {
		path := strings.Split(p.Key, ".")
		if len(path) > maxDepth {
			continue
		}
		if p.ValueSpan.End < p.ValueSpan.Start {
			p.ValueSpan.End = p.ValueSpan.Start
		}
		in.insert(root, path, &Node{Value: p.Value, Null: p.Value == "", KeySpan: p.KeySpan, Span: p.ValueSpan})
	}
	return root
}

// Spring returns the documents of a Spring configuration file, YAML or
// .properties by its name, dotted keys taken apart.
func Spring(f *lint.File) ([]*Node, error) {
	if strings.HasSuffix(f.Name, ".properties") {
		return []*Node{Properties(f)}, nil
	}
	docs, err := YAML(f)
	for i := range docs {
		docs[i] = docs[i].Nested()
	}
	return docs, err
}
