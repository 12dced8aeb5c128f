package querylog

import (
	"bytes"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// generalGrammar reads the general query log in all its forms.
type generalGrammar struct{}

// generalHead is the beginning of a line that starts a record.
type generalHead struct {
	stamp  stamp
	thread uint64
	kind   Kind
	name   []byte // of the command
	text   int    // where the argument begins, from the start of the line
}

func (generalGrammar) parse(b *block, lex *sqltext.Lexer) {
	s := generalScan{lineScan{block: b, lex: lex, data: b.data}}
	for s.i < len(s.data) && s.tail < 0 {
		s.record()
	}
	s.end()
	s.lines = int64(s.row)
}

// generalScan reads one block.
type generalScan struct{ lineScan }

func (s *generalScan) record() {
	end, next := lineEnd(s.data, s.i)
	line := s.data[s.i:end]
	h, ok := parseGeneralHead(line)
	if !ok {
		s.other(line, next)
		return
	}
	r := s.begin()
	r.kind, r.thread, r.has = h.kind, h.thread, fThread
	if h.stamp.n > 0 {
		r.stamp, r.has = h.stamp.ns, r.has|fStamp
		if h.stamp.zoned {
			r.has |= fZoned
		}
		if h.stamp.fine {
			r.has |= fFine
		}
	}
	if !s.text(r, s.i+h.text, s) {
		return
	}
	if h.kind == KindAdmin {
		r.sum = s.lex.Sum(h.name) // its class is its name alone
	}
	s.kept++
}

// other passes over a line that begins no record.
func (s *generalScan) other(line []byte, next int) {
	switch {
	case isBanner(line):
		s.banner(line)
	case len(line) == 0, isBannerTail(line), isColumnLine(line):
	default:
		s.faults = append(s.faults, fault{int32(s.i), s.row, errTail})
		s.i, s.row = s.boundary(s.i)
		return
	}
	s.advance(next)
}

// isColumnLine recognises the names of the columns however they are spaced.
func isColumnLine(line []byte) bool {
	f := bytes.Fields(line)
	return len(f) == 4 && string(f[0]) == "Time" && string(f[1]) == "Id" && string(f[2]) == "Command" && string(f[3]) == "Argument"
}

// pass returns i: the boundary of a general log is one line.
func (s *generalScan) pass(i int) int { return i }

// boundary returns the next position after i where a record begins, and its row.
func (s *generalScan) boundary(i int) (int, int32) {
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
		if generalCut(data, i) {
			return i, row
		}
	}
}

// generalCut says whether a record or a banner begins at i, a beginning of a line.
func generalCut(data []byte, i int) bool {
	switch c := data[i]; {
	case c == '\t' || c == ' ' || c >= '0' && c <= '9':
		_, ok := parseGeneralHead(data[i:min(len(data), i+128)])
		return ok
	case c == '/' || c >= 'A' && c <= 'z':
		return bannerAt(data, i)
	}
	return false
}

func (generalGrammar) lastCut(data []byte) int {
	for end := len(data); ; {
		i := bytes.LastIndexByte(data[:end], '\n')
		if i < 0 {
			return 0
		}
		if i+1 < len(data) {
			if _, ok := parseGeneralHead(data[i+1 : min(len(data), i+129)]); ok {
				return i + 1
			}
		}
		end = i
	}
}

func (generalGrammar) firstCut(data []byte, from int) int {
	for i := max(from-1, 0); ; {
		n := bytes.IndexByte(data[i:], '\n')
		if n < 0 || i+n+1 >= len(data) {
			return 0
		}
		i += n + 1
		if _, ok := parseGeneralHead(data[i:min(len(data), i+128)]); ok {
			return i
		}
	}
}

// parseGeneralHead reads stamp, thread and command at the start of a line:
//
//	051007 21:55:24<tab>     42 Connect     root@localhost
//	<tab><tab>               42 Query<tab>SELECT 1
//	2016-06-07T19:07:02.558338Z    3 Connect<tab>root@localhost
func parseGeneralHead(line []byte) (generalHead, bool) {
	var h generalHead
	i := 0
	if len(line) > 0 && line[0] >= '0' && line[0] <= '9' {
		h.stamp = parseGeneralStamp(line)
		if i = h.stamp.n; i == 0 {
			return h, false
		}
	} else if len(line) < 6 || line[0] != '\t' && line[0] != ' ' {
		return h, false
	}
	blank := i
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == blank || i == len(line) || h.stamp.n == 0 && line[0] != '\t' && i < 10 {
		return h, false
	}
	id, n := parseUint(line[i:])
	if n == 0 || n > 20 {
		return h, false
	}
	i += n
	if i >= len(line) || line[i] != ' ' && line[i] != '\t' {
		return h, false
	}
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	h.thread = id
	n = h.command(line[i:])
	if n == 0 {
		return h, false
	}
	i += n
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	h.text = i
	return h, true
}

// parseGeneralStamp reads the stamp of a line; three blanks may stand between
// date and time.
func parseGeneralStamp(line []byte) stamp {
	if len(line) > 10 && line[4] == '-' && line[10] != 'T' && line[10] != ' ' {
		return stamp{}
	}
	return parseStamp(line)
}

// command reads the name of a command that ends at white space or the line's end.
func (h *generalHead) command(b []byte) int {
	if len(b) == 0 || b[0] < 'A' || b[0] > 'Z' {
		return 0
	}
	for _, c := range generalCommands {
		if len(b) < len(c.name) || string(b[:len(c.name)]) != c.name {
			continue
		}
		if n := len(c.name); n == len(b) || b[n] == '\t' || b[n] == ' ' || b[n] == '\r' || b[n] == '\n' {
			h.kind, h.name = c.kind, b[:n]
			return n
		}
	}
	return 0
}

// generalCommands are the names that servers print, the most frequent first
// and longer ones before their own beginnings.
var generalCommands = []struct {
	name string
	kind Kind
}{
	{"Query", KindQuery},
	{"Execute", KindExecute},
	{"Prepare", KindPrepare},
	{"Close stmt", KindAdmin},
	{"Connect Out", KindAdmin},
	{"Connect", KindConnect},
	{"Quit", KindQuit},
	{"Init DB", KindAdmin},
	{"Ping", KindAdmin},
	{"Statistics", KindAdmin},
	{"Field List", KindAdmin},
	{"Reset stmt", KindAdmin},
	{"Reset Connection", KindAdmin},
	{"Reset connection", KindAdmin},
	{"Change user", KindConnect},
	{"Long Data", KindAdmin},
	{"Fetch", KindAdmin},
	{"Set option", KindAdmin},
	{"Binlog Dump GTID", KindAdmin},
	{"Binlog Dump", KindAdmin},
	{"Table Dump", KindAdmin},
	{"Register Slave", KindAdmin},
	{"Register Replica", KindAdmin},
	{"Processlist", KindAdmin},
	{"Kill", KindAdmin},
	{"Refresh", KindAdmin},
	{"Shutdown", KindAdmin},
	{"Debug", KindAdmin},
	{"Sleep", KindAdmin},
	{"Time", KindAdmin},
	{"Delayed insert", KindAdmin},
	{"Create DB", KindAdmin},
	{"Drop DB", KindAdmin},
	{"Daemon", KindAdmin},
	{"Bulk Execute", KindExecute},
	{"Clone", KindAdmin},
	{"Error", KindAdmin},
}
