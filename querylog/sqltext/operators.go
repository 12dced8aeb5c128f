package sqltext

import "bytes"

// lineComment skips a comment whose mark has n bytes, up to the end of the line.
func (s *scanner) lineComment(n int) {
	from := s.i + n
	if from > len(s.sql) {
		s.i = len(s.sql)
		return
	}
	if s.sql[from-1] == '\n' {
		s.i = from
		return
	}
	s.i = lineEnd(s.sql, from)
	s.vary(remark, from, s.i, len(s.lits))
}

// lineEnd returns the place of the next line break, or the end.
func lineEnd(sql []byte, i int) int {
	if n := bytes.IndexByte(sql[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(sql)
}

// executable says whether the comment whose inside begins at i is read by the
// server: /*! ... */, /*M! ... */.
func executable(sql []byte, i int) bool {
	return i < len(sql) && (sql[i] == '!' || sql[i] == 'M' && i+1 < len(sql) && sql[i+1] == '!')
}

// slash reads a comment or a division.
func (s *scanner) slash() {
	sql, i := s.sql, s.i
	if i+1 >= len(sql) || sql[i+1] != '*' {
		s.operator()
		return
	}
	j := i + 2
	if executable(sql, j) {
		for j < len(sql) && (sql[j] == '!' || sql[j] == 'M' || isDigit(sql[j])) {
			j++
		}
		s.executable++
		s.i = j
		return
	}
	if s.i = commentEnd(sql, j); s.i < 0 {
		s.open = true
		s.i = len(sql)
		return
	}
	s.vary(comment, j, s.i, len(s.lits))
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
