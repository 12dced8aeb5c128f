package querylog

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// csvGrammar reads rows of mysql.slow_log and mysql.general_log: exported with
// a header line (RFC 4180), the storage engine's own file (no header,
// backslash escapes), or lines of tabs with backslash escapes, as the mysql
// client and SELECT ... INTO OUTFILE write them. MySQL's and MariaDB's columns
// come in one order.
type csvGrammar struct {
	general bool
	engine  bool
	tabs    bool
	columns columns
}

// columns are the positions of the fields, -1 for none.
type columns struct {
	time, user, duration, sent, examined, db, text, thread, affected, command int
}

func slowColumns() columns {
	return columns{time: 0, user: 1, duration: 2, sent: 4, examined: 5, db: 6, text: 10, thread: 11, affected: 12, command: -1}
}

func generalColumns() columns {
	return columns{time: 0, user: 1, duration: -1, sent: -1, examined: -1, db: -1, text: 5, thread: 2, affected: -1, command: 4}
}

// namedColumns reads the positions from a header line.
func namedColumns(fields [][]byte) columns {
	c := columns{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
	for i, f := range fields {
		switch string(bytes.ToLower(bytes.Trim(f, `"`))) {
		case "start_time", "event_time":
			c.time = i
		case "user_host":
			c.user = i
		case "query_time":
			c.duration = i
		case "rows_sent":
			c.sent = i
		case "rows_examined":
			c.examined = i
		case "rows_affected":
			c.affected = i
		case "db":
			c.db = i
		case "sql_text", "argument":
			c.text = i
		case "thread_id":
			c.thread = i
		case "command_type":
			c.command = i
		}
	}
	return c
}

func (g csvGrammar) parse(b *block, lex *sqltext.Lexer) {
	data, i, row := b.data, 0, int32(0)
	var fields [][]byte
	for i < len(data) {
		end, open := g.rowEnd(data, i)
		if open && !b.last {
			b.tail = i
			break
		}
		var lines int32
		for _, c := range data[i:end] {
			if c == '\n' {
				lines++
			}
		}
		fields = g.split(fields[:0], bytes.TrimRight(data[i:end], "\r\n"))
		g.row(b, lex, fields, i, row)
		i = end
		row += lines
	}
	b.lines = int64(row)
}

// row turns the fields of one row into a record.
func (g csvGrammar) row(b *block, lex *sqltext.Lexer, fields [][]byte, at int, line int32) {
	r := record{at: int32(at), line: line, has: fRowStart}
	c := g.columns
	if len(fields) == 1 && len(fields[0]) == 0 {
		return
	}
	if c.time >= len(fields) || c.text < 0 || c.text >= len(fields) {
		b.faults = append(b.faults, fault{r.at, r.line, errRow})
		return
	}
	t := parseStamp(fields[c.time])
	if t.n == 0 {
		if name := string(fields[c.time]); name != "start_time" && name != "event_time" {
			b.faults = append(b.faults, fault{r.at, r.line, errTime})
		}
		return
	}
	r.stamp, r.has = t.ns, r.has|fStamp
	if t.zoned {
		r.has |= fZoned
	}
	if t.fine {
		r.has |= fFine
	}
	get := func(i int) []byte {
		if i < 0 || i >= len(fields) {
			return nil
		}
		return fields[i]
	}
	where := func(piece []byte) span {
		if len(piece) == 0 {
			return span{}
		}
		from := cap(b.data) - cap(piece)
		return span{int32(from), int32(from + len(piece))}
	}
	if v := get(c.user); len(v) > 0 {
		r.who, r.whoHash, r.has = where(v), xxhash.Sum64(v), r.has|fWho
	}
	if v := get(c.duration); len(v) > 0 {
		if ns, ok := parseClock(v); ok {
			r.duration, r.has = ns, r.has|fDuration
		} else {
			b.faults = append(b.faults, fault{r.at, r.line, errQueryTime})
		}
	}
	number := func(i int, to *uint64, has flags) {
		if v, n := parseUint(get(i)); n > 0 {
			*to, r.has = v, r.has|has
		}
	}
	number(c.sent, &r.sent, fSent)
	number(c.examined, &r.examined, fExamined)
	number(c.affected, &r.affected, fAffected)
	number(c.thread, &r.thread, fThread)
	if v := get(c.db); len(v) > 0 {
		r.db, r.dbHash, r.has = where(v), xxhash.Sum64(v), r.has|fSchema
	}
	if c.affected >= 0 && c.affected < len(fields) {
		r.has |= fMaria
	}
	if cmd := get(c.command); cmd != nil {
		var h generalHead
		if h.command(cmd) == 0 {
			h.kind = KindAdmin
		}
		r.kind = h.kind
	}
	text := trimStatement(get(c.text))
	r.size = int64(len(text))
	if len(text) > MaxStatement {
		text = text[:MaxStatement]
	}
	r.text = where(text)
	r.sum = lex.Sum(text)
	if bytes.HasPrefix(text, ownMark) {
		r.has |= fOwn
	}
	if r.size > MaxStatement {
		r.sum.Text ^= uint64(r.size) * 0x9E3779B97F4A7C15
	}
	b.records = append(b.records, r)
}

// separator stands between fields.
func (g csvGrammar) separator() byte {
	if g.tabs {
		return '\t'
	}
	return ','
}

// tabRowEnd returns the position after the line break that ends the row at i;
// one behind a backslash is part of a field.
func tabRowEnd(data []byte, i int) (end int, open bool) {
	for from := i; ; {
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 {
			return len(data), i > from // a last line may have no end, an escaped break must go on
		}
		i += n + 1
		if !escaped(data, i-1) {
			return i, false
		}
	}
}

// escaped says whether an odd number of backslashes stands before i.
func escaped(data []byte, i int) bool {
	n := 0
	for i-n > 0 && data[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// rowEnd returns the position after the line break that ends the row at i.
func (g csvGrammar) rowEnd(data []byte, i int) (end int, open bool) {
	if g.tabs {
		return tabRowEnd(data, i)
	}
	for i < len(data) {
		switch data[i] {
		case '\n':
			return i + 1, false
		case '"':
			j := g.quoteEnd(data, i)
			if j < 0 {
				return len(data), true
			}
			i = j
			continue
		}
		i++
	}
	return len(data), false
}

// quoteEnd returns the position after the quote that closes the one at i, or -1.
func (g csvGrammar) quoteEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			if g.engine {
				i++
			}
		case '"':
			if !g.engine && i+1 < len(data) && data[i+1] == '"' {
				i++
				continue
			}
			return i + 1
		}
	}
	return -1
}

// split cuts a row into its fields and takes their quotes and escapes off, in place.
func (g csvGrammar) split(fields [][]byte, row []byte) [][]byte {
	if g.tabs {
		return splitTabs(fields, row)
	}
	for i := 0; ; {
		if i < len(row) && row[i] == '"' {
			end := g.quoteEnd(row, i)
			if end < 0 {
				return append(fields, row[i+1:])
			}
			fields = append(fields, g.unescape(row[i+1:end-1]))
			for i = end; i < len(row) && row[i] != ','; i++ {
			}
		} else {
			end := bytes.IndexByte(row[i:], ',')
			if end < 0 {
				return append(fields, row[i:])
			}
			fields = append(fields, row[i:i+end])
			i += end
		}
		if i >= len(row) {
			return fields
		}
		i++
	}
}

// splitTabs cuts a row at the tabs that stand behind no backslash.
func splitTabs(fields [][]byte, row []byte) [][]byte {
	for from, i := 0, 0; ; i++ {
		n := bytes.IndexByte(row[i:], '\t')
		if n < 0 {
			return append(fields, tabField(row[from:]))
		}
		if i += n; !escaped(row[from:], i-from) {
			fields = append(fields, tabField(row[from:i]))
			from = i + 1
		}
	}
}

// tabField undoes the escapes of a field, in place. NULL is empty.
func tabField(b []byte) []byte {
	if string(b) == "NULL" || string(b) == `\N` {
		return b[:0]
	}
	r := bytes.IndexByte(b, '\\')
	if r < 0 {
		return b
	}
	w := r
	for ; r < len(b); r++ {
		c := b[r]
		if c == '\\' && r+1 < len(b) {
			r++
			c = unescaped(b[r])
		}
		b[w] = c
		w++
	}
	return b[:w]
}

// unescape undoes the escapes of a quoted field, in place.
func (g csvGrammar) unescape(b []byte) []byte {
	esc := byte('"')
	if g.engine {
		esc = '\\'
	}
	r := bytes.IndexByte(b, esc)
	if r < 0 {
		return b
	}
	w := r
	for ; r < len(b); r++ {
		c := b[r]
		if c == esc && r+1 < len(b) {
			r++
			c = b[r]
			if g.engine {
				switch c {
				case 'n':
					c = '\n'
				case 'r':
					c = '\r'
				case 't':
					c = '\t'
				}
			}
		}
		b[w] = c
		w++
	}
	return b[:w]
}

// parseClock reads HH:MM:SS.ffffff as nanoseconds.
func parseClock(b []byte) (int64, bool) {
	h, n := parseUint(b)
	if n == 0 || n+6 > len(b) || b[n] != ':' || b[n+3] != ':' || h > maxSeconds/3600 {
		return 0, false
	}
	m := num2(b[n+1:])
	s, _, ok := parseSeconds(b[n+4:])
	if m < 0 || !ok {
		return 0, false
	}
	return (int64(h)*3600+int64(m)*60)*1e9 + s, true
}

func (g csvGrammar) lastCut(data []byte) int {
	for end := len(data); ; {
		i := bytes.LastIndexByte(data[:end], '\n')
		if i < 0 {
			return 0
		}
		if g.cut(data, i+1) {
			return i + 1
		}
		end = i
	}
}

func (g csvGrammar) firstCut(data []byte, from int) int {
	for i := max(from-1, 0); ; {
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		if g.cut(data, i) {
			return i
		}
	}
}

// cut says whether a row begins at i, a beginning of a line.
func (g csvGrammar) cut(data []byte, i int) bool {
	if g.tabs {
		return i < len(data) && !escaped(data, i-1)
	}
	return csvCut(data, i)
}

// csvCut says whether the line at i begins with a time, as a row does.
func csvCut(data []byte, i int) bool {
	if i < len(data) && data[i] == '"' {
		i++
	}
	if i+20 > len(data) {
		return false
	}
	t := parseStamp(data[i : i+20])
	return t.n >= 19 && data[i+10] == ' '
}
