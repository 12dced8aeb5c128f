package lint

import (
	"bytes"
	"sort"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// A Span is a range of bytes [Start, End) of a file.
type Span struct{ Start, End int }

// Len returns the number of bytes.
func (s Span) Len() int { return s.End - s.Start }

// Contains says whether the byte at off belongs to the span.
func (s Span) Contains(off int) bool { return s.Start <= off && off < s.End }

// A File is one input with its lines. It is read-only once made and may be
// used from several goroutines.
type File struct {
	Path string // as shown to the user: slashes, relative where possible
	Name string // decides the format: the path, or that of a file inside this one
	Data []byte // the bytes as they are on disk, byte order mark included

	lines []int // offset of the first byte of each line

	runesOnce sync.Once
	runes     *runeIndex

	yamlOnce sync.Once
	yamlDocs []*yaml.Node
	yamlErr  error
	yamlRows []int // YAML breaks lines at more characters than "\n"
}

// NewFile makes a File of data, which must not change afterwards.
func NewFile(path string, data []byte) *File {
	f := &File{Path: path, Name: path, Data: data, lines: []int{0}}
	for i, b := range data {
		if b == '\n' && i+1 < len(data) {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// BOM returns the length in bytes of the UTF-8 byte order mark: 0 or 3.
func (f *File) BOM() int { return BOM(f.Data) }

// BOM returns the length in bytes of the byte order mark that UTF-8 data begins
// with: 0 or 3.
func BOM(data []byte) int {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return 3
	}
	return 0
}

// Text returns the bytes of s as a string.
func (f *File) Text(s Span) string { return string(f.Data[s.Start:s.End]) }

// Lines returns the number of lines. An empty file has one empty line; a
// final line without newline counts.
func (f *File) Lines() int { return len(f.lines) }

// LineSpan returns the bytes of line n (from 1), without its "\n" or "\r\n",
// and in line 1 without the byte order mark. It is empty outside the file.
func (f *File) LineSpan(n int) Span {
	if n < 1 || n > len(f.lines) {
		return Span{}
	}
	start, end := f.lines[n-1], len(f.Data)
	if n < len(f.lines) {
		end = f.lines[n]
	}
	if n == 1 {
		start = f.BOM()
	}
	if end > start && f.Data[end-1] == '\n' {
		end--
	}
	if end > start && f.Data[end-1] == '\r' {
		end--
	}
	return Span{start, end}
}

// Line returns the text of line n (from 1), see LineSpan.
func (f *File) Line(n int) string { return f.Text(f.LineSpan(n)) }

// Position returns the line and the column of a byte, both from 1. Columns
// count Unicode code points (SARIF: unicodeCodePoints); a byte that is no
// valid UTF-8 counts as one.
func (f *File) Position(off int) (line, col int) {
	off = min(max(off, 0), len(f.Data))
	line = sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > off })
	start := f.lines[line-1]
	if line == 1 {
		start = min(f.BOM(), off)
	}
	x := f.index()
	return line, x.runes(off) - x.runes(start) + 1
}

// index returns the file's index of code points.
func (f *File) index() *runeIndex {
	f.runesOnce.Do(func() { f.runes = newRuneIndex(f.Data) })
	return f.runes
}

// advance returns the byte n code points behind the one at start.
func (f *File) advance(start, n int) int {
	if n <= 0 {
		return start
	}
	x := f.index()
	return x.offset(x.runes(start) + n)
}

// Offset is the inverse of Position: the byte at a line and a column of code
// points. Outside the line it returns the line's end.
func (f *File) Offset(line, col int) int {
	s := f.LineSpan(line)
	return min(f.advance(s.Start, col-1), s.End)
}

// Location returns where s is. A span over several lines ends, for the caret,
// with its first line.
func (f *File) Location(s Span) Location {
	line, col := f.Position(s.Start)
	end := min(s.End, f.LineSpan(line).End)
	_, endCol := f.Position(max(end, s.Start))
	return Location{File: f.Path, Line: line, Col: col, EndCol: endCol}
}

// CRLF says whether the file's first line ends in "\r\n".
func (f *File) CRLF() bool {
	i := bytes.IndexByte(f.Data, '\n')
	return i > 0 && f.Data[i-1] == '\r'
}

// Base returns the last element of the path.
func (f *File) Base() string { return f.Path[strings.LastIndexByte(f.Path, '/')+1:] }
