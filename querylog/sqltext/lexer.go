// Package sqltext turns SQL statements into shapes: the statement with its
// literals, comments, white space and letter case taken away, so that runs of
// one statement with different values fall into one class.
//
// It is a lexer, not a parser: it never fails, whatever the bytes are, and
// makes one table-driven pass without allocation.
package sqltext

import "github.com/cespare/xxhash/v2"

// Lexer shapes statements. The zero value is ready. It keeps its buffers from
// call to call, so it is not safe for concurrent use.
type Lexer struct {
	// FoldDigits replaces each run of digits inside an identifier by N, so
	// that orders_20240101 and orders_20240102 become one class.
	FoldDigits bool

	shape    []byte
	lits     []byte
	groups   [maxDepth]group
	variable []variable // of the last scan
	patterns patterns
}

// Sum identifies a statement.
type Sum struct {
	Shape uint64 // hash of the shape: the class
	Text  uint64 // hash of the shape and of every literal: the identical statement
	Open  bool   // the text ends inside a string, a quoted name or a comment
}

// Sum returns the hashes of a statement. Comments, white space and letter case
// outside of strings do not count, so statements that differ only in a trace
// id have one Text.
func (l *Lexer) Sum(sql []byte) Sum {
	if shape, ok := l.recall(sql); ok {
		return l.sum(shape, false)
	}
	open := l.scan(sql)
	shape := xxhash.Sum64(l.shape)
	if !open {
		l.remember(sql, shape)
	}
	return l.sum(shape, open)
}

// sum adds the literals of the last statement to the hash of its shape.
func (l *Lexer) sum(shape uint64, open bool) Sum {
	return Sum{Shape: shape, Text: (xxhash.Sum64(l.lits) ^ shape) * 0x9E3779B97F4A7C15, Open: open}
}

// AppendShape appends the shape of a statement to dst.
func (l *Lexer) AppendShape(dst, sql []byte) []byte {
	l.scan(sql)
	return append(dst, l.shape...)
}

// token is the kind of the token written last.
type token uint8

const (
	tNone token = iota
	tWord
	tLiteral
	tOpen
	tClose
	tComma
	tDot
	tOperator
	tSemicolon
)

// group is what an open parenthesis holds.
type group struct {
	at   int  // position of the parenthesis in the shape
	kind list // how it may be collapsed
	pure bool // nothing but literals and commas so far
}

// list is the kind of a parenthesis.
type list uint8

const (
	plain  list = iota // kept as it is
	inList             // IN (...)
	tuple              // a row inside an IN list
	values             // a row of VALUES
)

// maxDepth is how deep parentheses are followed; deeper ones are kept as they are.
const maxDepth = 64

// scanner is the state of one pass.
type scanner struct {
	sql  []byte
	i    int
	out  []byte
	o    int
	lits []byte

	prev   token
	kw     keyword // of the last word, while prev is tWord
	string bool    // the last literal was a string
	open   bool
	fold   bool

	executable int // depth of /*! ... */
	limit      int // where the literal after LIMIT ends in the shape, else -1
	swallow    bool

	depth  int
	groups *[maxDepth]group

	variable []variable
}

// scan writes the shape and the literals of a statement into the buffers and
// says whether the text ends inside a quote or a comment.
func (l *Lexer) scan(sql []byte) (open bool) {
	if need := 2*len(sql) + 64; cap(l.shape) < need {
		l.shape = make([]byte, 0, need+need/4)
	}
	s := scanner{sql: sql, out: l.shape[:cap(l.shape)], lits: l.lits[:0], limit: -1, fold: l.FoldDigits, groups: &l.groups, variable: l.variable[:0]}
	s.run()
	s.finish()
	l.shape, l.lits, l.variable = s.out[:s.o], s.lits, s.variable
	return s.open
}

func (s *scanner) run() {
	for s.i < len(s.sql) {
		c := s.sql[s.i]
		switch classOf[c] {
		case cSpace:
			s.i++
		case cWord:
			s.word()
		case cDigit:
			s.number()
		case cQuote:
			s.quoted(c)
		case cBacktick:
			s.backtick()
		case cOpen:
			s.openParen()
		case cClose:
			s.closeParen()
		case cComma:
			s.comma()
		case cMark:
			s.literal(s.i, s.i+1, false)
			s.i++
		case cDot:
			s.dot()
		case cSemicolon:
			s.i++
			s.limit = -1
			if s.prev != tNone && s.prev != tSemicolon {
				s.put(';')
				s.prev = tSemicolon
			}
		case cHash:
			s.lineComment(1)
		case cMinus:
			s.minus()
		case cSlash:
			s.slash()
		default:
			s.operator()
		}
	}
}

// finish closes a list that was cut off and trims trailing separators.
func (s *scanner) finish() {
	for d := min(s.depth, maxDepth) - 1; d >= 0; d-- {
		if g := s.groups[d]; g.pure && g.kind != plain {
			s.o = g.at
			s.puts("(?+)")
		}
	}
	for s.o > 0 && (s.out[s.o-1] == ';' || s.out[s.o-1] == ' ') {
		s.o--
	}
}

func (s *scanner) put(c byte) {
	s.out[s.o] = c
	s.o++
}

func (s *scanner) puts(t string) { s.o += copy(s.out[s.o:], t) }

// space writes the blank that goes before a word or a literal.
func (s *scanner) space() {
	switch s.prev {
	case tNone, tOpen, tDot:
	default:
		s.put(' ')
	}
}

// impure notes that the parenthesis holds more than literals.
func (s *scanner) impure() {
	if s.depth > 0 && s.depth <= maxDepth {
		s.groups[s.depth-1].pure = false
	}
}

func (s *scanner) comma() {
	s.i++
	if s.limit == s.o && s.prev == tLiteral {
		s.swallow = true // LIMIT 10, 20
		return
	}
	s.put(',')
	s.prev = tComma
}
