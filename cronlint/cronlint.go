package cronlint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"

	"github.com/herdscan/herdscan/cronlint/cache"
	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/retry"
)

// A Skip is a file that was left out, and why.
type Skip struct{ File, Reason string }

// Counts says how many files were met.
type Counts struct {
	Seen       int // regular files looked at
	Recognised int // of a known format
	Binary     int // not text
	Skipped    int // left out, see Result.Skipped
}

// A Result is what a run found.
type Result struct {
	Files    Counts
	Skipped  []Skip
	Sources  []*lint.File // the recognised files, by path
	Entries  []*lint.Entry
	Settings []*lint.Setting
	Problems []lint.Problem // by file, position and rule; accepted ones are marked, not dropped
	Errors   []*lint.Error  // inputs not read, or not understood from a line on
	Gone     []lint.BaselineItem
	Partial  bool // the run was cut short
}

// Count returns the number of active problems of at least a severity: those
// that no comment and no baseline accepts.
func (r *Result) Count(least Severity) (n int) {
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Active() && p.Severity >= least {
			n++
		}
	}
	return n
}

// Lint reads the paths (files, folders, "-" for Options.Stdin) and judges what
// it finds. Input that can't be read is in Result.Errors; the error is for a
// wrong use, and for a cancelled ctx, which comes with what was found so far.
func Lint(ctx context.Context, paths []string, o lint.Options) (*Result, error) {
	if err := validate(paths, &o); err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		root = "" // paths are then shown as given
	}
	files := newReader(ctx, &o)
	w := &walker{opts: &o, root: root, seen: make(map[string]bool), found: files.add}
	walkErr := w.walk(ctx, paths)
	read := files.wait()
	if slices.Contains(paths, "-") {
		in := readStdin(&o)
		read = append(read, &in)
	}
	res := collect(w, read)
	judge(res, &o, w.folders)
	if err := errors.Join(walkErr, ctx.Err()); err != nil {
		res.Partial = true
		return res, err
	}
	return res, nil
}

func validate(paths []string, o *lint.Options) error {
	if len(paths) == 0 {
		return errors.New("nothing to lint: give a file, a folder or -")
	}
	if slices.Contains(paths, "-") && o.Stdin == nil {
		return errors.New("no standard input to read")
	}
	for _, g := range slices.Concat(o.Include, o.Exclude) {
		if !doublestar.ValidatePattern(g) {
			return fmt.Errorf("%q is no valid glob", g)
		}
	}
	for g := range o.Groups {
		if !doublestar.ValidatePattern(g) {
			return fmt.Errorf("%q is no valid glob", g)
		}
	}
	known := Rules()
	for _, id := range slices.Concat(o.Rules, o.Disable) {
		if !slices.ContainsFunc(known, func(r Rule) bool { return r.ID == id }) {
			return fmt.Errorf("no rule %q", id)
		}
	}
	return nil
}

// reading is what one file gave.
type reading struct {
	file    *lint.File // nil when not read or of no known format
	parsed  lint.Parsed
	skip    string
	shown   string
	done    bool
	unread  bool // left out before it was looked at
	unknown bool
	binary  bool
}

// formatsFor leaves out the formats whose switch is off.
func formatsFor(o *lint.Options) []lint.Format {
	return slices.DeleteFunc(Formats(), func(f lint.Format) bool {
		optional, ok := f.(lint.Optional)
		return ok && !o.Has(optional.OptIn())
	})
}

// A reader reads and parses files on all cores while the folders are walked.
type reader struct {
	ctx     context.Context
	opts    *lint.Options
	formats []lint.Format
	named   []lint.Format // for files given by name
	spare   sync.Pool     // buffers to read into
	group   errgroup.Group
	out     []*reading
}

func newReader(ctx context.Context, o *lint.Options) *reader {
	r := &reader{ctx: ctx, opts: o, formats: formatsFor(o)}
	r.named = r.formats
	if o.NamedCode && !o.Has("code") {
		wide := *o
		wide.OptIn = append(slices.Clone(o.OptIn), "code")
		r.named = formatsFor(&wide)
	}
	r.group.SetLimit(runtime.GOMAXPROCS(0))
	return r
}

// add reads a file, unless the run is cut short.
func (r *reader) add(c candidate) {
	one := new(reading)
	r.out = append(r.out, one)
	r.group.Go(func() error {
		if r.ctx.Err() == nil {
			formats := r.formats
			if c.named {
				formats = r.named
			}
			*one = readFile(c, formats, r.opts, &r.spare)
		}
		return nil
	})
}

// wait returns what the files gave.
func (r *reader) wait() []*reading {
	_ = r.group.Wait() // the functions return no error
	return r.out
}

func readFile(c candidate, formats []lint.Format, o *lint.Options, spare *sync.Pool) reading {
	buffer, ok := spare.Get().(*bytes.Buffer)
	if !ok {
		buffer = new(bytes.Buffer)
	}
	defer spare.Put(buffer)
	data, err := readLimited(c.disk, buffer, maxSize(o))
	var large tooLarge
	if errors.As(err, &large) {
		return reading{shown: c.shown, done: true, unread: true, skip: err.Error()}
	}
	if err != nil {
		w := walker{}
		w.fail(c.shown, err)
		return reading{shown: c.shown, done: true, parsed: lint.Parsed{Errors: w.errs}}
	}
	r := parse(c.shown, data, formats, o)
	switch {
	case !c.named || r.skip != "":
	case r.binary:
		r.skip = "binary"
	case r.unknown:
		r.skip = "no known format"
	}
	return r
}

// readLimited reads a file into a buffer; of one that is not text only the
// beginning.
func readLimited(name string, data *bytes.Buffer, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data.Reset()
	data.Grow(firstRead)
	first := data.AvailableBuffer()[:firstRead]
	n, err := f.Read(first)
	data.Write(first[:n])
	if err != nil || binary(data.Bytes()) {
		if err == io.EOF {
			err = nil
		}
		return data.Bytes(), err // enough to know that it is no text
	}
	_, err = data.ReadFrom(io.LimitReader(f, limit+1-int64(data.Len())))
	return upTo(data.Bytes(), limit, err)
}

// firstRead is how much of a file is asked for at first, in bytes: all of most.
const firstRead = 32 << 10

// sniff is how many bytes decide whether a file is text.
const sniff = 8000

func binary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), sniff)], 0) >= 0 }

func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	return upTo(data, limit, err)
}

func upTo(data []byte, limit int64, err error) ([]byte, error) {
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	}
	return data, err
}

// tooLarge is the error of a file with more bytes than this.
type tooLarge int64

func (limit tooLarge) Error() string { return fmt.Sprintf("larger than %d MiB", int64(limit)>>20) }

func readStdin(o *lint.Options) reading {
	name := cmp.Or(o.StdinName, "stdin")
	data, err := readUpTo(o.Stdin, maxSize(o))
	if err != nil {
		return reading{shown: name, done: true, parsed: lint.Parsed{Errors: []*lint.Error{{File: name, Err: err}}}}
	}
	r := parse(name, data, formatsFor(o), o)
	switch {
	case r.skip != "":
	case r.binary:
		r.skip = "binary"
	case r.unknown:
		r.skip = "no known format (say its name: --stdin-filename)"
	}
	return r
}

// textExtensions are those of files that should be text: a binary one among
// them is worth a word, a picture is not.
var textExtensions = []string{
	".conf", ".cfg", ".yml", ".yaml", ".json", ".jsonc", ".properties", ".timer", ".tf", ".toml", ".env", ".vcl", ".hcl", ".nomad",
}

// parse gives the file to every format that recognises it, and the files inside
// it to those that read settings. It keeps no part of data.
func parse(shown string, data []byte, formats []lint.Format, o *lint.Options) reading {
	r := reading{shown: shown, done: true}
	if binary(data) {
		r.unknown, r.binary = true, true
		if slices.Contains(textExtensions, path.Ext(shown)) {
			r.skip = "binary or UTF-16"
		}
		return r
	}
	formats = matching(formats, shown, data)
	if len(formats) == 0 && !lint.MayEmbed(data) {
		r.unknown = true
		return r
	}
	file := lint.NewFile(shown, bytes.Clone(data))
	for _, f := range formats {
		r.file = file
		r.add(parseOne(f, file, o))
	}
	for _, inner := range file.Embedded() {
		for _, f := range slices.Concat(retry.Formats(), cache.Formats()) {
			if f.Match(inner.Name, inner.Data) {
				r.file = file
				r.add(parseOne(f, inner, o))
			}
		}
	}
	r.unknown = r.file == nil
	return r
}

// matching are the formats that recognise a file.
func matching(formats []lint.Format, shown string, data []byte) (matched []lint.Format) {
	text := data[lint.BOM(data):]
	for _, f := range formats {
		if f.Match(shown, text) {
			matched = append(matched, f)
		}
	}
	return matched
}

// parseOne keeps a fault of one format from ending the run.
func parseOne(f lint.Format, file *lint.File, o *lint.Options) (p *lint.Parsed, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the reader of %s files failed, please report it: %v\n%s", f.Name(), v, debug.Stack())
		}
	}()
	return f.Parse(file, o)
}

func (r *reading) add(p *lint.Parsed, err error) {
	if err != nil {
		var located *lint.Error
		if !errors.As(err, &located) {
			located = &lint.Error{File: r.shown, Err: err}
		}
		r.parsed.Errors = append(r.parsed.Errors, located)
	}
	if p == nil {
		return
	}
	r.parsed.Entries = append(r.parsed.Entries, p.Entries...)
	r.parsed.Settings = append(r.parsed.Settings, p.Settings...)
	r.parsed.Problems = append(r.parsed.Problems, p.Problems...)
	r.parsed.Errors = append(r.parsed.Errors, p.Errors...)
	r.parsed.Parts = append(r.parsed.Parts, p.Parts...)
}

// collect puts the readings together, by path.
func collect(w *walker, read []*reading) *Result {
	res := &Result{Skipped: w.skipped, Errors: w.errs}
	var parts []lint.Part
	slices.SortStableFunc(read, func(a, b *reading) int { return strings.Compare(a.shown, b.shown) })
	for _, r := range read {
		if !r.done {
			continue
		}
		if !r.unread {
			res.Files.Seen++
		}
		if r.binary {
			res.Files.Binary++
		}
		if r.skip != "" {
			res.Skipped = append(res.Skipped, Skip{r.shown, r.skip})
		}
		res.Errors = append(res.Errors, templated(r)...)
		if r.file == nil {
			continue
		}
		res.Files.Recognised++
		res.Sources = append(res.Sources, r.file)
		res.Entries = append(res.Entries, r.parsed.Entries...)
		res.Settings = append(res.Settings, r.parsed.Settings...)
		res.Problems = append(res.Problems, r.parsed.Problems...)
		parts = append(parts, r.parsed.Parts...)
	}
	more, open := job.Resolve(parts, res.Entries)
	res.Entries = append(res.Entries, more...)
	res.Problems = append(res.Problems, unresolved(open)...)
	res.Files.Skipped = len(res.Skipped)
	slices.SortFunc(res.Skipped, func(a, b Skip) int { return strings.Compare(a.File, b.File) })
	slices.SortStableFunc(res.Errors, func(a, b *lint.Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.SortStableFunc(res.Entries, func(a, b *lint.Entry) int {
		return cmp.Or(strings.Compare(a.File.Path, b.File.Path), cmp.Compare(a.Field.Start, b.Field.Start))
	})
	slices.SortStableFunc(res.Settings, func(a, b *lint.Setting) int {
		return cmp.Or(strings.Compare(a.File.Path, b.File.Path), cmp.Compare(a.Span.Start, b.Span.Start))
	})
	return res
}

// templated returns the file's errors, each once. A file with template
// expressions is not at fault for not being YAML: its errors become one HS901.
func templated(r *reading) []*lint.Error {
	var errs []*lint.Error
	seen := make(map[string]bool)
	for _, e := range r.parsed.Errors {
		if text := e.Error(); !seen[text] {
			seen[text] = true
			errs = append(errs, e)
		}
	}
	if len(errs) == 0 || r.file == nil {
		return errs
	}
	span, ok := templateSpan(r.file.Data)
	if !ok {
		return errs
	}
	p := lint.NewProblem(&ruleHS901, r.file, span, "template", "a template: nothing checked here before it is rendered")
	r.parsed.Problems = append(r.parsed.Problems, p)
	return nil
}

// unresolved reports the first open place of each file.
func unresolved(open []lint.Open) (problems []lint.Problem) {
	told := map[*lint.File]bool{}
	for _, o := range open {
		if !told[o.File] {
			told[o.File] = true
			problems = append(problems, lint.NewProblem(&ruleHS901, o.File, o.Span, "template", o.Why))
		}
	}
	return problems
}

// templateSpan finds the first template expression: {{ }}, {% %} or <% %>.
func templateSpan(data []byte) (lint.Span, bool) {
	for _, pair := range [][2]string{{"{{", "}}"}, {"{%", "%}"}, {"<%", "%>"}} {
		start := bytes.Index(data, []byte(pair[0]))
		if start < 0 {
			continue
		}
		if end := bytes.Index(data[start:], []byte(pair[1])); end > 0 {
			return lint.Span{Start: start, End: start + end + 2}, true
		}
	}
	return lint.Span{}, false
}
