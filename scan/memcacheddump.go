package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

var (
	errCrawlerOff = errors.New("its LRU crawler is off (start it with -o lru_crawler, or send it \"lru_crawler enable\")")
	errDumpOff    = errors.New("it was started with -X, which forbids dumps")
	errOldServer  = errors.New("it does not know \"lru_crawler metadump\": that takes memcached 1.4.31 or newer")
)

// firstBusyPause and maxBusyPause are the shortest and the longest pause between two tries while another client's
// crawl runs.
const (
	firstBusyPause = 50 * time.Millisecond
	maxBusyPause   = 2 * time.Second
)

// dump lists all items.
func (m *Memcached) dump(ctx context.Context, c *memcachedConn, yield func(*Key) error) error {
	line, err := m.startDump(ctx, c)
	var parser metaParser
	var k Key
	now := m.info.Now.Unix()
	for n := uint64(1); ; n++ {
		var bad *RecordError
		switch {
		case errors.As(err, &bad):
			m.skipped(bad)
		case err != nil:
			return m.dumpEnd(err)
		case string(line) == "END" || bytes.HasPrefix(line, []byte("NOTSTARTED")): // NOTSTARTED: no items
			return nil
		default:
			item, ok := parser.parse(line)
			if !ok || c.lines.cut && !item.hasSize {
				m.skipped(&RecordError{Line: c.lines.line, Err: errMetaLine})
				break
			}
			if item.expire > 0 && item.expire <= now {
				m.coverage.Expired++
				break
			}
			item.fill(&k)
			m.coverage.Read++
			if err := yield(&k); err != nil {
				return err
			}
		}
		if n%checkEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if m.opts.Progress != nil {
				m.opts.Progress(m.coverage.Read, m.coverage.Total)
			}
		}
		line, err = c.lines.next()
	}
}

// startDump sends the command until the crawler is free, and returns the first line of the list.
func (m *Memcached) startDump(ctx context.Context, c *memcachedConn) ([]byte, error) {
	pause, waited := firstBusyPause, time.Duration(0)
	for {
		if err := c.send("lru_crawler metadump all"); err != nil {
			return nil, err
		}
		c.lines.line = 0
		line, err := c.lines.next()
		if err == nil && string(line) == "OK" { // versions that announce the list
			line, err = c.lines.next()
		}
		if err != nil || !bytes.HasPrefix(line, []byte("BUSY")) {
			return line, errors.Join(err, dumpError(line))
		}
		if waited >= m.opts.BusyWait {
			return nil, fmt.Errorf("waited %v: %w", m.opts.BusyWait, ErrMemcachedBusy)
		}
		pause = min(pause, m.opts.BusyWait-waited)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		waited += pause
		pause = min(2*pause, maxBusyPause)
	}
}

// dumpError explains a first line that refuses the list.
func dumpError(line []byte) error {
	switch {
	case bytes.HasPrefix(line, []byte("CLIENT_ERROR lru crawler disabled")):
		return errCrawlerOff
	case bytes.Contains(line, []byte("metadump not allowed")):
		return errDumpOff
	case string(line) == "ERROR":
		return errOldServer
	case bytes.HasPrefix(line, []byte("ERROR")), bytes.HasPrefix(line, []byte("CLIENT_ERROR")), bytes.HasPrefix(line, []byte("SERVER_ERROR")):
		return fmt.Errorf("it answers %q to lru_crawler metadump all", cut(line))
	}
	return nil
}

// dumpEnd judges a list that does not end with END. Some old versions never send one: the list is taken for complete
// when it has nearly as many items as the server counts and the server has nothing more to say.
func (m *Memcached) dumpEnd(err error) error {
	listed := m.coverage.Read + m.coverage.Expired
	silent := errors.Is(err, os.ErrDeadlineExceeded)
	switch {
	case silent && listed > 0 && listed >= m.coverage.Total-m.coverage.Total/20:
		m.coverage.Notes = append(m.coverage.Notes, fmt.Sprintf(
			"The server did not end its list: after %v of silence it is taken for complete.", m.opts.Timeout))
		return nil
	case silent && listed > 0:
		return fmt.Errorf("it stopped sending its list for %v: %d of about %d items read", m.opts.Timeout, listed, m.coverage.Total)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("it closed the connection in the middle of its list: %d of about %d items read", listed, m.coverage.Total)
	}
	return err
}

// skipped counts a line that was not understood and describes the first ones.
func (m *Memcached) skipped(err *RecordError) {
	m.coverage.Skipped++
	if len(m.coverage.Errors) < maxRecordErrors {
		m.coverage.Errors = append(m.coverage.Errors, err)
	}
}
