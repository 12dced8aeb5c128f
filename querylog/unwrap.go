package querylog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// unwrapper turns a wrapped log into a plain one.
type unwrapper struct {
	in   *bufio.Reader
	json *json.Decoder // for documents over several lines
	next func() error  // fills out
	out  []byte
	at   int
	err  error
	bad  uint64 // lines that were not understood
}

// unwrap returns a reader of the plain log inside r.
func unwrap(r io.Reader, w wrapping) *unwrapper {
	u := &unwrapper{in: bufio.NewReaderSize(r, sniffBytes)}
	u.next = u.plainLine
	if w == wrapJSON {
		u.next = u.jsonLine
		head, _ := u.in.Peek(sniffBytes)
		line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
		if !json.Valid(line) {
			u.json = json.NewDecoder(u.in)
			u.next = u.jsonDocument
		}
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

// plainLine takes the prefix off a line and spreads a one-line record over lines.
func (u *unwrapper) plainLine() error {
	line, err := u.in.ReadBytes('\n')
	if rest, ok := cutPrefix(line); ok {
		line = rest
	}
	u.message(line)
	return err
}

// message appends a piece of log, a one-line record spread over several lines.
func (u *unwrapper) message(b []byte) {
	if isOneLine(b) {
		b = spread(b)
	}
	u.out = append(u.out, b...)
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

// envelope is every JSON form that carries log text.
type envelope struct {
	Log       *string   `json:"log"`
	Message   *string   `json:"message"`
	LogEvents []message `json:"logEvents"`
	Events    []message `json:"events"`
}

type message struct {
	Message string `json:"message"`
}

var errJSON = errors.New("JSON without the message of a log")

// jsonLine reads one JSON document from one line.
func (u *unwrapper) jsonLine() error {
	line, err := u.in.ReadBytes('\n')
	if len(bytes.TrimSpace(line)) == 0 {
		return err
	}
	var e envelope
	if json.Unmarshal(line, &e) != nil {
		u.bad++
		return err
	}
	u.envelope(e)
	return err
}

// jsonDocument reads the next of several concatenated JSON documents.
func (u *unwrapper) jsonDocument() error {
	var e envelope
	if err := u.json.Decode(&e); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return errors.Join(errJSON, err)
	}
	u.envelope(e)
	return nil
}

func (u *unwrapper) envelope(e envelope) {
	n := len(u.out)
	if e.Log != nil {
		u.message([]byte(*e.Log))
	}
	if e.Message != nil {
		u.line(*e.Message)
	}
	for _, m := range e.LogEvents {
		u.line(m.Message)
	}
	for _, m := range e.Events {
		u.line(m.Message)
	}
	if len(u.out) == n && e.Log == nil {
		u.bad++
	}
}

// line appends a message that ends where its record ends.
func (u *unwrapper) line(m string) {
	u.message([]byte(m))
	if n := len(u.out); n > 0 && u.out[n-1] != '\n' {
		u.out = append(u.out, '\n')
	}
}
