package sqltext

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
