package report

import (
	"encoding/xml"
	"fmt"
	"io"
)

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	File    string      `xml:"file,attr,omitempty"`
	Line    int         `xml:"line,attr,omitempty"`
	Failure *junitText  `xml:"failure"`
	Error   *junitText  `xml:"error"`
	Skipped *junitText  `xml:"skipped"`
	Out     *junitPlain `xml:"system-out"`
}

type junitText struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

type junitPlain struct {
	Text string `xml:",chardata"`
}

// JUnit writes the findings as test cases: errors and warnings fail, what was
// accepted is skipped, notes pass and say so in their output, and unread input
// is an error. A run without any of them is one test that passed.
func JUnit(w io.Writer, d *Document) error {
	s := junitSuite{Name: "herdscan " + d.Command}
	for _, u := range d.unread() {
		s.Errors++
		s.Cases = append(s.Cases, junitCase{
			Class: u.file, Name: "read", File: u.file, Line: u.line,
			Error: &junitText{Message: "not read", Type: "unread", Text: u.text},
		})
	}
	for i := range d.Findings {
		s.add(&d.Findings[i])
	}
	if len(s.Cases) == 0 {
		s.Cases = []junitCase{{Class: "herdscan", Name: d.Verdict}}
	}
	s.Tests = len(s.Cases)
	return writeXML(w, junitSuites{Suite: s})
}

func (s *junitSuite) add(f *Finding) {
	at := f.first()
	c := junitCase{
		Class: at.File, File: at.File, Line: at.Line,
		Name: fmt.Sprintf("%s %s (%s)", f.Rule, f.Subject, f.Fingerprint),
	}
	text := f.place() + f.inWords()
	switch {
	case f.SuppressedBy != "":
		s.Skipped++
		c.Skipped = &junitText{Message: f.Suppressed}
	case f.Severity == "note":
		c.Out = &junitPlain{text}
	default:
		s.Failures++
		c.Failure = &junitText{Message: f.Message, Type: f.Severity, Text: text}
	}
	s.Cases = append(s.Cases, c)
}
