// Package html writes a Document as one self-contained page: no request leaves
// it, its script and style are bound by hash, and untrusted text is inert.
//
// The charts are drawn here and not by a chart library: what has to be seen are
// teeth of one second on an axis of days, in several lanes on one clock, reduced
// to columns by maximum, in colours that follow the reader's scheme, and drawn
// anew from the data when a range is brushed. Chart libraries of Go average or
// skip points, and give a finished picture in fixed colours.
package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"

	"github.com/herdscan/herdscan/report"
)

// Options say how a page is written.
type Options struct {
	// Clock is the one that the Document was built with: it gives the zone of
	// the charts' axes. Its zero value is UTC.
	Clock report.Clock
}

//go:embed page/*.tmpl
var templates embed.FS

//go:embed page/style.css
var style string

//go:embed page/script.js
var script string

// Write writes the document as a page. The document is not changed.
func Write(w io.Writer, d *report.Document, o Options) error {
	t, err := template.New("page.tmpl").Funcs(funcs()).ParseFS(templates, "page/*.tmpl")
	if err != nil {
		return err
	}
	return t.Execute(w, newPage(cleaned(d), o))
}

// policy is the content-security policy: nothing but this style and this
// script, which may not write markup.
func policy() string {
	return "default-src 'none'; style-src '" + hash(style) + "'; script-src '" + hash(script) +
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
