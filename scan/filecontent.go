package scan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/herdscan/herdscan/scan/rdb"
)

// headSize is how much of an input is looked at to recognise it.
const headSize = 64 << 10

// maxWindow bounds the memory of the zstd decoder. It is what zstd itself
// accepts without --long=27 and more.
const maxWindow = 128 << 20

// A fileKind is what an input was recognised as.
type fileKind int

const (
	kindRDB fileKind = iota
	kindMetadump
	kindKeyList
)

// content is an opened input: uncompressed, at its first byte.
type content struct {
	*bufio.Reader
	kind   fileKind
	list   bool   // said to be a list of keys
	skip   int    // bytes before the dump: what a master sends to a replica
	packed string // "gzip", "zstd" or ""
	file   io.Closer
}

// Close closes the file. It may be called while another goroutine reads, so it leaves the decompressor, which holds
// nothing but memory, alone.
func (c *content) Close() error { return c.file.Close() }

// openContent uncompresses and recognises r, and takes it over: closing the
// content closes r. A list is recognised by nothing but that it is said to be one.
func openContent(r io.ReadCloser, list bool) (*content, error) {
	c := &content{file: r, list: list}
	if err := c.open(r); err != nil {
		_ = c.Close() // the error that matters is the first
		return nil, err
	}
	return c, nil
}

func (c *content) open(r io.Reader) error {
	c.Reader = bufio.NewReaderSize(r, headSize)
	head, err := c.head()
	if err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(c.Reader)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		c.uncompress("gzip", z)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(c.Reader, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		c.uncompress("zstd", z)
	}
	if c.packed != "" {
		if head, err = c.head(); err != nil {
			return fmt.Errorf("%s: %w", c.packed, err)
		}
	}
	return c.recognise(head)
}

func (c *content) uncompress(name string, r io.Reader) {
	c.packed = name
	c.Reader = bufio.NewReaderSize(r, headSize)
}

// longestStart is more than a master sends to a replica before a dump.
const longestStart = 256

// head returns the first bytes without taking them: of a dump just its magic, since a master may wait behind a small
// one, of anything else up to headSize.
func (c *content) head() ([]byte, error) {
	first, _ := c.Peek(1)
	if len(first) > 0 && bytes.IndexByte([]byte("RV$+\r\n"), first[0]) >= 0 {
		for n := 9; n <= longestStart; n++ {
			head, err := c.Peek(n)
			if _, ok := rdb.Start(head); ok {
				return head, nil
			}
			if err != nil {
				break
			}
		}
	}
	head, err := c.Peek(headSize)
	if len(head) > 0 || errors.Is(err, io.EOF) {
		return head, nil
	}
	return nil, err
}

// unreadable lists the beginnings of files that can't be read, with what to do.
var unreadable = []struct{ magic, why string }{
	{"VKCS", "an RDB file in Valkey's compressed envelope; let the server save without compression, or scan it"},
	{"PK\x03\x04", "a zip archive; unpack it first"},
	{"BZh", "compressed with bzip2; pipe it through bzip2 -dc"},
	{"\xfd7zXZ\x00", "compressed with xz; pipe it through xz -dc"},
	{"\x04\x22\x4d\x18", "compressed with lz4; pipe it through lz4 -dc"},
	{"SQLite format 3", "an SQLite database"},
}

// recognise decides from the first bytes what the input is.
func (c *content) recognise(head []byte) error {
	if len(head) == 0 {
		return errors.New("the file is empty (0 bytes)")
	}
	if c.list {
		c.kind = kindKeyList
		return nil
	}
	if skip, ok := rdb.Start(head); ok {
		c.kind, c.skip = kindRDB, skip
		return nil
	}
	for _, u := range unreadable {
		if bytes.HasPrefix(head, []byte(u.magic)) {
			return errors.New(u.why)
		}
	}
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return errors.New("a tar archive; unpack it first")
	case isAOF(head):
		return errors.New("an append-only file without an RDB part: it holds commands, not keys; " +
			"run BGREWRITEAOF with aof-use-rdb-preamble yes, or give the .base.rdb file or a dump")
	case bytes.HasPrefix(head, []byte("REDIS")) || bytes.HasPrefix(head, []byte("VALKEY")):
		return errors.New("a damaged RDB file: no version after the magic")
	case bytes.IndexByte(head, 0) >= 0:
		return errors.New("not a dump that herdscan knows (encrypted, or of another program): no RDB magic, and not text")
	case bytes.HasPrefix(head, []byte("mg ")):
		return errors.New("the output of memcached's mgdump, which has keys only; use lru_crawler metadump all")
	case isMetadump(head):
		c.kind = kindMetadump
		return nil
	}
	c.kind = kindKeyList
	return nil
}

// isAOF reports whether head begins with a command in Redis' protocol or with
// the annotation of an append-only file.
func isAOF(head []byte) bool {
	if bytes.HasPrefix(head, []byte("#TS:")) {
		return true
	}
	line, rest, ok := bytes.Cut(head, []byte("\r\n"))
	return ok && len(line) > 1 && line[0] == '*' && len(bytes.Trim(line[1:], "0123456789")) == 0 &&
		bytes.HasPrefix(rest, []byte("$"))
}

// pump reads r in a goroutine of its own, so that a reader that waits for a slow stream can be woken by Close.
func pump(r io.Reader) io.ReadCloser {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{pw}, struct{ io.Reader }{r}, make([]byte, pumpSize))
		_ = pw.CloseWithError(err) // always nil
	}()
	return pr
}

const pumpSize = 256 << 10
