package sqltext

import (
	"bytes"
	"encoding/binary"
)

// A program sends the same few statements over and over, with other values. So
// the Lexer remembers how statements were built: the bytes between their
// values, and what kind of value stands where. A statement that has the same
// bytes and the same kinds there is of the same shape, since nothing that the
// scanner decides depends on what a value of these kinds is; only its literals
// have to be read.

// kind is what may stand in a place of a pattern.
type kind uint8

const (
	fixed       kind = iota // nothing but what stood there
	number                  // digits, perhaps with a dot among them
	hexadecimal             // 0x and digits
	quoted                  // a string
	listed                  // plain values up to a closing parenthesis
	rows                    // further rows of VALUES, perhaps none
	comment                 // what follows /* up to and with */
	remark                  // what follows # or -- up to the end of the line
	last                    // the end of the statement
)

// variable is a place of a statement in which other values may stand.
type variable struct {
	kind     kind
	from, to int32 // in the statement
	at, end  int32 // of its literals in the buffer of them
}

// vary notes a value whose literals were written from at on.
func (s *scanner) vary(k kind, from, to, at int) {
	if k != fixed && len(s.variable) < maxVariables {
		s.variable = append(s.variable, variable{k, int32(from), int32(to), int32(at), int32(len(s.lits))})
	}
}

// plainNumber returns the end of a number at i that is nothing but digits and
// at most one dot, and has no letter behind it; else -1.
func plainNumber(sql []byte, i int) int {
	i = digitsEnd(sql, i)
	if i < len(sql) && sql[i] == '.' {
		i = digitsEnd(sql, i+1)
	}
	if i < len(sql) && (lowerWord[sql[i]] != 0 || sql[i] == '.') {
		return -1
	}
	return i
}

// hexEnd returns the end of the number 0x... at i, or -1.
func hexEnd(sql []byte, i int) int {
	if i+2 >= len(sql) || sql[i] != '0' || sql[i+1] != 'x' || !isHex(sql[i+2]) {
		return -1
	}
	for i += 3; i < len(sql) && isHex(sql[i]); i++ {
	}
	if i < len(sql) && lowerWord[sql[i]] != 0 {
		return -1
	}
	return i
}

const (
	maxVariables = 64
	maxFixed     = 4096 // bytes of a pattern
	minRecall    = 16   // bytes of a statement
	patternSets  = 512
	patternWays  = 8
	missesFree   = 4096 // misses after which only some are remembered, unless recalls outnumber them
	missesKept   = 16   // one of so many
)

// maxIndexed is how many bytes of a statement tell where its pattern is kept.
const maxIndexed = 64

// patterns are the statements that were seen lately, by their first bytes.
type patterns struct {
	sets         *[patternSets][patternWays]*pattern
	hits, misses uint32
}

// pattern is how statements of one shape are built.
type pattern struct {
	shape uint64
	fold  bool
	text  []byte // the fixed bytes, one after the other
	tail  []byte // those of them that end the statement
	lits  []byte // the literals among them
	parts []part
}

// part is some fixed text and what follows it. Ends are those in the pattern.
type part struct {
	kind       kind
	text, lits int32
}

// setOf hashes the beginning of a statement up to the first thing that may be
// a value, so that statements of one shape are found in one place, and few
// others there. Leading comments do not count.
func setOf(sql []byte) uint64 {
	var h uint64
	i := 0
	for i+8 <= len(sql) && sql[i] == '/' && sql[i+1] == '*' {
		end := commentEnd(sql, i+2)
		if end < 0 {
			break
		}
		i = skipSpace(sql, end)
	}
	for end := min(len(sql), i+maxIndexed); i+8 <= end; i += 8 {
		x := binary.LittleEndian.Uint64(sql[i:])
		stop := (isDigits(x) | isZero(x^'\''*ones) | isZero(x^'"'*ones)) & high
		if stop != 0 {
			x &= stop&-stop>>7 - 1
		}
		h = (h ^ x) * 0x9E3779B97F4A7C15
		h ^= h >> 32
		if stop != 0 {
			break
		}
	}
	return h * 0xC2B2AE3D27D4EB4F >> 55
}

// recall finds the pattern of a statement and reads its literals.
func (l *Lexer) recall(sql []byte) (shape uint64, ok bool) {
	if len(sql) < minRecall || l.patterns.sets == nil {
		return 0, false
	}
	set := &l.patterns.sets[setOf(sql)]
	for k, p := range set {
		if p == nil {
			break
		}
		if p.fold != l.FoldDigits || len(sql) < len(p.text) || !bytes.HasSuffix(sql, p.tail) {
			continue
		}
		if l.lits, ok = p.match(sql, l.lits[:0]); !ok {
			continue
		}
		if k > 0 {
			set[k-1], set[k] = set[k], set[k-1]
		}
		l.patterns.hits++
		return p.shape, true
	}
	l.patterns.misses++
	return 0, false
}

// match reads the literals of a statement along a pattern. It returns the
// buffer that it appends to, and whether the statement is built like that.
func (p *pattern) match(sql, lits []byte) ([]byte, bool) {
	i, text, lit := 0, int32(0), int32(0)
	for _, part := range p.parts {
		if !bytes.HasPrefix(sql[i:], p.text[text:part.text]) {
			return lits, false
		}
		i += int(part.text - text)
		lits = append(lits, p.lits[lit:part.lits]...)
		text, lit = part.text, part.lits
		from, end := i, i
		switch part.kind {
		case number:
			if i >= len(sql) || !isDigit(sql[i]) {
				return lits, false
			}
			end = plainNumber(sql, i)
		case hexadecimal:
			end = hexEnd(sql, i)
		case quoted:
			if i >= len(sql) || sql[i] != '\'' && sql[i] != '"' {
				return lits, false
			}
			closed := false
			if end, closed = stringEnd(sql, i, sql[i]); !closed {
				return lits, false
			}
		case listed:
			end = listEnd(sql, i)
		case rows:
			open := false
			if end, open = skipRows(sql, i); open {
				return lits, false
			}
			if end == i {
				continue
			}
		case comment:
			if executable(sql, i) {
				return lits, false
			}
			if i = commentEnd(sql, i); i < 0 {
				return lits, false
			}
			continue
		case remark:
			i = lineEnd(sql, i)
			continue
		case last:
			return lits, i == len(sql)
		}
		if end < 0 {
			return lits, false
		}
		lits = append(lits, sql[from:end]...)
		lits = append(lits, 0)
		i = end
	}
	return lits, false
}

// remember keeps how the statement of the last scan was built. When hardly
// anything is recalled, it keeps only some.
func (l *Lexer) remember(sql []byte, shape uint64) {
	ps := &l.patterns
	if len(sql) < minRecall || len(l.variable) >= maxVariables || ps.misses > missesFree && ps.misses > ps.hits && ps.misses%missesKept != 0 {
		return
	}
	size := len(sql)
	for _, v := range l.variable {
		size -= int(v.to - v.from)
	}
	if size > maxFixed {
		return
	}
	if ps.sets == nil {
		ps.sets = new([patternSets][patternWays]*pattern)
	}
	set := &ps.sets[setOf(sql)]
	p := set[patternWays-1]
	if p == nil {
		p = &pattern{}
	}
	p.build(sql, l.lits, l.variable)
	p.shape, p.fold = shape, l.FoldDigits
	for k := range set {
		if set[k] == nil || k == patternWays-1 {
			set[k] = p
			return
		}
	}
}

// build takes a statement apart.
func (p *pattern) build(sql, lits []byte, vs []variable) {
	p.text, p.lits, p.parts = p.text[:0], p.lits[:0], p.parts[:0]
	i, lit := int32(0), int32(0)
	for _, v := range vs {
		p.text = append(p.text, sql[i:v.from]...)
		p.lits = append(p.lits, lits[lit:v.at]...)
		p.parts = append(p.parts, part{v.kind, int32(len(p.text)), int32(len(p.lits))})
		i, lit = v.to, v.end
	}
	p.text = append(p.text, sql[i:]...)
	p.tail = p.text[len(p.text)-len(sql)+int(i):]
	p.lits = append(p.lits, lits[lit:]...)
	p.parts = append(p.parts, part{last, int32(len(p.text)), int32(len(p.lits))})
}
