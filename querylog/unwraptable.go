package querylog

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
)

// The columns of the log tables, in their order. The last one is MariaDB's.
var (
	slowNames = []string{
		"start_time", "user_host", "query_time", "lock_time", "rows_sent", "rows_examined", "db",
		"last_insert_id", "insert_id", "server_id", "sql_text", "thread_id", "rows_affected",
	}
	generalNames = []string{"event_time", "user_host", "thread_id", "server_id", "command_type", "argument"}
)

// table is how the rows of an unwrapped log table are written: as the mysql
// client does without a terminal, with a line of names and tabs.
type table struct {
	columns []string
	headed  bool     // the names are written
	names   []string // of the INSERT that is read
	fields  [][]byte
	key     int  // of the field read last, -1 for none
	open    bool // a row goes on with the next line
	pending []byte
	utc     bool // times are those of UTC
}

// row appends a row.
func (u *unwrapper) row(fields [][]byte) {
	t := &u.table
	if !t.headed {
		t.headed = true
		for i, name := range t.columns {
			u.cell(i, []byte(name))
		}
		u.out = append(u.out, '\n')
	}
	for i, f := range fields {
		if t.columns[i] == "sql_text" || t.columns[i] == "argument" {
			f = unhex(f)
		}
		u.cell(i, f)
		if i == 0 && t.utc {
			u.out = append(u.out, 'Z')
		}
	}
	u.out = append(u.out, '\n')
}

// cell appends a field, with what would end it escaped.
func (u *unwrapper) cell(i int, f []byte) {
	if i > 0 {
		u.out = append(u.out, '\t')
	}
	for _, c := range f {
		switch c {
		case '\t':
			u.out = append(u.out, '\\', 't')
		case '\n':
			u.out = append(u.out, '\\', 'n')
		case '\\':
			u.out = append(u.out, '\\', '\\')
		default:
			u.out = append(u.out, c)
		}
	}
}

// unhex reads 0x53454C454354, as clients on a terminal print a binary column.
func unhex(f []byte) []byte {
	digits, ok := bytes.CutPrefix(f, []byte("0x"))
	if !ok || len(digits) == 0 {
		return f
	}
	out, err := hex.DecodeString(string(digits))
	if err != nil {
		return f
	}
	return out
}

// columnsOf says whether names are those of a log table with a time and a text.
func columnsOf(names []string) bool {
	c := namedColumns(split(names))
	return c.time >= 0 && c.text >= 0
}

func split(names []string) [][]byte {
	out := make([][]byte, len(names))
	for i, n := range names {
		out[i] = []byte(n)
	}
	return out
}

// boxRow reads a line of a table that the mysql client drew: names and rows
// between bars. The text of a statement may go on over several lines.
func (u *unwrapper) boxRow() error {
	line, err := u.readLine()
	t := &u.table
	line = bytes.TrimRight(line, "\r\n")
	switch {
	case t.open:
		t.pending = append(append(t.pending, '\n'), line...)
	case bytes.HasPrefix(line, []byte("| ")):
		t.pending = append(t.pending[:0], line...)
	default:
		return err // a border, or what stands around the table
	}
	t.open = !bytes.HasSuffix(t.pending, []byte(" |"))
	switch {
	case t.open && errors.Is(err, io.EOF), len(t.pending) > MaxStatement<<1:
		t.open = false
		u.fault()
	case t.open:
	default:
		u.boxed(t.pending[2 : len(t.pending)-2])
	}
	return err
}

// boxed takes a whole row of a box: fields before the text from the left, those behind it from the right.
func (u *unwrapper) boxed(row []byte) {
	t := &u.table
	bar := []byte(" | ")
	if t.columns == nil || bytes.Contains(row, []byte("user_host")) && slices.Equal(boxNames(row), t.columns) {
		t.columns = boxNames(row)
		return
	}
	left := max(slices.Index(t.columns, "sql_text"), slices.Index(t.columns, "argument"))
	fields := make([][]byte, len(t.columns))
	for i := range left {
		f, rest, ok := bytes.Cut(row, bar)
		if !ok {
			u.fault()
			return
		}
		fields[i], row = bytes.TrimSpace(f), rest
	}
	for i := len(fields) - 1; i > left; i-- {
		at := bytes.LastIndex(row, bar)
		if at < 0 {
			u.fault()
			return
		}
		fields[i], row = bytes.TrimSpace(row[at+len(bar):]), row[:at]
	}
	fields[left] = bytes.TrimRight(row, " ")
	u.row(fields)
}

func boxNames(row []byte) []string {
	var names []string
	for _, f := range bytes.Split(row, []byte("|")) {
		names = append(names, string(bytes.TrimSpace(f)))
	}
	return names
}

// verticalLine reads a line of the client's \G: "sql_text: SELECT 1".
func (u *unwrapper) verticalLine() error {
	line, err := u.readLine()
	t := &u.table
	text := bytes.TrimRight(line, "\r\n")
	key, value, ok := u.verticalField(text)
	switch {
	case isRowMark(text):
		u.endVertical()
		t.fields, t.key, t.open = make([][]byte, len(slowNames)+len(generalNames)), -1, true
	case !t.open:
	case isRowCount(text):
		u.endVertical()
	case ok:
		t.key, t.fields[key] = key, append([]byte{}, value...)
	case t.key >= 0 && len(line) > 0:
		t.fields[t.key] = append(append(t.fields[t.key], '\n'), text...)
	}
	if err != nil {
		u.endVertical()
	}
	return err
}

// verticalField recognises the name of a column that the row does not have yet.
func (u *unwrapper) verticalField(line []byte) (key int, value []byte, ok bool) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !u.table.open {
		return 0, nil, false
	}
	word := string(bytes.TrimSpace(name))
	key = slices.Index(slowNames, word)
	if general := slices.Index(generalNames, word); general >= 0 && key < 0 {
		key = len(slowNames) + general
	}
	if key < 0 || u.table.fields[key] != nil {
		return 0, nil, false
	}
	return key, bytes.TrimPrefix(value, []byte(" ")), true
}

// endVertical appends the row that ends here.
func (u *unwrapper) endVertical() {
	t := &u.table
	if !t.open {
		return
	}
	t.open = false
	if t.columns == nil {
		for i, f := range t.fields {
			if f != nil {
				t.columns = append(t.columns, slices.Concat(slowNames, generalNames)[i])
			}
		}
		if !columnsOf(t.columns) {
			t.columns = nil
			u.fault()
			return
		}
	}
	var row [][]byte
	for i, name := range slices.Concat(slowNames, generalNames) {
		if slices.Contains(t.columns, name) && (i < len(slowNames) || !slices.Contains(slowNames, name)) {
			row = append(row, t.fields[i])
		}
	}
	u.row(row)
}

// isRowMark recognises the line between rows of \G.
func isRowMark(line []byte) bool {
	return bytes.HasPrefix(line, []byte("**********")) && bytes.Contains(line, []byte(". row **********"))
}

// isRowCount recognises the line under the rows: "2 rows in set (0.00 sec)".
func isRowCount(line []byte) bool {
	_, n := parseUint(line)
	return n > 0 && (bytes.HasPrefix(line[n:], []byte(" row in set")) || bytes.HasPrefix(line[n:], []byte(" rows in set")))
}

// isInsert recognises an INSERT of mysqldump into a log table.
func isInsert(line []byte) bool {
	_, _, ok := cutInsert(line)
	return ok
}

// cutInsert takes "INSERT INTO `slow_log` VALUES " off, with or without names
// of columns, and returns those.
func cutInsert(line []byte) (names []string, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(line, []byte("INSERT INTO "))
	if !ok {
		return nil, nil, false
	}
	table, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return nil, nil, false
	}
	switch strings.TrimPrefix(unquoted(table), "mysql.") {
	case "slow_log":
		names = slowNames
	case "general_log":
		names = generalNames
	default:
		return nil, nil, false
	}
	if list, behind, ok := bytes.Cut(rest, []byte(") VALUES")); ok && rest[0] == '(' && bytes.IndexByte(list, '\'') < 0 {
		names = strings.Split(strings.ReplaceAll(unquoted(list[1:]), " ", ""), ",")
		return names, behind, columnsOf(names)
	}
	rest, ok = bytes.CutPrefix(rest, []byte("VALUES"))
	return names, rest, ok
}

// unquoted takes the quotes off names.
func unquoted(b []byte) string { return strings.NewReplacer("`", "", `"`, "").Replace(string(b)) }

// insertLine reads a line of a dump. The rows of the first log table in it are read.
func (u *unwrapper) insertLine() error {
	line, err := u.readLine()
	t := &u.table
	if bytes.Contains(line[:min(len(line), 200)], []byte("TIME_ZONE='+00:00'")) {
		t.utc = true
	}
	names, rest, ok := cutInsert(line)
	switch {
	case ok:
		t.names = names
	case t.open:
		rest = line
	default:
		return err
	}
	t.open = u.tuples(rest)
	return err
}

// tuples appends the rows of (…),(…); it says whether more may follow on the
// next line, as they also do behind one that is broken.
func (u *unwrapper) tuples(b []byte) (more bool) {
	names := u.table.names
	for {
		b = bytes.TrimLeft(b, " \t\r\n,")
		if len(b) == 0 {
			return true
		}
		if b[0] != '(' {
			return false
		}
		fields, rest, ok := sqlTuple(b[1:])
		if !ok || len(fields) > len(names) || len(fields) < min(len(names), 11) && len(fields) < len(names) {
			u.fault()
			return true
		}
		if u.table.columns == nil {
			u.table.columns = names[:len(fields)]
		}
		if len(fields) == len(u.table.columns) && names[0] == u.table.columns[0] {
			u.row(fields)
		} else {
			u.fault()
		}
		b = rest
	}
}

// sqlTuple reads literals up to a closing bracket.
func sqlTuple(b []byte) (fields [][]byte, rest []byte, ok bool) {
	for {
		b = bytes.TrimLeft(b, " ")
		b = bytes.TrimPrefix(b, []byte("_binary "))
		var f []byte
		if len(b) > 0 && b[0] == '\'' {
			if f, b, ok = sqlString(b[1:]); !ok {
				return nil, nil, false
			}
		} else {
			n := bytes.IndexAny(b, ",)")
			if n < 0 {
				return nil, nil, false
			}
			f, b = bytes.TrimSpace(b[:n]), b[n:]
		}
		fields = append(fields, f)
		if len(b) == 0 || b[0] != ',' && b[0] != ')' {
			return nil, nil, false
		}
		if b[0] == ')' {
			return fields, b[1:], true
		}
		b = b[1:]
	}
}

// sqlString reads a string behind its opening quote.
func sqlString(b []byte) (s, rest []byte, ok bool) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '\\' && i+1 < len(b):
			i++
			s = append(s, unescaped(b[i]))
		case c == '\'' && i+1 < len(b) && b[i+1] == '\'':
			i++
			s = append(s, c)
		case c == '\'':
			return s, b[i+1:], true
		default:
			s = append(s, c)
		}
	}
	return nil, nil, false
}

// unescaped returns what a letter behind a backslash stands for.
func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '0':
		return 0
	}
	return c
}
