package querylog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// unwrapper turns a wrapped log into a plain one, or into rows of a log table.
type unwrapper struct {
	in     *bufio.Reader
	json   *json.Decoder // for documents over several lines
	prefix prefix        // of each line
	next   func() error  // fills out
	out    []byte
	at     int
	err    error
	line   int64 // lines read
	bad    uint64
	faults []int64 // the first of the lines that were not understood
	table  table
}

// errWrapped is the reason of a ParseError for what was not understood around a log.
var errWrapped = errors.New("line without a message of a log")

// unwrap returns a reader of the plain log inside r.
func unwrap(r io.Reader, d detected) *unwrapper {
	u := &unwrapper{in: bufio.NewReaderSize(r, sniffBytes), prefix: d.prefix}
	switch d.wrap {
	case wrapJSON:
		u.openJSON()
	case wrapEvents:
		u.next = u.eventLine
	case wrapBox:
		u.next = u.boxRow
	case wrapVertical:
		u.next = u.verticalLine
	case wrapInsert:
		u.next = u.insertLine
	case wrapCSV:
		u.next = u.csvRows
	default:
		u.next = u.plainLine
	}
	return u
}

// Read gives the plain log.
func (u *unwrapper) Read(p []byte) (int, error) {
	for u.at == len(u.out) {
		if u.err != nil {
			return 0, u.err
		}
		u.out, u.at = u.out[:0], 0
		u.err = u.next()
	}
	n := copy(p, u.out[u.at:])
	u.at += n
	return n, nil
}

// readLine reads up to the next line break.
func (u *unwrapper) readLine() ([]byte, error) {
	line, err := u.in.ReadBytes('\n')
	u.line++
	return line, err
}

// fault notes that the line read last was not understood.
func (u *unwrapper) fault() {
	u.bad++
	if len(u.faults) < MaxErrors {
		u.faults = append(u.faults, u.line)
	}
}

// report adds what was not understood to the coverage of its source.
func (u *unwrapper) report(c *Coverage) {
	for _, line := range u.faults {
		c.fault(&ParseError{Source: c.Source, Line: line, Err: errWrapped})
	}
	c.Skipped += u.bad - uint64(len(u.faults))
}

// plainLine takes the prefix off a line and spreads a one-line record over lines.
func (u *unwrapper) plainLine() error {
	line, err := u.readLine()
	if u.prefix != nil {
		if rest, ok := u.prefix(line); ok {
			line = rest
		}
	}
	u.messages(line)
	return err
}

// messages appends a line on which tabs may stand between messages, as where
// a client printed a list of them as text.
func (u *unwrapper) messages(line []byte) {
	for {
		i := bytes.Index(line, tabTime)
		if i < 0 {
			i = bytes.Index(line, tabUser)
		}
		if i < 0 {
			break
		}
		u.message(line[:i+1])
		u.out = append(u.out, '\n')
		line = line[i+2:]
	}
	u.message(line)
}

// tabTime and tabUser end a message and begin the next.
var (
	tabTime = []byte(";\t# Time: ")
	tabUser = []byte(";\t# User@Host: ")
)

// message appends a piece of log, a one-line record spread over several lines.
func (u *unwrapper) message(b []byte) {
	if isOneLine(b) {
		b = spread(b)
	}
	u.out = append(u.out, b...)
}

// wholeMessage appends a message that ends where its record ends.
func (u *unwrapper) wholeMessage(b []byte) {
	if len(b) == 0 {
		return
	}
	u.message(b)
	if u.out[len(u.out)-1] != '\n' {
		u.out = append(u.out, '\n')
	}
}

// spread puts the parts of a one-line record onto lines of their own.
func spread(line []byte) []byte {
	var out []byte
	for _, key := range [][]byte{[]byte(" # User@Host: "), []byte(" # Thread_id: "), []byte(" # Schema: "), []byte(" # Query_time: "), []byte(" # Rows_affected: "), []byte(" # Bytes_sent: ")} {
		if i := bytes.Index(line, key); i > 0 {
			out = append(append(out, line[:i]...), '\n')
			line = line[i+1:]
		}
	}
	for _, key := range [][]byte{[]byte(" use "), []byte(" SET timestamp=")} {
		if i := bytes.Index(line, key); i > 0 && i < 300 {
			out = append(append(out, line[:i]...), '\n')
			line = line[i+1:]
		}
	}
	if bytes.HasPrefix(line, []byte("SET timestamp=")) {
		if i := bytes.Index(line, []byte("; ")); i > 0 && i < 40 {
			out = append(append(out, line[:i+1]...), '\n')
			line = line[i+2:]
		}
	}
	return append(out, line...)
}

// eventLine reads a line of aws logs get-log-events or filter-log-events with
// --output text: "EVENTS", the time of ingestion, the message and its time,
// with tabs between; filter-log-events has an id before and a stream after
// the time. A message may go on over several lines.
func (u *unwrapper) eventLine() error {
	line, err := u.readLine()
	if bytes.HasPrefix(line, []byte("SEARCHEDLOGSTREAMS\t")) || bytes.HasPrefix(line, []byte("b/")) && bytes.Contains(line, []byte("\tf/")) {
		return err
	}
	if rest, ok := bytes.CutPrefix(line, eventMark); ok {
		line = eventMessage(rest)
	}
	u.messages(cutEventTime(line))
	return err
}

var eventMark = []byte("EVENTS\t")

// eventMessage takes the fields before the message off.
func eventMessage(line []byte) []byte {
	const longestTime = 20 // digits; ids have 56
	skip := 1
	if _, n := parseUint(line); n > longestTime {
		skip = 3
	}
	for range skip {
		_, rest, ok := bytes.Cut(line, []byte("\t"))
		if !ok {
			return nil
		}
		line = rest
	}
	return line
}

// cutEventTime takes the time of an event in milliseconds off the end of its last line.
func cutEventTime(line []byte) []byte {
	end := bytes.TrimRight(line, "\r\n")
	tab := len(end) - 14
	if tab < 0 || end[tab] != '\t' {
		return line
	}
	if _, n := parseUint(end[tab+1:]); n != 13 {
		return line
	}
	return append(end[:tab], '\n')
}
