package scan

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// A listReader reads keys and expiries from TSV, CSV or NDJSON.
//
// The columns are found by their names. Without a line of names there must be two columns, a key and a number. What a
// number means, where its name does not tell, is concluded from the first rows, and the conclusion is among the notes.
type listReader struct {
	content *content
	lines   lineReader
	format  listFormat
	row     row
	key     []byte
	typ     string // of the last row: most rows have the same
	named   bool   // the line of names was read

	unit    timeUnit // of colExpire
	guessed string   // how unit was concluded, for a note; "" if its name told it
	given   time.Time
	modTime time.Time
	rowNow  int64 // Unix milliseconds of the newest row with a time; 0: none
	rowAt   int64 // of the last row; 0: it has none
	empty   uint64
	coarse  bool // all expiries are in whole seconds by their unit
}

func newListReader(c *content, o FileOptions, modTime time.Time) (*listReader, error) {
	r := &listReader{content: c, lines: lineReader{r: c.Reader}, given: o.Now, modTime: modTime}
	head, err := c.head()
	if err != nil {
		return nil, err
	}
	sample := headLines(head)
	if len(sample) == 0 {
		return nil, errors.New("no line with text")
	}
	if err := r.recogniseFormat(sample[0]); err != nil {
		return nil, err
	}
	if r.format.header {
		sample = sample[1:]
	}
	return r, r.learn(sample, o)
}

// headLines returns copies of the complete lines of head that are not empty; all lines if head has but one.
func headLines(head []byte) [][]byte {
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	head = bytes.TrimPrefix(bytes.Clone(head), []byte("\ufeff"))
	var lines [][]byte
	for line := range bytes.Lines(head) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// recogniseFormat finds the delimiter and the columns by the first line.
func (r *listReader) recogniseFormat(line []byte) error {
	f := &r.format
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")):
		return nil
	case bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")):
		return errors.New("a JSON array; write one object a line (jq -c '.[]')")
	case bytes.IndexByte(line, '\t') >= 0:
		f.delimiter = '\t'
	case bytes.IndexByte(line, ',') >= 0:
		f.delimiter = ','
	case bytes.IndexByte(line, ';') >= 0:
		f.delimiter = ';'
	default:
		return fmt.Errorf("not a list of keys: its first line has one column, %q; want a key and its expiry", cut(line))
	}
	fields, err := splitDelimited(nil, bytes.Clone(line), f.delimiter)
	if err != nil {
		return &RecordError{Line: 1, Err: err}
	}
	hasKey, hasExpiry := false, false
	for _, name := range fields {
		c := columnOf(name)
		f.columns = append(f.columns, c)
		hasKey = hasKey || c == colKey || c == colKey64
		hasExpiry = hasExpiry || c >= colExpireMS && c <= colTTL
	}
	switch {
	case hasKey && hasExpiry:
		f.header = true
		return nil
	case len(fields) == 2 && isExpiry(fields[1]):
		f.columns = []column{colKey, colExpire}
		return nil
	case len(fields) == 2 && isExpiry(fields[0]):
		f.columns = []column{colExpire, colKey}
		return nil
	}
	return fmt.Errorf("not a list of keys: no columns for the key and its expiry in the first line, %q; "+
		"name them, such as key and pttl_ms (or ttl, expire_at)", cut(line))
}

// isExpiry reports whether a field can be an expiry.
func isExpiry(s []byte) bool {
	s = bytes.TrimSpace(s)
	if _, ok := writtenTime(s); ok {
		return true
	}
	_, ok := parseNumber(s)
	return ok
}

// cut shortens text for a message.
func cut(s []byte) string {
	const most = 80
	if len(s) > most {
		return string(s[:most]) + "..."
	}
	return string(s)
}

// learn concludes the unit of colExpire and the first time of reading from the first rows.
func (r *listReader) learn(sample [][]byte, o FileOptions) error {
	var values []float64
	var sampled row
	known := r.format.delimiter != 0 // NDJSON names its columns in each row
	r.coarse = true
	for _, line := range sample {
		if r.format.split(line, &sampled) != nil {
			continue
		}
		r.see(&sampled)
		c, raw := sampled.expiry()
		known = known || c != colOther && (sampled[colKey] != nil || sampled[colKey64] != nil)
		if c == colExpireMS || c == colTTLMS {
			r.coarse = false
		}
		if c != colExpire {
			continue
		}
		if v, ok := parseNumber(bytes.TrimSpace(raw)); ok && v > 0 {
			values = append(values, v)
		}
	}
	if !known {
		return errors.New("not a list of keys: no object has fields for a key and its expiry; " +
			"name them, such as key and pttl_ms (or ttl, expire_at)")
	}
	var err error
	if r.unit, err = guessUnit(values, o.TTLUnit); err != nil {
		return err
	}
	if len(values) > 0 {
		r.guessed = fmt.Sprintf("The expiries are read as %v, by the size of the first %d of them.", r.unit, len(values))
		r.coarse = r.coarse && r.unit.unit == time.Second
	}
	return nil
}

// see notes and returns the time of a row, 0 if it has none.
func (r *listReader) see(w *row) int64 {
	ms, ok := instant(bytes.TrimSpace(w[colNow]))
	if !ok {
		return 0
	}
	r.rowNow = max(r.rowNow, ms)
	return ms
}

func (r *listReader) next(k *Key) error {
	for {
		line, err := r.lines.next()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		if r.format.header && !r.named {
			r.named = true
			continue
		}
		if err := r.format.split(line, &r.row); err != nil {
			return r.lines.fail(err)
		}
		err = r.fill(k)
		if err != nil && !errors.Is(err, ErrNoNow) {
			return r.lines.fail(err)
		}
		return err
	}
}

// fill makes a Key of the row.
func (r *listReader) fill(k *Key) error {
	r.rowAt = r.see(&r.row)
	if typ := bytes.TrimSpace(r.row[colType]); string(typ) != r.typ {
		r.typ = string(typ)
	}
	*k = Key{ExpireMS: NoExpiry, Type: r.typ}
	var err error
	if k.Name, err = r.name(); err != nil {
		return err
	}
	if v, ok := parseNumber(bytes.TrimSpace(r.row[colIdle])); ok && v >= 0 && v < 1e9 {
		k.Idle, k.HasIdle = time.Duration(v*float64(time.Second)), true
	}
	if v, ok := parseInt(bytes.TrimSpace(r.row[colFreq])); ok && v >= 0 && v <= 255 {
		k.Freq, k.HasFreq = uint8(v), true
	}
	if v, ok := parseInt(bytes.TrimSpace(r.row[colDB])); ok && v >= 0 && v < 1<<31 {
		k.DB = int(v)
	}
	k.ExpireMS, err = r.expiry()
	return err
}

func (r *listReader) name() ([]byte, error) {
	if r.row[colKey] != nil {
		return r.row[colKey], nil
	}
	if r.row[colKey64] == nil {
		return nil, errors.New("no key")
	}
	var err error
	r.key, err = base64.StdEncoding.AppendDecode(r.key[:0], bytes.TrimSpace(r.row[colKey64]))
	if err != nil {
		return nil, fmt.Errorf("the key is not base64: %w", err)
	}
	return r.key, nil
}

// expiry returns the row's expiry in Unix milliseconds, or NoExpiry. Redis' answers -1 (no expiry) and -2 (no such
// key) are understood in every column, and 0 means no expiry in one with absolute times, as in memcached.
func (r *listReader) expiry() (int64, error) {
	c, raw := r.row.expiry()
	raw = bytes.TrimSpace(raw)
	if meansNoExpiry(raw) {
		r.empty++
		return NoExpiry, nil
	}
	if ms, ok := writtenTime(raw); ok && (c == colExpire || c == colExpireMS) {
		return ms, nil
	}
	v, ok := parseNumber(raw)
	unit := r.unitOf(c)
	switch {
	case !ok:
		return 0, fmt.Errorf("%w: %q", errExpiry, cut(raw))
	case v == -1 || v == 0 && unit.absolute:
		return NoExpiry, nil
	case v == -2:
		return 0, errVanished
	case v < 0 || v > 1e18:
		return 0, fmt.Errorf("%w: %q", errExpiry, cut(raw))
	case !unit.absolute:
		return r.relative(v, unit.unit)
	}
	if got, ok := absoluteUnit(v); !ok || got != unit.unit {
		return 0, fmt.Errorf("%w: %q where the others are %v", errExpiry, cut(raw), unit)
	}
	return millis(v, unit.unit), nil
}

func (r *listReader) unitOf(c column) timeUnit {
	switch c {
	case colExpireMS:
		return timeUnit{unit: time.Millisecond, absolute: true}
	case colTTLMS:
		return timeUnit{unit: time.Millisecond}
	case colTTL:
		return timeUnit{unit: time.Second}
	}
	return r.unit
}

// relative counts from the time of the row, else from the time as of which the list is judged.
func (r *listReader) relative(v float64, unit time.Duration) (int64, error) {
	from := r.readAt()
	if from == 0 {
		return 0, ErrNoNow
	}
	if v > float64(100*tenYears)*float64(time.Second/unit) {
		return 0, fmt.Errorf("%w: more than 1000 years", errExpiry)
	}
	return from + millis(v, unit), nil
}

// now is the time of the newest row, else that given by the user, else that of the file.
func (r *listReader) now() (time.Time, bool) {
	switch {
	case r.rowNow > 0:
		return time.UnixMilli(r.rowNow), true
	case !r.given.IsZero():
		return r.given, true
	}
	return r.modTime, !r.modTime.IsZero()
}

// readAt is the time of the row, else that of the list.
func (r *listReader) readAt() int64 {
	if r.rowAt > 0 {
		return r.rowAt
	}
	if now, ok := r.now(); ok {
		return now.UnixMilli()
	}
	return 0
}

func (r *listReader) kind() string { return "list" }
func (r *listReader) size() uint64 { return 0 }
func (r *listReader) Close() error { return r.content.Close() }

func (r *listReader) resolution() time.Duration {
	if r.coarse {
		return time.Second
	}
	return time.Millisecond
}

func (r *listReader) about(c *Coverage) {
	if r.guessed != "" {
		c.Notes = append(c.Notes, r.guessed)
	}
	if r.rowNow == 0 && r.given.IsZero() && !r.modTime.IsZero() {
		c.Notes = append(c.Notes, fmt.Sprintf("Nothing says when the keys were read: the file's modification time, %s, is taken for it.",
			r.modTime.UTC().Format(time.RFC3339)))
	}
	if r.empty > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("An empty expiry is read as none, for %d keys.", r.empty))
	}
}
