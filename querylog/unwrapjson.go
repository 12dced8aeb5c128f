package querylog

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// document is one JSON object.
type document = map[string]json.RawMessage

var errJSON = errors.New("JSON that breaks off or is malformed")

// openJSON chooses between one document a line and documents over several lines.
func (u *unwrapper) openJSON() {
	head, _ := u.in.Peek(sniffBytes)
	head = bytes.TrimLeft(head, " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if line[0] == '{' && json.Valid(line) {
		u.next = u.jsonLine
		return
	}
	u.json = json.NewDecoder(u.in)
	u.next = u.jsonDocument
	if line[0] == '[' {
		u.next = u.jsonArray
	}
}

// jsonLine reads one document from one line.
func (u *unwrapper) jsonLine() error {
	line, err := u.readLine()
	if len(bytes.TrimSpace(line)) == 0 {
		return err
	}
	var d document
	if json.Unmarshal(line, &d) != nil || !u.document(d, 0) {
		u.fault()
	}
	return err
}

// jsonDocument reads the next of several documents.
func (u *unwrapper) jsonDocument() error {
	var d document
	if err := u.decode(&d); err != nil {
		return err
	}
	if !u.document(d, 0) {
		u.fault()
	}
	return nil
}

func (u *unwrapper) decode(d *document) error {
	u.line++
	err := u.json.Decode(d)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%w: %w", errJSON, err)
}

// jsonArray begins a list of documents. One whose times go back, as clients
// print the newest first, is read whole and turned round.
func (u *unwrapper) jsonArray() error {
	if _, err := u.json.Token(); err != nil {
		return fmt.Errorf("%w: %w", errJSON, err)
	}
	var list []document
	for len(list) < 2 || timesGoBack(list) {
		if !u.json.More() {
			break
		}
		var d document
		if err := u.decode(&d); err != nil {
			return err
		}
		list = append(list, d)
	}
	if timesGoBack(list) {
		slices.Reverse(list)
	}
	for _, d := range list {
		if !u.document(d, 0) {
			u.fault()
		}
	}
	u.next = u.jsonElement
	return nil
}

// jsonElement reads the next document of a list.
func (u *unwrapper) jsonElement() error {
	if u.json.More() {
		return u.jsonDocument()
	}
	if _, err := u.json.Token(); err != nil {
		return fmt.Errorf("%w: %w", errJSON, io.ErrUnexpectedEOF)
	}
	return io.EOF
}

// timesGoBack says whether the first two documents are in falling order.
func timesGoBack(list []document) bool {
	if len(list) < 2 {
		return false
	}
	a, b := timeOf(list[0]), timeOf(list[1])
	return len(a) == len(b) && a > b
}

// timeOf returns the time of a document as it stands there.
func timeOf(d document) string {
	for _, name := range []string{"timestamp", "@timestamp", "time", "__REALTIME_TIMESTAMP"} {
		if v, ok := d[name]; ok {
			return string(v)
		}
	}
	return ""
}

// maxNesting is how deep a message is looked for in a document.
const maxNesting = 4

// document appends what a document holds of a log. It returns false if that is nothing.
func (u *unwrapper) document(d document, depth int) (ok bool) {
	if depth > maxNesting {
		return false
	}
	if v, ok := jsonText(d["log"]); ok { // containers: a piece of a line, with its end
		u.message(v)
		return true
	}
	for _, name := range []string{"message", "MESSAGE", "textPayload", "LogFileData", "@message"} {
		if v, ok := jsonText(d[name]); ok {
			u.wholeMessage(v)
			return true
		}
	}
	if row, ok := tableRow(d); ok {
		u.jsonRow(row)
		return true
	}
	for _, name := range []string{"jsonPayload", "properties", "_source", "kinesis", "awslogs"} {
		var inner document
		if json.Unmarshal(d[name], &inner) == nil && len(inner) > 0 && u.document(inner, depth+1) {
			return true
		}
	}
	if data, ok := jsonText(d["data"]); ok {
		return u.packed(data, depth)
	}
	for _, name := range []string{"logEvents", "events", "records", "Records"} {
		var list []document
		if raw, there := d[name]; there && json.Unmarshal(raw, &list) == nil {
			ok = true
			u.documents(list, depth)
		}
	}
	return u.results(d["results"]) || ok
}

// documents appends a list of documents in the order of their times.
func (u *unwrapper) documents(list []document, depth int) {
	if timesGoBack(list) {
		slices.Reverse(list)
	}
	for _, d := range list {
		if !u.document(d, depth+1) {
			u.fault()
		}
	}
}

// results appends the rows of a query of CloudWatch Logs Insights: lists of
// fields with their names, the newest first unless the query says otherwise.
func (u *unwrapper) results(raw json.RawMessage) bool {
	var rows [][]struct{ Field, Value string }
	if json.Unmarshal(raw, &rows) != nil {
		return false
	}
	list := make([]document, len(rows))
	for i, row := range rows {
		list[i] = document{}
		for _, f := range row {
			list[i][f.Field], _ = json.Marshal(f.Value)
		}
	}
	u.documents(list, 0)
	return true
}

// maxPacked bounds what one packed document may unpack to.
const maxPacked = 64 << 20

// packed reads base64 of a document or of gzip of one, as Kinesis and Lambda carry it.
func (u *unwrapper) packed(data []byte, depth int) bool {
	b, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return false
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return false
		}
		if b, err = io.ReadAll(io.LimitReader(z, maxPacked)); err != nil {
			return false
		}
	}
	var d document
	if json.Unmarshal(b, &d) != nil {
		return false
	}
	return u.document(d, depth+1)
}

// jsonText reads a string, or a list of bytes as the journal writes what is no UTF-8.
func jsonText(raw json.RawMessage) ([]byte, bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return []byte(s), true
	}
	var codes []uint16
	if raw[0] != '[' || json.Unmarshal(raw, &codes) != nil || len(codes) == 0 {
		return nil, false
	}
	b := make([]byte, len(codes))
	for i, c := range codes {
		b[i] = byte(c)
	}
	return b, true
}

// tableRow reads a document that is a row of a log table, from a client or
// from Azure, whose names end with their type there: sql_text_s, SqlText.
func tableRow(d document) (map[string]string, bool) {
	row := map[string]string{}
	for name, raw := range d {
		if v, ok := jsonText(raw); ok {
			row[columnName(name)] = string(v)
		} else if len(raw) > 0 && raw[0] >= '-' && raw[0] <= '9' {
			row[columnName(name)] = string(raw)
		}
	}
	slow := row["starttime"] != "" && row["sqltext"] != ""
	return row, slow || row["eventtime"] != "" && row["argument"] != ""
}

// columnName takes case, underscores and the mark of a type off a name.
func columnName(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(name, " [utc]")
	for _, end := range []string{"_s", "_d", "_t"} {
		name = strings.TrimSuffix(name, end)
	}
	return strings.ReplaceAll(name, "_", "")
}

// jsonRow appends a row of a log table.
func (u *unwrapper) jsonRow(row map[string]string) {
	if row["userhost"] == "" {
		row["userhost"] = fmt.Sprintf("%s[%[1]s] @ %s []", row["user"], row["host"])
	}
	if ms := row["querydurationms"]; ms != "" && row["querytime"] == "" {
		if v, n := parseUint([]byte(ms)); n > 0 {
			row["querytime"] = fmt.Sprintf("%d.%03d", v/1000, v%1000)
		}
	}
	if v := row["querytime"]; v != "" && !strings.Contains(v, ":") {
		if ns, _, ok := parseSeconds([]byte(v)); ok {
			row["querytime"] = clock(ns)
		}
	}
	if u.table.columns == nil {
		u.table.columns = generalNames
		if row["sqltext"] != "" {
			u.table.columns = slowNames[:12]
		}
		if row["rowsaffected"] != "" {
			u.table.columns = slowNames
		}
	}
	fields := make([][]byte, len(u.table.columns))
	for i, name := range u.table.columns {
		fields[i] = []byte(row[strings.ReplaceAll(name, "_", "")])
	}
	u.row(fields)
}

// clock writes nanoseconds as HH:MM:SS.ffffff.
func clock(ns int64) string {
	s, us := ns/1e9, ns%1e9/1e3
	return fmt.Sprintf("%02d:%02d:%02d.%06d", s/3600, s/60%60, s%60, us)
}

// csvRows reads an export of CloudWatch Logs Insights: the message is
// the field named @message. Its rows come newest first, unless the query says
// otherwise; those are read whole and turned round.
func (u *unwrapper) csvRows() error {
	r := csv.NewReader(u.in)
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	names, err := r.Read()
	if err != nil {
		return err
	}
	var list []document
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			u.line++
			u.fault()
			continue
		}
		line, _ := r.FieldPos(0)
		u.line = int64(line)
		d := document{}
		for i, f := range row[:min(len(row), len(names))] {
			d[names[i]], _ = json.Marshal(f)
		}
		list = append(list, d)
	}
	u.documents(list, 0)
	return io.EOF
}
