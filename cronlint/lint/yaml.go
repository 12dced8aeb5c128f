package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// YAML returns the file's documents (nodes of kind yaml.DocumentNode). The
// file is parsed once, however many formats ask. With an error come the
// documents before the faulty one; the error is an *Error with the line.
func (f *File) YAML() ([]*yaml.Node, error) {
	f.yamlOnce.Do(f.parseYAML)
	return f.yamlDocs, f.yamlErr
}

func (f *File) parseYAML() {
	f.yamlRows = yamlLines(f.Data)
	dec := yaml.NewDecoder(bytes.NewReader(f.Data))
	for {
		doc := new(yaml.Node)
		err := decodeNode(dec, doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.yamlErr = &Error{File: f.Path, Line: yamlErrorLine(err), Err: err}
			return
		}
		f.yamlDocs = append(f.yamlDocs, doc)
	}
}

// decodeNode turns a panic of the YAML library into an error: its parser has
// had such faults before, and input is never trusted.
func decodeNode(dec *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return dec.Decode(doc)
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+):`)

func yamlErrorLine(err error) int {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits only: at worst out of range, then 0
		return n
	}
	return 0
}

// NodeSpan returns the bytes of a scalar as written, without its quotes. For a
// block scalar, a mapping or a sequence it is the first line from the node's
// start.
func (f *File) NodeSpan(n *yaml.Node) Span {
	if _, err := f.YAML(); err != nil && len(f.yamlDocs) == 0 {
		return Span{}
	}
	start := f.nodeOffset(n)
	rest := f.Data[start:]
	if n.Kind == yaml.ScalarNode {
		switch {
		case n.Style&yaml.DoubleQuotedStyle != 0:
			return quotedSpan(rest, start, '"')
		case n.Style&yaml.SingleQuotedStyle != 0:
			return quotedSpan(rest, start, '\'')
		case bytes.HasPrefix(rest, []byte(n.Value)):
			return Span{start, start + len(n.Value)}
		}
	}
	line := firstLine(rest[:min(len(rest), maxShown)])
	return Span{start, start + len(bytes.TrimRight(line, " \t"))}
}

// maxShown bounds the span of a mapping or a sequence that is written on one
// line, in bytes.
const maxShown = 1 << 10

// firstLine returns b up to its first line end.
func firstLine(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = bytes.TrimSuffix(b[:i], []byte("\r"))
	}
	return b
}

// nodeOffset returns the first byte of a node, behind its tag and anchor.
func (f *File) nodeOffset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(f.yamlRows) {
		return 0
	}
	start := f.yamlRows[n.Line-1]
	if n.Line == 1 {
		start = f.BOM()
	}
	start = f.advance(start, n.Column-1)
	for start < len(f.Data) && (f.Data[start] == '&' || f.Data[start] == '!') {
		if n.Kind == yaml.AliasNode {
			break
		}
		word := bytes.IndexAny(f.Data[start:], " \t\r\n")
		if word < 0 {
			break
		}
		start += word
		for start < len(f.Data) && (f.Data[start] == ' ' || f.Data[start] == '\t') {
			start++
		}
	}
	return start
}

// quotedSpan returns the inside of the quoted text at the start of b. A text
// that goes on in the next line ends with this one.
func quotedSpan(b []byte, start int, quote byte) Span {
	if len(b) == 0 || b[0] != quote {
		return Span{start, start + len(firstLine(b[:min(len(b), maxShown)]))}
	}
	for i := 1; i < len(b); i++ {
		switch {
		case b[i] == '\n':
			return Span{start + 1, start + 1 + len(firstLine(b[1:i+1]))}
		case quote == '"' && b[i] == '\\':
			i++
		case b[i] == quote && quote == '\'' && i+1 < len(b) && b[i+1] == quote:
			i++
		case b[i] == quote:
			return Span{start + 1, start + i}
		}
	}
	return Span{start + 1, start + len(b)}
}

// yamlLines returns the offset of each line as YAML 1.1 counts them: "\r\n",
// "\n", "\r", U+0085, U+2028 and U+2029 end a line.
func yamlLines(b []byte) []int {
	rows := []int{0}
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\n', b[i] == '\r' && (i+1 == len(b) || b[i+1] != '\n'):
			rows = append(rows, i+1)
		case b[i] == 0xC2 && i+1 < len(b) && b[i+1] == 0x85:
			rows = append(rows, i+2)
		case b[i] == 0xE2 && i+2 < len(b) && b[i+1] == 0x80 && (b[i+2] == 0xA8 || b[i+2] == 0xA9):
			rows = append(rows, i+3)
		}
	}
	return rows
}
