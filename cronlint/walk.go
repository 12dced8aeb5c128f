package cronlint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	ignore "github.com/sabhiram/go-gitignore"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// neverWalked are folders that hold no operator's files. A path that is named
// on the command line is read even so.
var neverWalked = []string{".git", ".hg", ".svn", "node_modules"}

// A candidate is a file that may be read.
type candidate struct {
	disk  string // how to open it
	shown string // slashes, relative to the working folder where it is inside
	named bool   // given by name, not found in a folder
}

// A walker finds candidates in a fixed order, each real file once.
type walker struct {
	opts    *lint.Options
	root    string          // working folder
	found   func(candidate) // is given each of them
	seen    map[string]bool // real paths
	skipped []Skip
	errs    []*lint.Error
	folders bool // at least one folder was walked
}

// walk finds the files of the paths, in the order given and sorted within a
// folder. Links to folders are not followed, links to files are.
func (w *walker) walk(ctx context.Context, paths []string) error {
	for _, p := range paths {
		if p == "-" {
			continue
		}
		info, err := os.Stat(p)
		switch {
		case err != nil:
			w.fail(p, err)
		case info.IsDir():
			w.folders = true
			if err := w.folder(ctx, p, realPath(p), w.parents(p)); err != nil {
				return err
			}
		case !info.Mode().IsRegular():
			w.fail(p, errors.New("not a regular file (use - for standard input)"))
		default:
			w.add(p, realPath(p), true)
		}
	}
	return nil
}

// realPath is the absolute path without links, as far as it can be told.
func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		p = real
	}
	if abs, err := filepath.Abs(p); err == nil {
		return abs
	}
	return p
}

// folder walks one folder, whose path without links is real. rules are the
// .gitignore files above it.
func (w *walker) folder(ctx context.Context, dir, real string, rules []gitRules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		w.fail(dir, err)
		return nil
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		if g, ok := w.gitRules(dir); ok {
			rules = append(slices.Clip(rules), g)
		}
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if w.excluded(p, e.IsDir(), rules) {
			continue
		}
		if e.IsDir() {
			if err := w.folder(ctx, p, filepath.Join(real, e.Name()), rules); err != nil {
				return err
			}
			continue
		}
		w.entry(p, real, e)
	}
	return nil
}

// entry adds an entry of the folder real that is no folder itself. Only links are
// looked up: there are many files, and the folder tells what they are.
func (w *walker) entry(p, real string, e fs.DirEntry) {
	kind := e.Type()
	real = filepath.Join(real, e.Name())
	if kind&fs.ModeSymlink != 0 {
		info, err := os.Stat(p)
		switch {
		case err != nil:
			w.skip(p, "link that leads nowhere")
			return
		case info.IsDir():
			w.skip(p, "link to a folder, not followed")
			return
		}
		kind, real = info.Mode().Type(), realPath(p)
	}
	switch {
	case !kind.IsRegular():
		w.skip(p, "not a regular file")
	case !w.included(p):
	default:
		w.add(p, real, false)
	}
}

// add takes a file unless it is, under another name, already there.
func (w *walker) add(p, real string, named bool) {
	if !w.seen[real] {
		w.seen[real] = true
		w.found(candidate{p, w.shown(p), named})
	}
}

func (w *walker) fail(p string, err error) {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // the path is said already
	}
	w.errs = append(w.errs, &lint.Error{File: w.shown(p), Err: err})
}

func (w *walker) skip(p, why string) {
	w.skipped = append(w.skipped, Skip{w.shown(p), why})
}

// shown is the path as problems and fingerprints have it: the same whether a
// file was reached through ".", a folder or an absolute path.
func (w *walker) shown(p string) string {
	if filepath.IsAbs(p) && w.root != "" {
		if rel, err := filepath.Rel(w.root, p); err == nil && filepath.IsLocal(rel) {
			p = rel
		}
	}
	return filepath.ToSlash(filepath.Clean(p))
}

// excluded says whether an entry of a walked folder is left out without a word:
// by name, by --exclude or by .gitignore.
func (w *walker) excluded(p string, dir bool, rules []gitRules) bool {
	if dir && slices.Contains(neverWalked, filepath.Base(p)) {
		return true
	}
	return matchAny(w.opts.Exclude, w.shown(p)) || gitIgnored(p, dir, rules)
}

func (w *walker) included(p string) bool {
	return len(w.opts.Include) == 0 || matchAny(w.opts.Include, w.shown(p))
}

// matchAny says whether a glob matches the path or, for a glob without a
// slash, its last element.
func matchAny(globs []string, p string) bool {
	for _, g := range globs {
		g = strings.TrimSuffix(g, "/")
		target := p
		if !strings.Contains(g, "/") {
			target = path.Base(p)
		}
		if doublestar.MatchUnvalidated(g, target) {
			return true
		}
	}
	return false
}

// gitRules is one .gitignore with the folder it stands in.
type gitRules struct {
	dir   string
	rules *ignore.GitIgnore
}

func (w *walker) gitRules(dir string) (gitRules, bool) {
	if w.opts.NoGitignore {
		return gitRules{}, false
	}
	g, err := ignore.CompileIgnoreFile(filepath.Join(dir, ".gitignore"))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.fail(filepath.Join(dir, ".gitignore"), err)
		}
		return gitRules{}, false
	}
	return gitRules{dir, g}, true
}

// parents returns the rules of the folders above dir, up to the one with .git;
// none outside a repository.
func (w *walker) parents(dir string) []gitRules {
	abs, err := filepath.Abs(dir)
	if err != nil || w.opts.NoGitignore {
		return nil
	}
	var up []gitRules
	for at := abs; ; at = filepath.Dir(at) {
		if g, ok := w.gitRules(at); ok && at != abs {
			up = append(up, g)
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			slices.Reverse(up)
			return up
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// gitIgnored asks the nearest .gitignore first: the first one that has an
// opinion decides.
func gitIgnored(p string, dir bool, rules []gitRules) bool {
	for _, g := range slices.Backward(rules) {
		rel, err := relative(g.dir, p)
		if err != nil {
			continue
		}
		hit, why := g.rules.MatchesPathHow(rel)
		if why == nil && dir {
			// With a slash the library also lets "out/*" match "out/" itself.
			hit, why = g.rules.MatchesPathHow(rel + "/")
			if why != nil && !strings.HasSuffix(strings.TrimSpace(why.Line), "/") {
				why = nil
			}
		}
		if why != nil {
			return hit
		}
	}
	return false
}

// relative is filepath.Rel for a folder that may be absolute while p is not.
func relative(dir, p string) (string, error) {
	if filepath.IsAbs(dir) != filepath.IsAbs(p) {
		var err error
		if p, err = filepath.Abs(p); err != nil {
			return "", err
		}
	}
	rel, err := filepath.Rel(dir, p)
	return filepath.ToSlash(rel), err
}

// maxSize returns the size in bytes above which a file is skipped.
func maxSize(o *lint.Options) int64 {
	if o.MaxSize > 0 {
		return o.MaxSize
	}
	return 8 << 20
}
