package querylog

import (
	"bytes"
	"fmt"
)

// shapeOf is how an input is wrapped around the log inside it.
type wrapping uint8

const (
	bare     wrapping = iota
	wrapJSON          // CloudWatch subscriptions and exports, docker's json-file
	wrapLine          // a prefix on each line (docker compose, CRI), or whole records on one line
)

// detected is what the beginning of an input looks like.
type detected struct {
	format  Format
	wrap    wrapping
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
	return fmt.Sprintf("%s: no query log of MySQL or MariaDB", e.Source)
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
	if rest[0] == '{' && !wrapped {
		return detected{wrap: wrapJSON}, nil
	}
	if g, ok := detectCSV(head); ok {
		f := FormatSlowCSV
		if g.general {
			f = FormatGeneralCSV
		}
		return detected{format: f, grammar: g}, nil
	}
	if d, ok := detectLines(head, wrapped); ok {
		return d, nil
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
		if !wrapped && isPrefixed(line) {
			return detected{wrap: wrapLine}, true
		}
	}
	return detected{format: FormatSlow, grammar: slowGrammar{}}, banner
}

// isOneLine recognises a whole record of a slow log on one line.
func isOneLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("# Time: ")) && bytes.Contains(line, []byte(" # Query_time: "))
}

// isPrefixed recognises a log line behind the prefix of a container log.
func isPrefixed(line []byte) bool {
	rest, ok := cutPrefix(line)
	if !ok {
		return false
	}
	if len(rest) > 0 && rest[0] == '#' {
		return isHead(rest, true)
	}
	_, general := parseGeneralHead(rest)
	return general || isBanner(rest)
}

// cutPrefix takes the prefix of docker compose ("mysql-1  | ") or of a
// container runtime ("2026-11-30T18:10:11.1Z stderr F ") off a line.
func cutPrefix(line []byte) ([]byte, bool) {
	if bar := bytes.Index(line, []byte(" | ")); bar > 0 && bar < 64 && bytes.IndexByte(line[:bar], '#') < 0 {
		return line[bar+3:], true
	}
	t := parseStamp(line)
	if t.n == 0 || !t.zoned {
		return nil, false
	}
	rest := line[t.n:]
	for _, s := range []string{" stderr F ", " stdout F ", " stderr P ", " stdout P "} {
		if r, ok := bytes.CutPrefix(rest, []byte(s)); ok {
			return r, true
		}
	}
	return nil, false
}

// detectCSV recognises rows of the log tables by the header line or by the
// columns of the first row.
func detectCSV(head []byte) (csvGrammar, bool) {
	end, _ := lineEnd(head, 0)
	first := bytes.ToLower(head[:end])
	if bytes.Contains(first, []byte("user_host")) && bytes.IndexByte(first, ',') > 0 {
		c := namedColumns(bytes.Split(first, []byte(",")))
		g := csvGrammar{columns: c, general: c.command >= 0}
		return g, c.time >= 0 && c.text >= 0
	}
	if !csvCut(head, 0) {
		return csvGrammar{}, false
	}
	g := csvGrammar{engine: true}
	end, _ = g.rowEnd(head, 0)
	row := bytes.TrimRight(bytes.Clone(head[:end]), "\r\n")
	switch n := len(g.split(nil, row)); {
	case n == 6:
		g.general, g.columns = true, generalColumns()
	case n >= 11 && n <= 13:
		g.columns = slowColumns()
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
		return "a MySQL binary log"
	case has("LOG:  duration:") || has("LOG:  statement:") || has("LOG:  execute "):
		return "a log of PostgreSQL"
	case has("mysqld: ready for connections") || has("[Note] ") || has("[System] [MY-"):
		return "the error log of a server"
	case has("-- MySQL dump") || has("-- MariaDB dump"):
		return "a dump of mysqldump"
	case has("# Query 1:") || has("# Overall:"):
		return "a report of pt-query-digest"
	case bytes.IndexByte(head, 0) >= 0:
		return "binary data"
	}
	return ""
}
