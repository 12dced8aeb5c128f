package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/herdscan/herdscan/scan/rdb"
)

// An rdbReader reads the keys of an RDB file.
type rdbReader struct {
	content *content
	dump    *rdb.Reader
	entry   rdb.Entry
	asOf    time.Time // zero: unknown
	guessed bool      // asOf is the file's, not the dump's
}

func newRDBReader(c *content, o FileOptions, modTime time.Time) (*rdbReader, error) {
	if _, err := c.Discard(c.skip); err != nil {
		return nil, err
	}
	dump, err := rdb.NewReader(c, rdb.Options{SkipChecksum: o.SkipChecksum})
	if dump == nil {
		return nil, err
	}
	r := &rdbReader{content: c, dump: dump, asOf: o.Now}
	switch created := dump.Info().Created; {
	case !o.Now.IsZero():
	case !created.IsZero():
		r.asOf = created
	case !modTime.IsZero():
		r.asOf, r.guessed = modTime, true
	}
	return r, nil
}

func (r *rdbReader) next(k *Key) error {
	if err := r.dump.Next(&r.entry); err != nil {
		return err
	}
	e := &r.entry
	*k = Key{
		Name: e.Key, DB: e.DB, ExpireMS: e.ExpireMS, Idle: e.Idle, HasIdle: e.HasIdle,
		Freq: e.Freq, HasFreq: e.HasFreq, Type: e.Type, FieldExpireMS: max(e.FieldExpireMS, 0),
	}
	return nil
}

func (r *rdbReader) now() (time.Time, bool) { return r.asOf, !r.asOf.IsZero() }

func (r *rdbReader) readAt() int64 {
	if r.asOf.IsZero() {
		return 0
	}
	return r.asOf.UnixMilli()
}

func (r *rdbReader) kind() string { return "rdb" }

// resolution is a second for the first two versions of the format.
func (r *rdbReader) resolution() time.Duration {
	if info := r.dump.Info(); !info.Valkey && info.Version < 3 {
		return time.Second
	}
	return time.Millisecond
}

// size is what the first database announces, which is all there is on most servers.
func (r *rdbReader) size() uint64 { return r.dump.Info().KeysHint }

func (r *rdbReader) about(c *Coverage) {
	info := r.dump.Info()
	note := func(format string, a ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, a...)) }
	switch {
	case r.guessed:
		note("The dump does not say when it was written: it is judged as of the file's modification time, %s.",
			r.asOf.UTC().Format(time.RFC3339))
	case r.asOf.IsZero():
		note("The dump does not say when it was written.")
	}
	if info.Newer() {
		note("Its format %s is newer than herdscan knows; what was read was understood.", info.Format())
	}
	if info.Updates > 0 {
		note("%d commands that ran while the dump was written were not applied.", info.Updates)
	}
	if !c.Complete || r.content.skip > 0 { // behind a dump from a master, commands follow without end
		return
	}
	switch rest := r.dump.Trailing(); {
	case isAOF(rest):
		note("This is an append-only file: it was read up to %s, when its RDB part was written; the commands behind it were not.", r.written())
	case info.AOFBase:
		note("This is the base of an append-only file, written at %s: later commands are in its other files and were not read.", r.written())
	case isEndMark(rest): // redis-cli --rdb leaves the mark of a diskless stream behind the dump
	case len(bytes.TrimSpace(rest)) > 0:
		note("Bytes behind the end of the dump were not read.")
	}
}

// written is the dump's own time, for humans.
func (r *rdbReader) written() string {
	created := r.dump.Info().Created
	if created.IsZero() {
		return "an unknown time"
	}
	return created.UTC().Format(time.RFC3339)
}

// isEndMark recognises the 40 hexadecimal digits that end a replication stream
// of unknown length.
func isEndMark(b []byte) bool {
	return len(b) == 40 && len(bytes.Trim(b, "0123456789abcdef")) == 0
}

// Close ends the reading. It may be called more than once and while next runs.
func (r *rdbReader) Close() error {
	r.dump.Close()
	err := r.content.Close()
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
