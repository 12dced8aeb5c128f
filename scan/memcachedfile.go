package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

var errMetaLine = errors.New("not a line of a metadump: no key=, no exp= or a damaged field")

// A metadumpReader reads the saved output of "lru_crawler metadump all".
type metadumpReader struct {
	content *content
	lines   lineReader
	parser  metaParser
	given   time.Time // FileOptions.Now, or the newest access of the whole file
	newest  int64     // Unix seconds of the newest access so far
	ended   bool      // END was read
}

func newMetadumpReader(c *content, o FileOptions) (*metadumpReader, error) {
	r := &metadumpReader{content: c, lines: lineReader{r: c.Reader}, given: o.Now}
	head, err := c.head()
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(head) {
		r.see(bytes.TrimRight(line, "\r\n"))
	}
	return r, nil
}

// see takes the time of access from a line.
func (r *metadumpReader) see(line []byte) {
	if item, ok := r.parser.parse(line); ok {
		r.newest = max(r.newest, item.access)
	}
}

// newestAccess reads the whole file for its newest time of access, which is the best there is for the time of a dump
// that was saved without one.
func (r *metadumpReader) newestAccess(ctx context.Context) (time.Time, error) {
	for {
		line, err := r.lines.next()
		var bad *RecordError
		switch {
		case err == nil:
			r.see(line)
		case errors.Is(err, io.EOF) && r.newest > 0:
			return time.Unix(r.newest, 0), nil
		case errors.As(err, &bad):
		default:
			// Nothing tells the time, or the file is damaged, which Keys meets again and reports.
			return time.Time{}, ctx.Err()
		}
		if r.lines.line%checkEvery == 0 && ctx.Err() != nil {
			return time.Time{}, ctx.Err()
		}
	}
}

func (r *metadumpReader) next(k *Key) error {
	for {
		line, err := r.lines.next()
		if err != nil {
			return err
		}
		switch string(line) {
		case "":
			continue
		case "END":
			r.ended = true
			continue
		}
		item, ok := r.parser.parse(line)
		if !ok || r.lines.cut && !item.hasSize {
			return r.lines.fail(errMetaLine)
		}
		r.newest = max(r.newest, item.access)
		item.fill(k)
		return nil
	}
}

// fill turns a line into a Key. An item that was never read keeps the time of its writing as that of its last access,
// so that its original time to live is known.
func (i *metaItem) fill(k *Key) {
	*k = Key{Name: i.key, ExpireMS: NoExpiry}
	if i.expire <= 0 {
		return
	}
	k.ExpireMS = i.expire * 1000
	if i.hasFetch && !i.fetched && i.access > 0 && i.expire > i.access {
		k.TTL = time.Duration(i.expire-i.access) * time.Second
	}
}

func (r *metadumpReader) now() (time.Time, bool) {
	if !r.given.IsZero() {
		return r.given, true
	}
	return time.Unix(r.newest, 0), r.newest > 0
}

func (r *metadumpReader) readAt() int64 {
	now, _ := r.now()
	return now.UnixMilli()
}

func (r *metadumpReader) kind() string              { return "memcached" }
func (r *metadumpReader) resolution() time.Duration { return time.Second }
func (r *metadumpReader) size() uint64              { return 0 }
func (r *metadumpReader) Close() error              { return r.content.Close() }

func (r *metadumpReader) about(c *Coverage) {
	if c.Complete && !r.ended {
		c.Notes = append(c.Notes, "The list has no END line: it may be cut off.")
	}
}
