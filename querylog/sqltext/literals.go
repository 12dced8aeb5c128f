package sqltext

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes are looked at as one word; see Warren, Hacker's Delight, chapter 6.
const (
	ones = 0x0101010101010101
	low  = 0x7f * ones
	high = 0x80 * ones
)

// isZero sets the high bit of the lowest byte of x that is zero; what it sets
// above that one, or in other bits, means nothing.
func isZero(x uint64) uint64 { return (x - ones) &^ x }

// isDigits sets the high bit of each byte of x that is a digit.
func isDigits(x uint64) uint64 {
	x ^= '0' * ones // digits become 0..9
	return ^((x&low + (0x7f-9)*ones) | x) & high
}

// digitsEnd returns the end of the digits at i.
func digitsEnd(sql []byte, i int) int {
	for i+8 <= len(sql) {
		x := binary.LittleEndian.Uint64(sql[i:])
		if other := ((x ^ '0'*ones) + (0x7f-9)*ones | x) & high; other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
		i += 8
	}
	for i < len(sql) && isDigit(sql[i]) {
		i++
	}
	return i
}

// literal writes one ? for the literal sql[from:to].
func (s *scanner) literal(from, to int, str bool) {
	s.lits = append(s.lits, s.sql[from:to]...)
	s.lits = append(s.lits, 0)
	if s.swallow {
		s.swallow = false
		return
	}
	if s.prev == tLiteral && str && s.string {
		return // 'a' 'b' is one string
	}
	if s.prev == tWord && str {
		s.dropIntroducer()
	}
	afterLimit := s.prev == tWord && s.kw == kwLimit
	s.space()
	s.put('?')
	s.prev, s.string = tLiteral, str
	if afterLimit {
		s.limit = s.o
	}
}

// number reads a number, or a name that begins with a digit.
func (s *scanner) number() {
	sql, i := s.sql, s.i
	for i < len(sql) && isDigit(sql[i]) {
		i++
	}
	if i < len(sql) && lowerWord[sql[i]] != 0 {
		if end := numberTail(sql, s.i, i); end > 0 {
			i = end
		} else {
			s.word()
			return
		}
	} else if i < len(sql) && sql[i] == '.' && s.prev != tDot {
		i = fraction(sql, i)
	}
	from, at, kind := s.i, len(s.lits), fixed
	switch {
	case s.prev == tDot:
	case plainNumber(sql, from) == i:
		kind = number
	case i > from+2 && sql[from+1] == 'x':
		kind = hexadecimal
	}
	s.literal(from, i, false)
	s.vary(kind, from, i, at)
	s.i = i
}

// numberTail ends a number that goes on with a letter: 0xAF, 0b1, 1e5. It
// returns 0 when it is a name such as 2fa_tokens.
func numberTail(sql []byte, start, i int) int {
	end := i
	switch c := sql[i] | 0x20; {
	case (c == 'x' || c == 'b') && i == start+1 && sql[start] == '0':
		for end++; end < len(sql) && isHex(sql[end]); end++ {
		}
	case c == 'e':
		if end = exponent(sql, i); end == i {
			return 0
		}
	}
	if end == i || end < len(sql) && lowerWord[sql[end]] != 0 {
		return 0
	}
	return end
}

// fraction reads .5 or .5e-10 from the dot on.
func fraction(sql []byte, i int) int {
	for i++; i < len(sql) && isDigit(sql[i]); i++ {
	}
	if i < len(sql) && sql[i]|0x20 == 'e' {
		return exponent(sql, i)
	}
	return i
}

// exponent reads e5, e-5 or e+5; it returns i when there is none.
func exponent(sql []byte, i int) int {
	j := i + 1
	if j < len(sql) && (sql[j] == '-' || sql[j] == '+') {
		j++
	}
	if j >= len(sql) || !isDigit(sql[j]) {
		return i
	}
	for j < len(sql) && isDigit(sql[j]) {
		j++
	}
	return j
}

// quoted reads a string. Double quotes are strings, as in MySQL's default mode.
func (s *scanner) quoted(q byte) {
	end, closed := stringEnd(s.sql, s.i, q)
	if !closed {
		s.open = true
	}
	at := len(s.lits)
	s.literal(s.i, end, true)
	s.vary(quoted, s.i, end, at)
	s.i = end
}

// stringEnd returns the end of the string that begins at i, with doubled
// quotes and backslashes read as escapes.
func stringEnd(sql []byte, i int, q byte) (end int, closed bool) {
	for i++; ; i++ {
		i = skipText(sql, i, q)
		switch {
		case i >= len(sql):
			return len(sql), false
		case sql[i] == '\\':
			i++
		case i+1 < len(sql) && sql[i+1] == q:
			i++
		default:
			return i + 1, true
		}
	}
}

// skipText returns the place of the next quote q or backslash, or the end,
// eight bytes at a time.
func skipText(sql []byte, i int, q byte) int {
	quotes := uint64(q) * ones
	for i+8 <= len(sql) {
		x := binary.LittleEndian.Uint64(sql[i:])
		if found := (isZero(x^quotes) | isZero(x^'\\'*ones)) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
		i += 8
	}
	for i < len(sql) && sql[i] != q && sql[i] != '\\' {
		i++
	}
	return i
}

// minus reads a comment, a sign or an operator.
func (s *scanner) minus() {
	sql, i := s.sql, s.i
	if i+1 < len(sql) && sql[i+1] == '-' && (i+2 == len(sql) || sql[i+2] <= ' ') {
		s.lineComment(len("-- "))
		return
	}
	if s.signHere() {
		j := i + 1
		for j < len(sql) && classOf[sql[j]] == cSpace {
			j++
		}
		if j < len(sql) && (isDigit(sql[j]) || sql[j] == '.') {
			s.lits = append(s.lits, '-')
			s.i = j
			return
		}
	}
	s.operator()
}

// signHere says whether a minus here is a sign and not a subtraction.
func (s *scanner) signHere() bool {
	switch s.prev {
	case tLiteral, tClose:
		return s.swallow
	case tWord:
		return s.kw != kwNone
	}
	return true
}
