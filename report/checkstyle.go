package report

import (
	"encoding/xml"
	"io"
)

type checkstyleReport struct {
	XMLName xml.Name         `xml:"checkstyle"`
	Version string           `xml:"version,attr"`
	Files   []checkstyleFile `xml:"file"`
}

type checkstyleFile struct {
	Name   string            `xml:"name,attr"`
	Errors []checkstyleError `xml:"error"`
}

type checkstyleError struct {
	Line     int    `xml:"line,attr,omitempty"`
	Column   int    `xml:"column,attr,omitempty"`
	Severity string `xml:"severity,attr"`
	Message  string `xml:"message,attr"`
	Source   string `xml:"source,attr"`
}

// Checkstyle writes the XML of Checkstyle, by file.
func Checkstyle(w io.Writer, d *Document) error {
	r := checkstyleReport{Version: "4.3"}
	index := map[string]int{}
	add := func(file string, e checkstyleError) {
		i, ok := index[file]
		if !ok {
			i = len(r.Files)
			index[file] = i
			r.Files = append(r.Files, checkstyleFile{Name: file})
		}
		r.Files[i].Errors = append(r.Files[i].Errors, e)
	}
	for _, u := range d.unread() {
		add(u.file, checkstyleError{Line: u.line, Severity: "error", Message: "not read: " + u.text, Source: "herdscan.unread"})
	}
	for _, f := range d.counted() {
		severity := f.Severity
		if severity == "note" {
			severity = "info"
		}
		at := f.first()
		add(at.File, checkstyleError{at.Line, at.Col, severity, f.inWords(), "herdscan." + f.Rule})
	}
	return writeXML(w, r)
}

// writeXML writes a document with its declaration. The encoder escapes all
// text; characters that XML can't hold were made visible when it was cleaned.
func writeXML(w io.Writer, v any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
