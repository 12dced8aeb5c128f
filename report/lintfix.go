package report

import (
	"fmt"
	"strings"

	"github.com/herdscan/herdscan/cronlint"
)

// lintFix is the fix of a problem: the text to paste, and the edits where
// herdscan can write it itself.
func lintFix(p *cronlint.Problem, files map[string]*cronlint.File) *Fix {
	if p.Advice == "" && p.Fix == nil {
		return nil
	}
	text := p.Advice
	if text == "" {
		text = p.Fix.Text
	}
	text = cleanLines(text)
	if e := p.Fix; e != nil {
		text = elsewhere(p, e, files) + text
	}
	fix := &Fix{Text: text}
	if head, _, several := strings.Cut(text, "\n"); several {
		fix.Text, fix.Code = head+" …", text
	}
	if e := p.Effect; e.Text != "" {
		fix.Effects = []string{Clean(e.Text)}
		if e.Unit != "" {
			fix.Effect = &Effect{PeakBefore: e.Before, PeakAfter: e.After, Unit: e.Unit}
		}
	}
	if p.Fix != nil {
		fix.addEdits(p.Fix, files)
	}
	return fix
}

// elsewhere names the place of an edit that is not in the problem's own line.
func elsewhere(p *cronlint.Problem, e *cronlint.Edit, files map[string]*cronlint.File) string {
	src := files[e.File]
	if src == nil {
		return ""
	}
	line, _ := src.Position(e.Span.Start)
	last, _ := src.Position(e.Span.End)
	switch {
	case e.File != p.File:
		return fmt.Sprintf("%s:%d: ", sourcePath(e.File), line)
	case p.Line != 0 && (p.Line < line || p.Line > last):
		return fmt.Sprintf("line %d: ", line)
	}
	return ""
}

func (f *Fix) addEdits(e *cronlint.Edit, files map[string]*cronlint.File) {
	all := append([]cronlint.Edit{*e}, e.With...)
	for i := range all {
		if edit, ok := lintEdit(&all[i], files[all[i].File]); ok {
			f.Edits = append(f.Edits, edit)
		}
	}
	if n := len(e.With); n > 0 {
		f.Effects = append(f.Effects, fmt.Sprintf("with %s: see --diff", Count(n, "more changes")))
	}
	if !e.Safe {
		f.Caveats = append(f.Caveats, "only with --fix=unsafe: "+Clean(e.Why))
	}
}

// lintEdit places an edit. One whose new text could not be shown as it is, is
// not offered to other tools.
func lintEdit(e *cronlint.Edit, src *cronlint.File) (Edit, bool) {
	if src == nil || cleanLines(e.New) != strings.ReplaceAll(e.New, "\r\n", "\n") {
		return Edit{}, false
	}
	out := Edit{
		File: sourcePath(e.File), Offset: e.Span.Start, Length: e.Span.Len(),
		New: e.New, Safe: e.Safe,
	}
	out.Line, out.Col = src.Position(e.Span.Start)
	out.EndLine, out.EndCol = src.Position(e.Span.End)
	out.ByteCol = e.Span.Start - src.LineSpan(out.Line).Start + 1
	out.EndByteCol = e.Span.End - src.LineSpan(out.EndLine).Start + 1
	return out, true
}
