package querylog

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// slowGrammar reads the slow query log in all its forms.
type slowGrammar struct{}

// slowScan reads one block.
type slowScan struct{ lineScan }

func (slowGrammar) parse(b *block, lex *sqltext.Lexer) {
	s := slowScan{lineScan{block: b, lex: lex, data: b.data}}
	for s.i < len(s.data) && s.tail < 0 {
		s.record()
	}
	s.end()
	s.lines = int64(s.row)
}

// record reads one record: header lines, use, SET timestamp, statement.
func (s *slowScan) record() {
	r := s.begin()
	header, admin := s.header(r)
	switch {
	case admin:
	case s.i >= len(s.data):
		if header && r.has&(fDuration|fWho) != 0 {
			s.faults = append(s.faults, fault{r.at, r.line, errCutOff})
		}
		return
	case !header:
		s.stray(r)
		return
	default:
		if !s.body(r) {
			return
		}
	}
	if r.has&(fDuration|fWho|fStamp|fThread) == 0 {
		s.faults = append(s.faults, fault{r.at, r.line, errTail})
		return
	}
	s.kept++
}

// header reads the lines that begin with # and the server's banners. admin
// says that the last of them was the statement.
func (s *slowScan) header(r *record) (header, admin bool) {
	for s.i < len(s.data) {
		end, next := lineEnd(s.data, s.i)
		line := s.data[s.i:end]
		switch {
		case len(line) > 0 && line[0] == '#':
			if cmd, ok := adminCommand(line); ok {
				s.admin(r, end-len(cmd), end)
				s.advance(next)
				return true, true
			}
			s.headerLine(r, line)
			header = true
		case isBanner(line):
			s.banner(line)
			if !header {
				r.at, r.line = int32(next), s.row+1
				s.marked = len(s.marks)
			}
		case len(line) == 0 && !header, isBannerTail(line):
			if !header {
				r.at, r.line = int32(next), s.row+1
			}
		default:
			return header, false
		}
		s.advance(next)
	}
	return header, false
}

// stray skips text before the first header: the end of a statement whose
// beginning is in an older file.
func (s *slowScan) stray(r *record) {
	s.faults = append(s.faults, fault{r.at, r.line, errTail})
	end, row := s.boundary(s.i)
	s.i, s.row = end, row
}

// admin takes an administrator command as the statement.
func (s *slowScan) admin(r *record, from, to int) {
	for to > from && (s.data[to-1] == ';' || s.data[to-1] <= ' ') {
		to--
	}
	r.kind = KindAdmin
	r.text = span{int32(from), int32(to)}
	r.size = int64(to - from)
	r.sum = s.lex.Sum(s.data[from:to])
}

// body reads use, SET timestamp and the statement. It returns false when the
// next block is needed.
func (s *slowScan) body(r *record) bool {
	for s.i < len(s.data) {
		if !beforeStatement(s.data[s.i:]) {
			return s.statement(r)
		}
		end, next := lineEnd(s.data, s.i)
		line := s.data[s.i:end]
		if cmd, ok := adminCommand(line); ok {
			s.admin(r, end-len(cmd), end)
			s.advance(next)
			return true
		}
		if ts, ok := setTimestamp(line); ok && r.has&fSet == 0 {
			r.set, r.has = ts, r.has|fSet
		} else if db, ok := useLine(line); ok && r.has&fUse == 0 && next < len(s.data) && !s.head(next) {
			at := int32(s.i) + int32(db.from)
			r.db, r.has = span{at, at + db.to - db.from}, r.has|fUse
			r.dbHash = xxhash.Sum64(r.db.of(s.data))
		} else {
			return s.statement(r)
		}
		s.advance(next)
		if s.i < len(s.data) && s.data[s.i] == '#' && isHead(s.data[s.i:], true) {
			break
		}
	}
	if s.i >= len(s.data) && !s.block.last {
		// Its statement can be in the next block only if the cut was wrong.
		s.undecided(r)
		return false
	}
	r.kind, r.text = KindAdmin, span{int32(s.i), int32(s.i)}
	return true
}

// beforeStatement says whether a line may be one that stands before the
// statement, without a look for its end.
func beforeStatement(line []byte) bool {
	if len(line) < 4 {
		return true
	}
	switch line[0] {
	case '#', '\r', '\n':
		return true
	case 'S':
		return string(line[:4]) == "SET "
	case 'u', 'U':
		return line[3] == ' '
	}
	return false
}

// statement takes the text that begins here. It returns false when the next
// block is needed.
func (s *slowScan) statement(r *record) bool {
	if !s.text(r, s.i, s) {
		return false
	}
	if isThrottle(r.text.of(s.data)) {
		r.has |= fThrottle
		r.kind = KindAdmin
	}
	return true
}

// pass skips the header lines at i, so that one header counts as one beginning.
func (s *slowScan) pass(i int) int {
	for i < len(s.data) && s.data[i] == '#' {
		_, next := lineEnd(s.data, i)
		s.row++
		i = next
	}
	return i
}

// boundary returns the next position after i where a record begins, and its row.
func (s *slowScan) boundary(i int) (int, int32) {
	data, row := s.data, s.row
	for {
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 {
			return len(data), row
		}
		i += n + 1
		row++
		if i >= len(data) {
			return len(data), row
		}
		switch c := data[i]; {
		case c == '#':
			if isHead(data[i:], endsStatement(data, i)) {
				return i, row
			}
		case c == '/' || c >= 'A' && c <= 'z':
			if endsStatement(data, i) && bannerAt(data, i) {
				return i, row
			}
		}
	}
}

// head says whether a record or a banner begins at i, a beginning of a line.
func (s *slowScan) head(i int) bool {
	return s.data[i] == '#' && isHead(s.data[i:], true) || bannerAt(s.data, i)
}

// endsStatement says whether the line before i ends with a semicolon.
func endsStatement(data []byte, i int) bool {
	i -= 2
	if i >= 0 && data[i] == '\r' {
		i--
	}
	return i >= 0 && data[i] == ';'
}

var (
	adminPrefix = []byte("# administrator command: ")
	strongHeads = [][]byte{[]byte("# Time:"), []byte("# User@Host:")}
	weakHeads   = [][]byte{
		[]byte("# Query_time:"), []byte("# Thread_id:"), []byte("# Schema:"), []byte("# Client:"),
		[]byte("# User:"),
	}
)

// adminCommand returns what follows "# administrator command: ".
func adminCommand(line []byte) ([]byte, bool) {
	if len(line) < len(adminPrefix) || line[2] != 'a' {
		return nil, false
	}
	return bytes.CutPrefix(line, adminPrefix)
}

// isHead says whether a line is the first one of a record. Some keys only
// count after the end of a statement, because comments of SQL look like them.
func isHead(line []byte, afterStatement bool) bool {
	if len(line) < 7 || line[1] != ' ' {
		return false
	}
	switch line[2] {
	case 'T', 'U', 'Q', 'S', 'C':
	default:
		return false
	}
	for _, h := range strongHeads {
		if bytes.HasPrefix(line, h) {
			return true
		}
	}
	if afterStatement {
		for _, h := range weakHeads {
			if bytes.HasPrefix(line, h) {
				return true
			}
		}
	}
	return false
}

func (slowGrammar) lastCut(data []byte) int {
	for end := len(data); end > 1; {
		i := bytes.LastIndex(data[:end], newlineHash)
		if i < 0 {
			return 0
		}
		if endsStatement(data, i+1) && isHead(data[i+1:], true) {
			return i + 1
		}
		end = i + 1
	}
	return 0
}

func (slowGrammar) firstCut(data []byte, from int) int {
	for i := max(from-1, 0); ; {
		n := bytes.Index(data[i:], newlineHash)
		if n < 0 {
			return 0
		}
		i += n + 1
		if endsStatement(data, i) && isHead(data[i:], true) {
			return i
		}
	}
}

var newlineHash = []byte("\n# ")

// useLine reads "use db;" and returns the place of the name in the line.
func useLine(line []byte) (span, bool) {
	if len(line) < 6 || line[len(line)-1] != ';' || line[3] != ' ' ||
		line[0]|0x20 != 'u' || line[1]|0x20 != 's' || line[2]|0x20 != 'e' {
		return span{}, false
	}
	from, to := 4, len(line)-1
	for from < to && (line[from] == ' ' || line[from] == '`') {
		from++
	}
	for to > from && (line[to-1] == ' ' || line[to-1] == '`') {
		to--
	}
	if bytes.IndexByte(line[from:to], ';') >= 0 {
		return span{}, false
	}
	return span{int32(from), int32(to)}, true
}

// setTimestamp reads "SET timestamp=1796062211;", also with last_insert_id or
// insert_id before it, as nanoseconds.
func setTimestamp(line []byte) (int64, bool) {
	if len(line) < 16 || !bytes.HasPrefix(line, []byte("SET ")) {
		return 0, false
	}
	rest := line[4:]
	for {
		for len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		if v, ok := bytes.CutPrefix(rest, []byte("timestamp=")); ok {
			ns, n, ok := parseEpoch(v)
			return ns, ok && n < len(v) && v[n] == ';' && n+1 == len(v)
		}
		if !bytes.HasPrefix(rest, []byte("insert_id=")) && !bytes.HasPrefix(rest, []byte("last_insert_id=")) {
			return 0, false
		}
		comma := bytes.IndexByte(rest, ',')
		if comma < 0 {
			return 0, false
		}
		rest = rest[comma+1:]
	}
}

// parseEpoch reads Unix seconds with an optional fraction.
func parseEpoch(b []byte) (ns int64, n int, ok bool) {
	v, n := parseUint(b)
	if n == 0 || n > 10 {
		return 0, n, false
	}
	ns = int64(v) * 1e9
	if n < len(b) && b[n] == '.' {
		for n++; n < len(b) && b[n] >= '0' && b[n] <= '9'; n++ {
		}
	}
	return ns, n, true
}

// isThrottle recognises MySQL's line about suppressed statements, whose times are sums.
func isThrottle(text []byte) bool {
	return bytes.HasPrefix(text, []byte("throttle: ")) && bytes.HasSuffix(text, []byte("suppressed."))
}
