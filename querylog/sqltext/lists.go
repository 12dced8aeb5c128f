package sqltext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// openParen begins a group, or reads a whole list of plain values at once.
func (s *scanner) openParen() {
	kind := s.listKind()
	if kind == plain {
		s.impure()
	}
	s.i++
	if s.prev == tWord && s.kw == kwNone || s.prev == tOpen || s.prev == tNone {
	} else {
		s.put(' ')
	}
	at := s.o
	if kind != plain && s.values() {
		s.closeList(at, kind)
		return
	}
	s.put('(')
	if s.depth < maxDepth {
		s.groups[s.depth] = group{at: at, kind: kind, pure: true}
	}
	s.depth++
	s.prev = tOpen
}

// listKind decides how the parenthesis that begins here may be collapsed.
func (s *scanner) listKind() list {
	switch s.prev {
	case tWord:
		switch s.kw {
		case kwIn:
			return inList
		case kwValues:
			return values
		}
	case tOpen, tComma:
		if s.depth > 0 && s.depth <= maxDepth && s.groups[s.depth-1].kind == inList {
			return tuple
		}
	}
	return plain
}

// values skips a list of plain values up to and with its closing parenthesis;
// it leaves everything as it was when there is something else.
func (s *scanner) values() bool {
	end := listEnd(s.sql, s.i)
	if end < 0 {
		return false
	}
	at := len(s.lits)
	s.lits = append(s.lits, s.sql[s.i:end]...)
	s.lits = append(s.lits, 0)
	s.vary(listed, s.i, end, at)
	s.i = end + 1
	return true
}

func (s *scanner) closeParen() {
	s.i++
	if s.depth == 0 {
		s.put(')')
		s.prev = tClose
		return
	}
	s.depth--
	if s.depth >= maxDepth {
		s.put(')')
		s.prev = tClose
		return
	}
	g := s.groups[s.depth]
	if g.pure && g.kind != plain {
		s.closeList(g.at, g.kind)
		return
	}
	s.put(')')
	s.prev = tClose
	if g.kind == values {
		s.moreRows()
	} else {
		s.impure()
	}
}

// closeList writes the collapsed form of a list that began at a place in the shape.
func (s *scanner) closeList(at int, kind list) {
	s.o = at
	if kind == tuple {
		s.put('?')
		s.prev, s.string = tLiteral, false
		return
	}
	s.puts("(?+)")
	s.prev = tClose
	if kind == values {
		s.moreRows()
	} else {
		s.impure()
	}
}

// moreRows skips the further rows of VALUES (...), (...): the first one stands for all.
func (s *scanner) moreRows() {
	start := s.i
	end, open := skipRows(s.sql, s.i)
	if open {
		s.open = true
	}
	at := len(s.lits)
	if end > start {
		s.lits = append(s.lits, s.sql[start:end]...)
		s.lits = append(s.lits, 0)
		s.i = end
	}
	s.vary(rows, start, end, at)
}

// listEnd returns the place of the parenthesis that closes a list of plain
// values (numbers, strings, NULL, TRUE, FALSE, ?) whose first one is at i, or
// -1 if there is anything else in it.
func listEnd(sql []byte, i int) int {
	if end := skipNumbers(sql, i); end > i && end < len(sql) && sql[end] == ')' {
		return end
	}
	for {
		i = skipSpace(sql, i)
		if i = plainValue(sql, i); i < 0 {
			return -1
		}
		i = skipSpace(sql, i)
		if i == len(sql) {
			return -1
		}
		switch sql[i] {
		case ')':
			return i
		case ',':
			i++
		default:
			return -1
		}
	}
}

// plainValue returns the end of the plain value at i, or -1.
func plainValue(sql []byte, i int) int {
	if i >= len(sql) {
		return -1
	}
	switch c := sql[i]; {
	case isDigit(c):
		return valueEnd(sql, i)
	case c == '\'' || c == '"':
		end, closed := stringEnd(sql, i, c)
		if !closed {
			return -1
		}
		return end
	case c == '-' && i+1 < len(sql) && isDigit(sql[i+1]):
		return valueEnd(sql, i+1)
	case c == '?':
		return i + 1
	}
	return nullEnd(sql, i)
}

// valueEnd returns the end of the decimal number at i, or -1 if it is no number.
func valueEnd(sql []byte, i int) int {
	i = digitsEnd(sql, i)
	if i < len(sql) && sql[i] == '.' {
		i = fraction(sql, i)
	} else if i < len(sql) && sql[i]|0x20 == 'e' {
		i = exponent(sql, i)
	}
	if i < len(sql) && (lowerWord[sql[i]] != 0 || sql[i] == '.') {
		return -1
	}
	return i
}

// nullEnd returns the end of the NULL, TRUE or FALSE at i, or -1.
func nullEnd(sql []byte, i int) int {
	end := i
	for end < len(sql) && end < i+6 && lowerWord[sql[end]] != 0 {
		end++
	}
	var word [6]byte
	for k, c := range sql[i:end] {
		word[k] = lower(c)
	}
	switch string(word[:end-i]) {
	case "null", "true", "false":
		return end
	}
	return -1
}

// skipNumbers returns the end of a run of digits, commas, dots and white
// space, sixteen bytes at a time.
func skipNumbers(sql []byte, i int) int {
	for i+16 <= len(sql) {
		end := inNumbers(binary.LittleEndian.Uint64(sql[i:])) & high
		if end == 0 {
			i += 8
			if end = inNumbers(binary.LittleEndian.Uint64(sql[i:])) & high; end == 0 {
				i += 8
				continue
			}
		}
		i += bits.TrailingZeros64(end) / 8
		if c := sql[i]; c != '.' && c > ' ' {
			return i
		}
		i++
	}
	for i < len(sql) {
		c := sql[i]
		if !isDigit(c) && c != ',' && c != '.' && c > ' ' {
			break
		}
		i++
	}
	return i
}

// inNumbers sets the high bit of the lowest byte of x that is no digit, comma
// or blank; what it sets above that one means nothing.
func inNumbers(x uint64) uint64 {
	digit := (x ^ '0'*ones) + (0x7f-9)*ones
	comma := (x ^ ','*ones) + low
	space := (x ^ ' '*ones) + low
	return digit&comma&space | x
}

// skipRows returns the end of the rows of VALUES that follow a first one: any
// number of ", ( ... )". It says whether the text ends inside a quote or comment.
func skipRows(sql []byte, i int) (end int, open bool) {
	end = i
	for {
		j := skipSpace(sql, end)
		if j >= len(sql) || sql[j] != ',' {
			return end, false
		}
		j = skipSpace(sql, j+1)
		if j >= len(sql) || sql[j] != '(' {
			return end, false
		}
		if last := listEnd(sql, j+1); last >= 0 {
			end = last + 1
			continue
		}
		if end, open = skipParens(sql, j); open {
			return end, true
		}
	}
}

func skipSpace(sql []byte, i int) int {
	for i < len(sql) && sql[i] <= ' ' {
		i++
	}
	return i
}

// skipParens returns the position after the parenthesis that closes the one at i.
func skipParens(sql []byte, i int) (end int, open bool) {
	depth := 0
	for i < len(sql) {
		switch c := sql[i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1, false
			}
		case '\'', '"':
			e, closed := stringEnd(sql, i, c)
			if !closed {
				return e, true
			}
			i = e
			continue
		case '/':
			if i+1 < len(sql) && sql[i+1] == '*' {
				e := commentEnd(sql, i+2)
				if e < 0 {
					return len(sql), true
				}
				i = e
				continue
			}
		}
		i++
	}
	return len(sql), false
}

// commentEnd returns the position after the next */, or -1.
func commentEnd(sql []byte, i int) int {
	n := bytes.Index(sql[min(i, len(sql)):], []byte("*/"))
	if n < 0 {
		return -1
	}
	return i + n + 2
}
