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

	shape  []byte
	lits   []byte
	groups [maxDepth]group
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
	open := l.scan(sql)
	h := xxhash.Sum64(l.shape)
	t := xxhash.Sum64(l.lits)
	return Sum{Shape: h, Text: (t ^ h) * 0x9E3779B97F4A7C15, Open: open}
}

// Shape returns the shape of the statement last given to Sum. It is valid
// until the next call.
func (l *Lexer) Shape() []byte { return l.shape }

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
}

// scan writes the shape and the literals of a statement into the buffers and
// says whether the text ends inside a quote or a comment.
func (l *Lexer) scan(sql []byte) (open bool) {
	if need := 2*len(sql) + 64; cap(l.shape) < need {
		l.shape = make([]byte, 0, need+need/4)
	}
	s := scanner{sql: sql, out: l.shape[:cap(l.shape)], lits: l.lits[:0], limit: -1, fold: l.FoldDigits, groups: &l.groups}
	s.run()
	s.finish()
	l.shape, l.lits = s.out[:s.o], s.lits
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
			s.lineComment()
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

// word copies an identifier or a keyword in lower case.
func (s *scanner) word() {
	s.impure()
	before := s.o
	s.space()
	start := s.o
	sql, i, o := s.sql, s.i, s.o
	for i < len(sql) {
		c := lowerWord[sql[i]]
		if c == 0 {
			break
		}
		s.out[o] = c
		o++
		i++
	}
	s.i, s.o = i, o
	if s.fold {
		s.foldDigits(start)
	}
	s.keyword(before, start)
}

// keyword gives the words that matter for the shape their meaning: some are
// values, some are dropped.
func (s *scanner) keyword(before, start int) {
	if s.prev == tDot { // t.limit is a name
		s.kw, s.prev = kwNone, tWord
		return
	}
	kw := keywordOf(s.out[start:s.o])
	switch kw {
	case kwNull, kwBool:
		if s.prev != tWord || s.kw != kwIs && s.kw != kwNot {
			n := s.o - start
			s.o = before
			s.pureAgain()
			s.literal(s.i-n, s.i, false)
			return
		}
	case kwAsc:
		s.o = before
		return
	case kwOffset:
		if s.limit == before {
			s.o = before
			s.swallow = true
			return
		}
	}
	s.kw, s.prev = kw, tWord
}

// pureAgain takes back the last impure: the word was a value.
func (s *scanner) pureAgain() {
	if s.depth == 0 || s.depth > maxDepth {
		return
	}
	g := &s.groups[s.depth-1]
	g.pure = onlyValues(s.out[g.at+1 : s.o])
}

// onlyValues says whether a part of a shape is nothing but ? and separators.
func onlyValues(b []byte) bool {
	for _, c := range b {
		if c != '?' && c != ',' && c != ' ' {
			return false
		}
	}
	return true
}

// foldDigits replaces runs of digits in the word just written by N.
func (s *scanner) foldDigits(start int) {
	w := start
	for r := start; r < s.o; r++ {
		c := s.out[r]
		if c >= '0' && c <= '9' {
			if w > start && s.out[w-1] == 'N' {
				continue
			}
			c = 'N'
		}
		s.out[w] = c
		w++
	}
	s.o = w
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

// dropIntroducer removes _utf8mb4, _binary or N before a string.
func (s *scanner) dropIntroducer() {
	w := s.o
	for w > 0 && lowerWord[s.out[w-1]] != 0 {
		w--
	}
	name := s.out[w:s.o]
	if len(name) == 0 || name[0] != '_' && !(len(name) == 1 && (name[0] == 'n' || name[0] == 'x' || name[0] == 'b')) {
		return
	}
	s.o = w
	if w > 0 && s.out[w-1] == ' ' {
		s.o--
	}
	s.prev = prevOf(s.out[:s.o])
	s.kw = kwNone
	if s.prev == tWord {
		b := s.o
		for b > 0 && lowerWord[s.out[b-1]] != 0 {
			b--
		}
		s.kw = keywordOf(s.out[b:s.o])
	}
	s.pureAgain()
}

// prevOf finds the kind of the token that a shape ends with.
func prevOf(out []byte) token {
	if len(out) == 0 {
		return tNone
	}
	switch classOf[out[len(out)-1]] {
	case cMark:
		return tLiteral
	case cOpen:
		return tOpen
	case cClose:
		return tClose
	case cComma:
		return tComma
	case cDot:
		return tDot
	case cSemicolon:
		return tSemicolon
	case cWord, cDigit, cBacktick:
		return tWord
	}
	return tOperator
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
	s.literal(s.i, i, false)
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
	s.literal(s.i, end, true)
	s.i = end
}

// stringEnd returns the end of the string that begins at i, with doubled
// quotes and backslashes read as escapes.
func stringEnd(sql []byte, i int, q byte) (end int, closed bool) {
	for i++; i < len(sql); i++ {
		switch sql[i] {
		case '\\':
			i++
		case q:
			if i+1 < len(sql) && sql[i+1] == q {
				i++
				continue
			}
			return i + 1, true
		}
	}
	return len(sql), false
}

// backtick copies a quoted name: without its quotes where it needs none.
func (s *scanner) backtick() {
	s.impure()
	end := s.i + 1
	bare := true
	for end < len(s.sql) && s.sql[end] != '`' {
		bare = bare && lowerWord[s.sql[end]] != 0
		end++
	}
	if end == len(s.sql) {
		s.open = true
	}
	s.space()
	start := s.o
	if !bare {
		s.put('`')
	}
	for _, c := range s.sql[s.i+1 : end] {
		s.put(lower(c))
	}
	if !bare && end < len(s.sql) {
		s.put('`')
	}
	if s.fold {
		s.foldDigits(start)
	}
	s.i = min(end+1, len(s.sql))
	s.prev, s.kw = tWord, kwNone
}

func (s *scanner) dot() {
	if s.prev != tWord && s.prev != tClose && s.i+1 < len(s.sql) && isDigit(s.sql[s.i+1]) {
		end := fraction(s.sql, s.i)
		s.literal(s.i, end, false)
		s.i = end
		return
	}
	s.impure()
	s.i++
	s.put('.')
	s.prev = tDot
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

// minus reads a comment, a sign or an operator.
func (s *scanner) minus() {
	sql, i := s.sql, s.i
	if i+1 < len(sql) && sql[i+1] == '-' && (i+2 == len(sql) || sql[i+2] <= ' ') {
		s.lineComment()
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

func (s *scanner) lineComment() {
	for s.i < len(s.sql) && s.sql[s.i] != '\n' {
		s.i++
	}
}

// slash reads a comment or a division.
func (s *scanner) slash() {
	sql, i := s.sql, s.i
	if i+1 >= len(sql) || sql[i+1] != '*' {
		s.operator()
		return
	}
	j := i + 2
	if j < len(sql) && (sql[j] == '!' || sql[j] == 'M' && j+1 < len(sql) && sql[j+1] == '!') {
		for j < len(sql) && (sql[j] == '!' || sql[j] == 'M' || isDigit(sql[j])) {
			j++
		}
		s.executable++
		s.i = j
		return
	}
	for ; j+1 < len(sql); j++ {
		if sql[j] == '*' && sql[j+1] == '/' {
			s.i = j + 2
			return
		}
	}
	s.open = true
	s.i = len(sql)
}

// operator copies one operator.
func (s *scanner) operator() {
	sql, i := s.sql, s.i
	c := sql[i]
	if c == '*' && s.executable > 0 && i+1 < len(sql) && sql[i+1] == '/' {
		s.executable--
		s.i += 2
		return
	}
	s.impure()
	end := i + 1
	switch c {
	case '<', '>', '=', '!', '|', '&', ':':
		for end < len(sql) && (sql[end] == '=' || sql[end] == '>' || sql[end] == '<' || sql[end] == '|' || sql[end] == '&') {
			end++
		}
	case '-':
		for end < len(sql) && sql[end] == '>' {
			end++
		}
	}
	s.space()
	for _, c := range sql[i:end] {
		s.put(c)
	}
	s.i = end
	s.prev = tOperator
}

// openParen begins a group, or reads a whole list of numbers at once.
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
	if kind != plain && s.numbers() {
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

// numbers skips a list of plain numbers up to and with its closing
// parenthesis; it leaves everything as it was when there is something else.
func (s *scanner) numbers() bool {
	end := skipNumbers(s.sql, s.i)
	if end == s.i || end >= len(s.sql) || s.sql[end] != ')' {
		return false
	}
	s.lits = append(s.lits, s.sql[s.i:end]...)
	s.lits = append(s.lits, 0)
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
	if end > start {
		s.lits = append(s.lits, s.sql[start:end]...)
		s.lits = append(s.lits, 0)
		s.i = end
	}
}
