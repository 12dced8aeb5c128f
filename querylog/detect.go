package querylog

import (
	"bytes"
	"fmt"
)

// shapeOf is how an input is wrapped around the log inside it.
type wrapping uint8

const (
	bare         wrapping = iota
	wrapJSON              // CloudWatch, Cloud Logging, Azure, docker's json-file, the journal
	wrapLine              // a prefix on each line, or whole records on one line
	wrapEvents            // aws logs --output text
	wrapBox               // a table drawn by the mysql client
	wrapVertical          // the same with \G
	wrapInsert            // a dump of a log table
	wrapCSV               // an export of CloudWatch Logs Insights
)

// detected is what the beginning of an input looks like.
type detected struct {
	format  Format
	wrap    wrapping
	prefix  prefix // of each line, for wrapLine
	grammar grammar
}

// UnknownFormatError says that an input is none of the known logs.
type UnknownFormatError struct {
	Source string
	Looks  string // what it looks like instead, "" if nothing is known about it
}

// Error names the input and what it looks like.
func (e *UnknownFormatError) Error() string {
	if e.Looks != "" {
		return fmt.Sprintf("%s: no query log of MySQL or MariaDB: it looks like %s", e.Source, e.Looks)
	}
	return fmt.Sprintf("%s: no query log of MySQL or MariaDB: give a slow or general log, or rows of mysql.slow_log or mysql.general_log", e.Source)
}

// sniffBytes is how much of an input is looked at to recognise it.
const sniffBytes = 256 << 10

// detect recognises a log by its content. Empty input, and a log that holds
// nothing but a server's banner, count as an empty slow log.
func detect(name string, head []byte, wrapped bool) (detected, error) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	rest := bytes.TrimLeft(head, " \t\r\n")
	if len(rest) == 0 {
		return detected{format: FormatSlow, grammar: slowGrammar{}}, nil
	}
	if bytes.HasPrefix(rest, []byte(`{"kind":"`+saveKind+`"`)) { // a whole one is read before
		return detected{}, &UnknownFormatError{Source: name, Looks: "a summary of herdscan that breaks off or is damaged"}
	}
	if !wrapped {
		if w := detectWrapping(head); w != bare {
			return detected{wrap: w}, nil
		}
	}
	if g, ok := detectTable(head); ok {
		if g.columns.time != 0 && !g.tabs {
			return detected{}, &UnknownFormatError{Source: name, Looks: "a CSV of a log table whose first column is not the time: put start_time or event_time first"}
		}
		f := FormatSlowCSV
		if g.general {
			f = FormatGeneralCSV
		}
		return detected{format: f, grammar: g}, nil
	}
	if d, ok := detectLines(head, wrapped); ok {
		return d, nil
	}
	if !wrapped && anyLine(head, isInsert) {
		return detected{wrap: wrapInsert}, nil
	}
	return detected{}, &UnknownFormatError{Source: name, Looks: looksLike(head)}
}

// detectLines takes the first line that begins a record of a known log.
func detectLines(head []byte, wrapped bool) (detected, bool) {
	banner := false
	for i := 0; i < len(head); {
		end, next := lineEnd(head, i)
		line := head[i:end]
		i = next
		switch {
		case isOneLine(line) && !wrapped:
			return detected{wrap: wrapLine}, true
		case len(line) > 0 && line[0] == '#' && isHead(line, true):
			return detected{format: FormatSlow, grammar: slowGrammar{}}, true
		case isBanner(line):
			banner = true
			continue
		}
		if _, ok := parseGeneralHead(line); ok {
			return detected{format: FormatGeneral, grammar: generalGrammar{}}, true
		}
		if wrapped {
			continue
		}
		if p := findPrefix(line); p != nil {
			return detected{wrap: wrapLine, prefix: p}, true
		}
	}
	return detected{format: FormatSlow, grammar: slowGrammar{}}, banner
}

// isOneLine recognises a whole record of a slow log on one line.
func isOneLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("# Time: ")) && bytes.Contains(line, []byte(" # Query_time: "))
}

// detectWrapping recognises what is wrapped in something that is no line of a log.
func detectWrapping(head []byte) wrapping {
	rest := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case rest[0] == '{', rest[0] == '[' && bytes.HasPrefix(bytes.TrimLeft(rest[1:], " \t\r\n"), []byte("{")):
		return wrapJSON
	case anyLine(head, func(line []byte) bool { return bytes.HasPrefix(line, eventMark) }) && !beginsRecord(rest[:max(bytes.IndexByte(rest, '\n'), 0)]):
		return wrapEvents
	case rest[0] == '#' && (bytes.Contains(head, tabTime) || bytes.Contains(head, tabUser)):
		return wrapLine
	case bytes.HasPrefix(rest, []byte("@")) && bytes.Contains(rest[:max(bytes.IndexByte(rest, '\n'), 0)], []byte("@message")):
		return wrapCSV
	case bytes.HasPrefix(rest, []byte("+--")) && bytes.Contains(rest[:min(len(rest), 4096)], []byte("| user_host ")):
		return wrapBox
	case isRowMark(rest[:max(bytes.IndexByte(rest, '\n'), 0)]) && bytes.Contains(rest[:min(len(rest), 4096)], []byte("user_host: ")):
		return wrapVertical
	}
	return bare
}

// anyLine says whether a line of the head is recognised.
func anyLine(head []byte, is func([]byte) bool) bool {
	for i := 0; i < len(head); {
		end, next := lineEnd(head, i)
		if is(head[i:end]) {
			return true
		}
		i = next
	}
	return false
}

// detectTable recognises rows of the log tables, with commas or tabs, by the
// header line or by the columns of the first row.
func detectTable(head []byte) (csvGrammar, bool) {
	end, _ := lineEnd(head, 0)
	first := bytes.ToLower(head[:end])
	if bytes.Contains(first, []byte("user_host")) && first[0] != '#' {
		g := csvGrammar{tabs: bytes.IndexByte(first, '\t') > 0}
		g.columns = namedColumns(bytes.Split(first, []byte{g.separator()}))
		g.general = g.columns.command >= 0
		return g, g.columns.time >= 0 && g.columns.text >= 0
	}
	if !csvCut(head, 0) {
		return csvGrammar{}, false
	}
	g := csvGrammar{engine: true, tabs: bytes.IndexByte(head[:min(end, 30)], '\t') > 0}
	end, _ = g.rowEnd(head, 0)
	row := bytes.TrimRight(bytes.Clone(head[:end]), "\r\n")
	switch n := len(g.split(nil, row)); {
	case n == 6:
		g.general, g.columns = true, generalColumns()
	case n >= 11 && n <= 13:
		g.columns = slowColumns()
		if n < 13 {
			g.columns.affected = -1
		}
	default:
		return g, false
	}
	return g, true
}

// looksLike names other things that people pass by mistake.
func looksLike(head []byte) string {
	head = head[:min(len(head), 64<<10)]
	has := func(s string) bool { return bytes.Contains(head, []byte(s)) }
	switch {
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return "xz data (decompress it first)"
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2 data (decompress it first)"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a zip archive (unpack it first)"
	case bytes.HasPrefix(head, []byte("REDIS0")):
		return "a Redis dump"
	case bytes.HasPrefix(head, []byte("\xfebin")):
		return "a MySQL binary log (it has no reads: give the slow or general log)"
	case has("LOG:  duration:") || has("LOG:  statement:") || has("LOG:  execute "):
		return "a log of PostgreSQL"
	case has("mysqld: ready for connections") || has("[Note] ") || has("[System] [MY-"):
		return "the error log of a server (SHOW VARIABLES LIKE '%log%file' names its slow and general log)"
	case has("-- MySQL dump") || has("-- MariaDB dump"):
		return "a dump of mysqldump without rows of mysql.slow_log or mysql.general_log near its beginning"
	case has("<AUDIT_RECORD") || has("\"audit_record\""):
		return "an audit log (give the slow or general log)"
	case has("# Query 1:") || has("# Overall:"):
		return "a report of pt-query-digest"
	case bytes.IndexByte(head, 0) >= 0:
		return "binary data"
	case has("\x1b["):
		return "the output of a terminal with colours (write the log itself to a file)"
	}
	return ""
}
