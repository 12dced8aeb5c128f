package eventlog

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A layout knows how one kind of line holds its time, key and host.
type layout interface {
	name() string
	parse(line []byte, ev *Event, zone *time.Location) (stamp, error)
}

// recognise decides by the first line that is no comment. header is true when
// that line only names the columns.
func recognise(line []byte, zone *time.Location) (l layout, header bool) {
	if line[0] == '{' {
		return ndjson{}, false
	}
	if _, err := (times{}).parse(line, &Event{}, zone); err == nil {
		return times{}, false
	}
	if _, err := (accessLog{}).parse(line, &Event{}, zone); err == nil {
		return accessLog{}, false
	}
	for _, comma := range []byte{'\t', ',', ';'} {
		if bytes.IndexByte(line, comma) < 0 && comma != ',' {
			continue
		}
		fields, err := split(line, comma)
		if err != nil {
			continue
		}
		if _, err := parseStamp(strings.TrimSpace(fields[0]), zone); err == nil && len(fields) > 1 {
			return positional(len(fields), comma), false
		}
		if t := namedColumns(fields, comma); t.time >= 0 {
			return t, true
		}
	}
	return nil, false
}

// times is one time a line.
type times struct{}

func (times) name() string { return "times" }

func (times) parse(line []byte, ev *Event, zone *time.Location) (stamp, error) {
	ev.Key, ev.Host = nil, nil
	return parseStamp(string(line), zone)
}

// columns is CSV or TSV; a column that is not there is -1.
type columns struct {
	comma           byte
	time, key, host int
}

func (c columns) name() string {
	if c.comma == '\t' {
		return "tsv"
	}
	return "csv"
}

// positional is the order time, key, host of files without a header.
func positional(fields int, comma byte) columns {
	c := columns{comma, 0, 1, -1}
	if fields > 2 {
		c.host = 2
	}
	return c
}

func (c columns) parse(line []byte, ev *Event, zone *time.Location) (stamp, error) {
	fields, err := split(line, c.comma)
	if err != nil {
		return stamp{}, err
	}
	if c.time >= len(fields) {
		return stamp{}, errors.New("no time column")
	}
	ev.Key, ev.Host = field(fields, c.key), field(fields, c.host)
	return parseStamp(strings.TrimSpace(fields[c.time]), zone)
}

func field(fields []string, i int) []byte {
	if i < 0 || i >= len(fields) {
		return nil
	}
	return []byte(fields[i])
}

// split cuts one line into fields. A TSV field has no quotes.
func split(line []byte, comma byte) ([]string, error) {
	if comma == '\t' || bytes.IndexByte(line, '"') < 0 {
		return strings.Split(string(line), string(comma)), nil
	}
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma = rune(comma)
	r.LazyQuotes = true
	return r.Read()
}

// The names that programs give to these columns.
var (
	timeNames = []string{"time", "timestamp", "ts", "@timestamp", "start", "start_time", "event_time", "datetime", "date", "t"}
	keyNames  = []string{"key", "shape", "query", "statement", "path", "url", "event", "name", "message"}
	hostNames = []string{"host", "client", "client_ip", "ip", "source", "user_host", "remote_addr", "pod", "instance"}
)

// namedColumns looks for the names in a header. If only that of the time is
// strange (t0_epoch_s), the times are in the first column.
func namedColumns(fields []string, comma byte) columns {
	c := columns{comma, find(fields, timeNames), find(fields, keyNames), find(fields, hostNames)}
	if c.time < 0 && c.key != c.host && c.key != 0 && c.host != 0 {
		c.time = 0
	}
	return c
}

// find returns the column with the first of names that is there, or -1.
func find(fields, names []string) int {
	for _, name := range names {
		for i, f := range fields {
			if strings.EqualFold(strings.TrimSpace(f), name) {
				return i
			}
		}
	}
	return -1
}

// ndjson is one JSON object a line.
type ndjson struct{}

func (ndjson) name() string { return "ndjson" }

func (ndjson) parse(line []byte, ev *Event, zone *time.Location) (stamp, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return stamp{}, errors.New("not a JSON object")
	}
	text, ok := lookup(object, timeNames)
	if !ok {
		return stamp{}, errors.New("no field " + strings.Join(timeNames[:4], ", ") + " ...")
	}
	key, _ := lookup(object, keyNames)
	host, _ := lookup(object, hostNames)
	ev.Key, ev.Host = []byte(key), []byte(host)
	return parseStamp(text, zone)
}

// lookup takes the first of names that is there, as text.
func lookup(object map[string]json.RawMessage, names []string) (string, bool) {
	for _, name := range names {
		raw, ok := object[name]
		if !ok {
			continue
		}
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s, true
		}
		return string(raw), true
	}
	return "", false
}

// accessLog is the Common or Combined format of web servers:
//
//	client ident user [02/Jan/2006:15:04:05 -0700] "GET /path HTTP/1.1" 200 512
type accessLog struct{}

func (accessLog) name() string { return "access-log" }

func (accessLog) parse(line []byte, ev *Event, zone *time.Location) (stamp, error) {
	open := bytes.IndexByte(line, '[')
	if open < 0 {
		return stamp{}, errNoTime
	}
	end := bytes.IndexByte(line[open:], ']')
	if end < 0 {
		return stamp{}, errNoTime
	}
	s, err := parseStamp(string(line[open+1:open+end]), zone)
	if err != nil {
		return stamp{}, err
	}
	host, _, _ := bytes.Cut(line, []byte{' '})
	ev.Host = append(ev.Host[:0], host...)
	ev.Key = append(ev.Key[:0], requestPath(line[open+end+1:])...)
	return s, nil
}

// requestPath takes method and path of `"GET /path?query HTTP/1.1"`, without
// the query: its values would make a key of each request.
func requestPath(rest []byte) []byte {
	_, request, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return nil
	}
	request, _, _ = bytes.Cut(request, []byte{'"'})
	if i := bytes.LastIndexByte(request, ' '); i > 0 && bytes.HasPrefix(request[i+1:], []byte("HTTP/")) {
		request = request[:i]
	}
	path, _, _ := bytes.Cut(request, []byte{'?'})
	return path
}

func trim(line []byte) []byte { return bytes.TrimSpace(line) }

func trimBOM(line []byte) []byte { return bytes.TrimPrefix(line, []byte("\ufeff")) }
