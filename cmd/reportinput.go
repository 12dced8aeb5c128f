package cmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
)

// reportInputs are the inputs of a report by what they are.
type reportInputs struct {
	keys           []ttlSource // servers, dumps, key lists
	keySummaries   []string    // files of ttl --save
	logs           []string
	querySummaries []string // files of querylog --save
	lint           []string // files and folders
	coverage       []report.Coverage
	server         serverSettings // of the Redis that the dumps are of, where a file tells

	stdin     *bufio.Reader // of "-", looked at but not yet read
	stdinName string        // tells lint what it is
}

// sort puts an argument to where its content belongs.
func (in *reportInputs) sort(ctx context.Context, arg string) error {
	if strings.Contains(arg, "://") {
		s, err := sourceOf(arg)
		if err != nil {
			return err
		}
		in.keys = append(in.keys, s)
		return nil
	}
	if arg == "-" {
		in.add(in.stdinKind(ctx), arg)
		return nil
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		in.unread(arg, err)
	case info.IsDir():
		in.folder(ctx, arg)
	case !info.Mode().IsRegular():
		in.unread(arg, errors.New("a pipe or device: give it as standard input (-)"))
	default:
		in.file(ctx, arg)
	}
	return nil
}

func (in *reportInputs) unread(name string, err error) {
	in.coverage = append(in.coverage, report.Coverage{
		Source: sourceName(name), Kind: "unknown", Unit: "files", Total: 1, Errors: []string{plainError(err)}, Text: "nothing read",
	})
}

// nothing notes a file that is readable and holds nothing for herdscan.
func (in *reportInputs) nothing(name, why string) {
	in.coverage = append(in.coverage, report.Coverage{
		Source: sourceName(name), Kind: "unknown", Unit: "files", Total: 1, Complete: true, Errors: []string{}, Text: why,
	})
}

// folder is linted, and its saved summaries are read. Logs and dumps are not
// taken from folders, where several often tell of the same events.
func (in *reportInputs) folder(ctx context.Context, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		in.unread(dir, err)
		return
	}
	summaries, others, data := 0, 0, 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() {
			others++
			continue
		}
		switch kind, list := dataKind(ctx, path); {
		case kind == isKeySummary, kind == isQuerySummary, kind == isForeignSummary:
			in.add(kind, path)
			summaries++
		case kind == isLog, kind == isKeys, list && !configured(ctx, path):
			data++
		default:
			others++
		}
	}
	if others > 0 || summaries == 0 {
		in.lint = append(in.lint, dir)
	}
	if data > 0 {
		in.nothing(dir, fmt.Sprintf("%s in it not read: name each that is wanted, since two may tell of the same events", report.Count(data, "logs, dumps and key lists")))
	}
}

func (in *reportInputs) file(ctx context.Context, path string) { in.add(contentKind(ctx, path), path) }

func (in *reportInputs) add(kind inputKind, path string) {
	switch kind {
	case isKeySummary:
		in.keySummaries = append(in.keySummaries, path)
	case isQuerySummary:
		in.querySummaries = append(in.querySummaries, path)
	case isForeignSummary:
		in.unread(path, errors.New("a summary of a kind or version that this herdscan does not know"))
	case isLog:
		in.logs = append(in.logs, path)
	case isKeys:
		in.keys = append(in.keys, ttlSource{path: path})
	case isConfig:
		in.lint = append(in.lint, path)
	case isServer:
		in.about(path)
	case isUnreadable:
		_, err := querylog.Recognise(querylog.FileSource(path))
		if err == nil {
			err = errors.New("it can't be read twice")
		}
		in.unread(path, err)
	default:
		in.nothing(path, "nothing in it that herdscan reads: no query log, dump, key list, summary, schedule or policy")
	}
}

// An inputKind is what a file holds.
type inputKind int

const (
	isNothing inputKind = iota
	isKeySummary
	isQuerySummary
	isForeignSummary
	isLog
	isKeys
	isConfig
	isServer
	isUnreadable
)

// contentKind recognises a file by its content, what is told apart most surely
// first.
func contentKind(ctx context.Context, path string) inputKind {
	kind, list := dataKind(ctx, path)
	if kind != isNothing {
		return kind
	}
	if configured(ctx, path) {
		return isConfig
	}
	if _, ok := readServerSettings(path); ok {
		return isServer
	}
	if list {
		return isKeys
	}
	return isNothing
}

// dataKind recognises summaries, logs and dumps by their beginning. list says
// that it may be a list of keys, which other text can look like.
func dataKind(ctx context.Context, path string) (kind inputKind, list bool) {
	head, err := os.Open(path)
	if err != nil {
		return isUnreadable, false
	}
	defer head.Close()
	if kind := savedKind(head); kind != isNothing {
		return kind, false
	}
	switch ok, err := querylog.Recognise(querylog.FileSource(path)); {
	case err != nil:
		return isUnreadable, false
	case ok:
		return isLog, false
	}
	// Any time will do: without one, a metadump would be read whole for its own.
	src, err := scan.OpenFile(ctx, path, scan.FileOptions{Now: time.Unix(1, 0)})
	switch {
	case err != nil:
		return isNothing, false
	case src.Kind() != "list":
		return isKeys, false
	default:
		return isNothing, true
	}
}

// stdinHead is how much of standard input decides what it is.
const stdinHead = 256 << 10

// stdinKind recognises standard input by its beginning, which stays unread.
func (in *reportInputs) stdinKind(ctx context.Context) inputKind {
	head, _ := in.stdin.Peek(stdinHead) // an end or error shows when it is read
	if kind := savedKind(bytes.NewReader(head)); kind != isNothing {
		return kind
	}
	if ok, _ := querylog.Recognise(querylog.ReaderSource("standard input", bytes.NewReader(head))); ok {
		return isLog
	}
	src, err := scan.OpenFile(ctx, "-", scan.FileOptions{Stdin: bytes.NewReader(head)})
	if err == nil && src.Kind() != "list" {
		return isKeys
	}
	res, lintErr := cronlint.Lint(ctx, []string{"-"}, lint.Options{
		Stdin: bytes.NewReader(head), StdinName: in.stdinName, NamedCode: true, Rules: []string{"HS901"},
	})
	switch {
	case lintErr == nil && res.Files.Recognised > 0:
		return isConfig
	case err == nil:
		return isKeys
	default:
		return isNothing
	}
}

// configured says whether lint knows the file.
func configured(ctx context.Context, path string) bool {
	res, err := cronlint.Lint(ctx, []string{path}, lint.Options{NamedCode: true, Rules: []string{"HS901"}})
	return err == nil && res.Files.Recognised > 0
}

var savedHead = regexp.MustCompile(`^\{"kind":"herdscan-([a-z]+)","version":(\d+),`)

// savedKind recognises what --save wrote, by its first fields.
func savedKind(r io.Reader) inputKind {
	z, err := gzip.NewReader(r)
	if err != nil {
		return isNothing
	}
	defer z.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(z, head) // a short file is no summary
	m := savedHead.FindSubmatch(head[:n])
	switch {
	case m == nil:
		return isNothing
	case bytes.Equal(m[1], []byte("ttl")):
		return isKeySummary
	case bytes.Equal(m[1], []byte("querylog")):
		return isQuerySummary
	default:
		return isForeignSummary
	}
}

// empty says that nothing was given.
func (in *reportInputs) empty() bool {
	return len(in.keys)+len(in.keySummaries)+len(in.logs)+len(in.querySummaries)+len(in.lint)+len(in.coverage) == 0
}
