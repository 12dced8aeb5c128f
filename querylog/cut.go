package querylog

import (
	"bytes"
	"errors"
	"io"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

const (
	blockSize = 256 << 10 // how much is read before a cut is looked for
	maxBlock  = 8 << 20   // a block without a cut is one giant statement from here on
	cutAhead  = 512       // bytes that a cut needs to be recognised
)

// cutter cuts an input into blocks that begin at records. A cut may be wrong
// only where a string holds the text of another log; then the block before
// says so (block.tail) and the two are read again as one.
type cutter struct {
	r      io.Reader
	g      grammar
	size   int
	carry  []byte
	offset int64
	done   bool
	free   chan *block // to use again
}

func newCutter(r io.Reader, g grammar, size int) *cutter {
	if size <= 0 {
		size = blockSize
	}
	return &cutter{r: r, g: g, size: size, free: make(chan *block, 64)}
}

// recycle takes back a block whose records are used.
func (c *cutter) recycle(b *block) {
	if cap(b.data) > 4*c.size {
		return // a giant: leave it to the collector
	}
	select {
	case c.free <- b:
	default:
	}
}

// block returns an empty block, with the memory of a used one if there is any.
func (c *cutter) block() *block {
	select {
	case b := <-c.free:
		*b = block{data: b.data[:0], records: b.records[:0], faults: b.faults[:0], marks: b.marks[:0], tail: -1}
		return b
	default:
		return &block{data: make([]byte, 0, c.size+c.size/4), tail: -1}
	}
}

// next returns the next block, or nil at the end. An input that breaks off
// gives a last block with its error.
func (c *cutter) next() *block {
	if c.done {
		return nil
	}
	b := c.block()
	b.offset = c.offset
	data := append(b.data, c.carry...)
	c.carry = c.carry[:0]
	for target := max(c.size, len(data)+c.size/2); ; target *= 2 {
		var err error
		data, err = fill(c.r, data, target)
		if err != nil {
			c.done, b.last = true, true
			if !errors.Is(err, io.EOF) {
				b.err = err
			}
			break
		}
		if cut := c.g.lastCut(data[:len(data)-min(cutAhead, len(data)/2)]); cut > 0 {
			c.carry = append(c.carry, data[cut:]...)
			data = data[:cut]
			break
		}
		if len(data) >= maxBlock {
			data = c.giant(b, data)
			break
		}
	}
	b.data = data
	c.offset += int64(len(data)) + b.overflow
	return b
}

// fill reads until data holds n bytes.
func fill(r io.Reader, data []byte, n int) ([]byte, error) {
	if cap(data) < n {
		data = append(make([]byte, 0, n+n/4), data...)
	}
	for empty := 0; len(data) < n; {
		k, err := r.Read(data[len(data):n])
		data = data[:len(data)+k]
		if err != nil {
			return data, err
		}
		if k > 0 {
			empty = 0
		} else if empty++; empty > 100 {
			return data, io.ErrNoProgress
		}
	}
	return data, nil
}

// giant counts the rest of a statement that no block can hold.
func (c *cutter) giant(b *block, data []byte) []byte {
	keep := len(data) - cutAhead
	win := bytes.Clone(data[keep:])
	data = data[:keep]
	for {
		var err error
		win, err = fill(c.r, win, len(win)+c.size)
		if cut := c.g.firstCut(win, 1); cut > 0 && (cut < len(win)-cutAhead || err != nil) {
			b.overflow += int64(cut)
			b.overLine += int64(bytes.Count(win[:cut], []byte{'\n'}))
			c.carry = append(c.carry, win[cut:]...)
			return data
		}
		if err != nil {
			b.overflow += int64(len(win))
			b.overLine += int64(bytes.Count(win, []byte{'\n'}))
			c.done, b.last = true, true
			if !errors.Is(err, io.EOF) {
				b.err = err
			}
			return data
		}
		pass := len(win) - cutAhead
		b.overflow += int64(pass)
		b.overLine += int64(bytes.Count(win[:pass], []byte{'\n'}))
		win = append(win[:0], win[pass:]...)
	}
}

// parseBlock fills the records of a block.
func parseBlock(b *block, g grammar, lex *sqltext.Lexer) {
	b.records, b.faults, b.marks = b.records[:0], b.faults[:0], b.marks[:0]
	b.tail, b.lines = -1, 0
	g.parse(b, lex)
}

// parseError gives a fault its place in the input.
func (b *block) parseError(source string, i int) *ParseError {
	f := b.faults[i]
	return &ParseError{Source: source, Line: b.line + int64(f.line) + 1, Offset: b.offset + int64(f.at), Err: f.err}
}

// blocks gives the parsed blocks of an input in order. Where a cut went
// through a string, the undecided end of one block is read again together
// with the next, so that the records are those of the uncut input.
type blocks struct {
	pull    func() *block // the next parsed block, nil at the end
	recycle func(*block)
	g       grammar
	lex     sqltext.Lexer
	pending *block // its end is undecided
	line    int64
}

func (s *blocks) next() *block {
	b := s.pull()
	if b == nil {
		return nil
	}
	if p := s.pending; p != nil {
		b = s.join(p, b)
	}
	b.line = s.line
	s.line += b.lines
	if b.tail >= 0 {
		s.pending = b
	} else {
		s.line += b.overLine
	}
	return b
}

// join reads the undecided end of p and the block after it as one.
func (s *blocks) join(p, b *block) *block {
	j := *b
	j.data = make([]byte, 0, len(p.data)-p.tail+len(b.data))
	j.data = append(append(j.data, p.data[p.tail:]...), b.data...)
	j.offset = p.offset + int64(p.tail)
	j.records, j.faults, j.marks = nil, nil, nil
	s.pending = nil
	s.recycle(p)
	s.recycle(b)
	parseBlock(&j, s.g, &s.lex)
	return &j
}

// release gives a block back once its records are used.
func (s *blocks) release(b *block) {
	if b != s.pending {
		s.recycle(b)
	}
}
