package querylog

import (
	"bytes"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// lineScan is the state of one pass over a block of a log that is made of lines.
type lineScan struct {
	*block
	lex  *sqltext.Lexer
	data []byte
	i    int   // position
	row  int32 // its line in the block

	kept            int // records that are whole
	faulted, marked int // faults and marks before the record
}

// begin adds the record that begins here; it is there to stay once it is kept.
func (s *lineScan) begin() *record {
	s.faulted, s.marked = len(s.faults), len(s.marks)
	s.records = append(s.records[:s.kept], record{at: int32(s.i), line: s.row})
	return &s.records[s.kept]
}

// end drops a record that was not kept.
func (s *lineScan) end() { s.records = s.records[:s.kept] }

// bounds finds where records begin.
type bounds interface {
	// boundary returns the next position after i where a record begins, and its row.
	boundary(i int) (int, int32)
	// pass returns the position behind the beginning of a record at i, from
	// where the next one is looked for.
	pass(i int) int
}

// lineEnd returns the end of the line at i without its line break, and the
// beginning of the next one.
func lineEnd(data []byte, i int) (end, next int) {
	n := bytes.IndexByte(data[i:], '\n')
	if n < 0 {
		return len(data), len(data)
	}
	end, next = i+n, i+n+1
	if end > i && data[end-1] == '\r' {
		end--
	}
	return end, next
}

// advance goes to the next line.
func (s *lineScan) advance(next int) {
	if next > s.i && s.data[next-1] == '\n' {
		s.row++
	}
	s.i = next
}

// at turns a piece of the data into its span.
func (s *lineScan) at(piece []byte) span {
	if len(piece) == 0 {
		return span{}
	}
	from := cap(s.data) - cap(piece)
	return span{int32(from), int32(from + len(piece))}
}

// text takes the statement that begins at start and ends where the next
// record begins. Where that is inside a string, the record is part of the
// text, unless the string never ends: then it is broken and the first record
// counts. It returns false when only the next block can tell.
func (s *lineScan) text(r *record, start int, b bounds) bool {
	first, firstRow := -1, int32(0)
	for at, tries := s.i, 0; ; tries++ {
		end, row := b.boundary(at)
		whole := s.cut(r, start, end)
		switch {
		case whole, !r.sum.Open:
			s.i, s.row = end, row
			return true
		case end >= len(s.data) && !s.last:
			s.undecided(r)
			return false
		}
		if first < 0 {
			first, firstRow = end, row
		}
		if end >= len(s.data) || tries >= maxCandidates {
			s.cut(r, start, first)
			s.i, s.row = first, firstRow
			return true
		}
		s.row = row
		at = b.pass(end)
	}
}

// cut makes data[start:end] the text of a record. It says whether the text is
// too long to look for strings in it.
func (s *lineScan) cut(r *record, start, end int) (giant bool) {
	text := trimStatement(s.data[min(start, end):end])
	r.size = int64(end - start)
	if end >= len(s.data) {
		r.size += s.overflow
		giant = s.overflow > 0
	}
	if len(text) > MaxStatement {
		text, giant = text[:MaxStatement], true
	}
	r.text = span{int32(start), int32(start + len(text))}
	r.sum = s.lex.Sum(text)
	if bytes.HasPrefix(text, ownMark) {
		r.has |= fOwn
	}
	if giant {
		r.sum.Text ^= uint64(r.size) * 0x9E3779B97F4A7C15
	}
	return giant
}

// undecided leaves a record to be read again together with the next block.
func (s *lineScan) undecided(r *record) {
	s.tail = int(r.at)
	s.row = r.line
	s.faults, s.marks = s.faults[:s.faulted], s.marks[:s.marked]
}

// trimStatement takes white space and the closing semicolon off.
func trimStatement(b []byte) []byte {
	end := len(b)
	for end > 0 && (b[end-1] <= ' ' || b[end-1] == ';') {
		end--
	}
	return b[:end]
}
