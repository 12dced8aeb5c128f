package spread

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/herdscan/herdscan/scan"
)

// Format is the name and version of the log's format.
const Format = "herdscan-spread/1"

// A Header is the first line of a log.
type Header struct {
	Format      string    `json:"format"`
	Version     string    `json:"version"` // of herdscan
	Source      string    `json:"source"`  // without secrets
	Pattern     string    `json:"pattern"`
	Made        time.Time `json:"made"` // when the keys were read, by the server's clock
	Keys        int       `json:"keys"` // lines that follow, one for each key
	Seed        uint64    `json:"seed"`
	Jitter      float64   `json:"jitter,omitempty"`
	Target      float64   `json:"target,omitempty"`
	AllowLonger bool      `json:"allow_longer,omitempty"`
	MarginNS    int64     `json:"margin_ns"`
}

// An entry is the line of one key: its name in base64, as JSON has it for
// bytes, and its old and new expiry in Unix ms.
type entry struct {
	Key []byte `json:"k"`
	DB  int    `json:"db,omitempty"`
	Old int64  `json:"o"`
	New int64  `json:"n"`
}

// A result is the line of one batch that was sent: what became of the keys
// from From on, one letter each (see scan.Outcome).
type result struct {
	From     int    `json:"from"`
	Outcomes string `json:"outcomes"`
}

// A Log is the file that holds a plan and what became of it. All of the plan
// is on disk before the first key is touched.
type Log struct {
	Header
	Path     string
	Changes  []scan.Change
	Outcomes []scan.Outcome // 0: not known to be sent

	file *os.File
}

// ErrIncomplete says that a log ends before its plan does: the run was cut off
// while it was written, and no key was touched.
var ErrIncomplete = errors.New("the log ends before its plan does: the run was cut off before it touched a key; begin anew")

// Create writes the plan to a new file, readable by its owner only, and syncs
// it. An existing file is never overwritten.
func Create(path string, h Header, p *Plan) (*Log, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	h.Format, h.Pattern, h.Made, h.Keys = Format, p.Pattern, p.Now.UTC(), len(p.Changes)
	h.Seed, h.Jitter, h.Target, h.AllowLonger, h.MarginNS = p.Seed, p.Jitter, p.Target, p.AllowLonger, int64(p.Margin)
	l := &Log{Header: h, Path: path, Changes: p.Changes, Outcomes: make([]scan.Outcome, len(p.Changes)), file: f}
	if err := l.writePlan(); err != nil {
		f.Close()
		_ = os.Remove(path) // no key was touched
		return nil, err
	}
	return l, nil
}

func (l *Log) writePlan() error {
	w := bufio.NewWriterSize(l.file, 1<<16)
	enc := json.NewEncoder(w)
	if err := enc.Encode(l.Header); err != nil {
		return err
	}
	for _, c := range l.Changes {
		if err := enc.Encode(entry{c.Name, c.DB, c.Old, c.New}); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return l.sync()
}

// sync makes file and folder outlive a crash of the machine.
func (l *Log) sync() error {
	if err := l.file.Sync(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(l.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	_ = dir.Sync() // not every system can
	return nil
}

// record appends what became of the changes from a place on.
func (l *Log) record(from int, outcomes []scan.Outcome) error {
	copy(l.Outcomes[from:], outcomes)
	line, err := json.Marshal(result{from, string(outcomeBytes(outcomes))})
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

func outcomeBytes(outcomes []scan.Outcome) []byte {
	b := make([]byte, len(outcomes))
	for i, o := range outcomes {
		b[i] = byte(o)
	}
	return b
}

// Close syncs and closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.file = nil
	return err
}

// Open reads a log. With write it is opened to go on. A last line that was cut
// off is dropped. The error wraps ErrIncomplete, or says what the file is not.
func Open(path string, write bool) (*Log, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, err
	}
	l := &Log{Path: path, file: f}
	end, err := l.read(f)
	if err == nil && write {
		if err = f.Truncate(end); err == nil {
			_, err = f.Seek(end, io.SeekStart)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if !write {
		l.file = nil
		return l, f.Close()
	}
	return l, nil
}

// read returns the offset behind the last whole line.
func (l *Log) read(f io.Reader) (end int64, err error) {
	r := bufio.NewReaderSize(f, 1<<16)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // a line without an end was cut off
		}
		if err != nil {
			return 0, err
		}
		if err := l.take(n, line); err != nil {
			return 0, fmt.Errorf("line %d: %w", n+1, err)
		}
		end += int64(len(line))
	}
	switch {
	case l.Format == "":
		return 0, errors.New("not a log of herdscan spread")
	case len(l.Changes) < l.Keys:
		return 0, ErrIncomplete
	}
	return end, nil
}

func (l *Log) take(n int, line []byte) error {
	switch {
	case n == 0:
		return l.takeHeader(line)
	case len(l.Changes) < l.Keys:
		var e entry
		if err := strict(line, &e); err != nil {
			return err
		}
		if e.Old <= 0 || e.New <= 0 || e.DB < 0 {
			return errors.New("an expiry or a database number is missing")
		}
		l.Changes = append(l.Changes, scan.Change{KeyRef: scan.KeyRef{Name: e.Key, DB: e.DB}, Old: e.Old, New: e.New})
		l.Outcomes = append(l.Outcomes, 0)
		return nil
	default:
		var r result
		if err := strict(line, &r); err != nil {
			return err
		}
		if r.From < 0 || r.From+len(r.Outcomes) > len(l.Outcomes) {
			return errors.New("results of keys that are not in the plan")
		}
		for i := range len(r.Outcomes) {
			l.Outcomes[r.From+i] = scan.Outcome(r.Outcomes[i])
		}
		return nil
	}
}

func (l *Log) takeHeader(line []byte) error {
	if err := json.Unmarshal(line, &l.Header); err != nil || l.Format == "" {
		return errors.New("not a log of herdscan spread")
	}
	if l.Format != Format {
		return fmt.Errorf("the log is of format %q, this herdscan reads %q", l.Format, Format)
	}
	if l.Keys < 0 || l.Keys > maxChanges {
		return fmt.Errorf("a plan of %d keys", l.Keys)
	}
	return nil
}

func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
