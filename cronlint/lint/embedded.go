package lint

import (
	"bytes"
	"path"

	"go.yaml.in/yaml/v3"
)

// maxEmbedded bounds the files inside one file that are looked at.
const maxEmbedded = 32

// MayEmbed says, quickly, whether data may hold files for Embedded.
func MayEmbed(data []byte) bool { return bytes.Contains(data, []byte("ConfigMap")) }

// Embedded returns the files that a Kubernetes ConfigMap holds as literal
// blocks ("nginx.conf: |"). Each has the length and the lines of this file, with
// blanks for everything outside its block, so that places and edits in it are
// places and edits here.
func (f *File) Embedded() []*File {
	if !MayEmbed(f.Data) {
		return nil
	}
	docs, err := f.YAML()
	if err != nil {
		return nil
	}
	var out []*File
	for _, d := range docs {
		if len(d.Content) == 0 || scalarAt(d.Content[0], "kind") != "ConfigMap" {
			continue
		}
		data := valueAt(d.Content[0], "data")
		if data == nil || data.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(data.Content) && len(out) < maxEmbedded; i += 2 {
			key, value := data.Content[i], data.Content[i+1]
			if value.Style&yaml.LiteralStyle != 0 && path.Ext(key.Value) != "" {
				out = append(out, f.block(key, value))
			}
		}
	}
	return out
}

// block returns the file inside the literal block of a key.
func (f *File) block(key, value *yaml.Node) *File {
	first := value.Line + 1
	last := first
	for n := first; n <= f.Lines(); n++ {
		line := bytes.TrimRight(f.Data[f.LineSpan(n).Start:f.LineSpan(n).End], " \t")
		if len(line) == 0 {
			continue
		}
		if len(line)-len(bytes.TrimLeft(line, " ")) < key.Column {
			break
		}
		last = n + 1
	}
	start, end := f.LineSpan(first).Start, f.LineSpan(last-1).End
	inner := NewFile(f.Path, blanked(f.Data, start, max(start, end)))
	inner.Name = path.Join(path.Dir(f.Path), key.Value)
	return inner
}

// blanked returns data with blanks for all but line ends outside [start, end).
func blanked(data []byte, start, end int) []byte {
	out := bytes.Clone(data)
	for i := range out {
		if (i < start || i >= end) && out[i] != '\n' && out[i] != '\r' {
			out[i] = ' '
		}
	}
	return out
}

// valueAt returns the value of a key of a mapping, or nil.
func valueAt(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalarAt(n *yaml.Node, key string) string {
	if v := valueAt(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}
