package sqltext

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
