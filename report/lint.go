package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint"
)

// Lint is what "herdscan lint" found, ready to be written.
type Lint struct {
	Version string
	Paths   []string // as given
	Result  *cronlint.Result
	Now     time.Time
	Zone    *time.Location // of schedules that name none
	Next    int            // how many starts of each schedule to list
	Base    string         // see Document
	Notes   []string
}

// Document writes the linter's findings.
func (l *Lint) Document(clock Clock) *Document {
	d := New(l.Version, "lint")
	d.Base, d.Notes = l.Base, l.Notes
	d.Coverage = lintCoverage(l.Paths, l.Result)
	if l.Next > 0 {
		d.Tables = []Table{nextTable(l.Result.Entries, l.Next, l.Now, l.Zone, clock)}
	}
	files := sourceFiles(l.Result)
	for i := range l.Result.Problems {
		d.Findings = append(d.Findings, lintFinding(&l.Result.Problems[i], files))
	}
	if n := len(l.Result.Gone); n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s of the baseline matched nothing in this run; --write-baseline drops them", Count(n, "entries")))
	}
	d.Finish()
	l.last(d)
	return d
}

// last writes the verdict where nothing was found, and what to run next.
func (l *Lint) last(d *Document) {
	s := d.Summary
	if s.Error+s.Warning+s.Note == 0 {
		d.Verdict = cleanLint(l.Result, d.Incomplete(), s.Suppressed)
		return
	}
	worst := slices.MinFunc(d.counted(), func(a, b *Finding) int { return bySeverity(*a, *b) })
	d.Next = []string{"herdscan explain " + worst.Rule}
	if fixable(d.Findings) {
		d.Next = append(d.Next, "--diff shows the safe fixes, --fix writes them")
	}
}

func fixable(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool {
		return f.SuppressedBy == "" && f.Fix != nil && slices.ContainsFunc(f.Fix.Edits, func(e Edit) bool { return e.Safe })
	})
}

func cleanLint(res *cronlint.Result, incomplete bool, suppressed int) string {
	switch {
	case incomplete:
		return "nothing found in what was read; the rest is unread, so this is no all-clear"
	case len(res.Entries)+len(res.Settings) == 0:
		return "nothing to judge: no schedule and no policy in " + Count(res.Files.Seen, "files")
	}
	text := "nothing found in " + lintCounts(res)
	if suppressed > 0 {
		text += fmt.Sprintf(" but for %s accepted before", Count(suppressed, "findings"))
	}
	return text
}

func lintCounts(res *cronlint.Result) string {
	return Count(len(res.Entries), "schedules") + " and " + Count(len(res.Settings), "policies")
}

// maxSkips is how many skipped files the coverage names.
const maxSkips = 5

// lintCoverage is one entry for all paths, and one for each input that is
// unread in whole or in part.
func lintCoverage(paths []string, res *cronlint.Result) []Coverage {
	shown := make([]string, len(paths))
	for i, p := range paths {
		shown[i] = sourcePath(p)
		if p == "-" {
			shown[i] = "standard input"
		}
	}
	c := Coverage{
		Source: strings.Join(shown, " "), Kind: "files", Unit: "files",
		Read: uint64(res.Files.Recognised), Total: uint64(res.Files.Seen), Skipped: uint64(res.Files.Skipped),
		Complete: !res.Partial, Errors: []string{},
		Text: fmt.Sprintf("%s in %s of %s", lintCounts(res), Int(res.Files.Recognised), Count(res.Files.Seen, "files")),
	}
	if res.Partial {
		c.Text += ", interrupted"
	}
	for i, s := range res.Skipped {
		if i == maxSkips {
			c.Notes = append(c.Notes, fmt.Sprintf("and %s more skipped", Int(len(res.Skipped)-maxSkips)))
			break
		}
		c.Notes = append(c.Notes, "skipped "+sourcePath(s.File)+": "+Clean(s.Reason))
	}
	all := []Coverage{c}
	for _, e := range res.Errors {
		text := Clean(e.Err.Error())
		if e.Line > 0 && !strings.Contains(text, "line ") {
			text = fmt.Sprintf("line %d: %s", e.Line, text)
		}
		c := Coverage{
			Source: sourcePath(e.File), Kind: "file", Unit: "files", Total: 1, Errors: []string{text},
			Text: "could not be read", Line: e.Line,
		}
		if e.Line > 0 {
			c.Text = "not understood, or only in part"
		}
		all = append(all, c)
	}
	return all
}

// sourcePath makes a file's name safe to show. A name that would begin a
// command of a CI system's log gets a harmless beginning.
func sourcePath(path string) string {
	path = Clean(path)
	if strings.HasPrefix(path, "::") || strings.HasPrefix(path, "##") {
		path = "./" + path
	}
	return path
}

func sourceFiles(res *cronlint.Result) map[string]*cronlint.File {
	files := make(map[string]*cronlint.File, len(res.Sources))
	for _, f := range res.Sources {
		files[f.Path] = f
	}
	return files
}

func lintFinding(p *cronlint.Problem, files map[string]*cronlint.File) Finding {
	f := Finding{
		Rule: p.Rule.ID, Severity: p.Severity.String(), Subject: Clean(p.Subject), Count: lintCount(p),
		Message: Clean(p.Message), Why: firstSentence(p.Rule.Why), Fingerprint: p.Fingerprint,
		Locations: []Location{lintLocation(p.Location, files)}, Fix: lintFix(p, files),
	}
	for _, r := range p.Related {
		f.Related = append(f.Related, lintLocation(r, files))
	}
	if src := files[p.File]; src != nil && p.Line > 0 {
		f.Excerpt = newExcerpt(p.Line, src.Line(p.Line), p.Col, p.EndCol)
	}
	if s := p.Suppressed; s != nil {
		f.SuppressedBy, f.Suppressed = s.Kind, suppression(s)
	}
	return f
}

// lintCount is how many jobs or places the problem is about.
func lintCount(p *cronlint.Problem) uint64 {
	if p.Count > 0 {
		return uint64(p.Count)
	}
	return uint64(1 + len(p.Related))
}

func suppression(s *cronlint.Suppression) string {
	if s.Kind == "baseline" {
		return "accepted by the baseline"
	}
	text := fmt.Sprintf("%s in line %d", s.Kind, s.Line)
	if s.Reason != "" {
		text += ": " + Clean(s.Reason)
	}
	return text
}

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}

func lintLocation(l cronlint.Location, files map[string]*cronlint.File) Location {
	out := Location{File: sourcePath(l.File), Line: l.Line, Col: l.Col, EndCol: l.EndCol, Note: Clean(l.Note)}
	if src := files[l.File]; src != nil && l.Line > 0 && l.Col > 0 {
		start := src.LineSpan(l.Line).Start
		out.ByteCol = src.Offset(l.Line, l.Col) - start + 1
		out.EndByteCol = src.Offset(l.Line, max(l.EndCol, l.Col)) - start + 1
	}
	return out
}
