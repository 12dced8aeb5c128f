package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// GitHub writes workflow commands, which GitHub Actions shows as annotations
// beside the lines of a change, and the verdict as the last line.
func GitHub(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	for _, u := range d.unread() {
		at := Location{File: u.file, Line: u.line}
		githubCommand(b, "error", d.fromRoot(u.file), at, "herdscan: not read", u.text)
	}
	for _, f := range d.counted() {
		command := f.Severity
		if command == "note" {
			command = "notice"
		}
		githubCommand(b, command, d.fromRoot(f.first().File), f.first(), "herdscan "+f.Rule, f.inWords())
	}
	fmt.Fprintf(b, "herdscan: %s\n", d.Verdict)
	return b.Flush()
}

func githubCommand(w io.Writer, command, file string, at Location, title, message string) {
	properties := []string{"file=" + githubProperty.Replace(file)}
	if at.Line > 0 {
		properties = append(properties, fmt.Sprintf("line=%d", at.Line), fmt.Sprintf("endLine=%d", at.Line))
	}
	if at.Col > 0 {
		properties = append(properties, fmt.Sprintf("col=%d", at.Col), fmt.Sprintf("endColumn=%d", max(at.EndCol, at.Col)))
	}
	properties = append(properties, "title="+githubProperty.Replace(title))
	fmt.Fprintf(w, "::%s %s::%s\n", command, strings.Join(properties, ","), githubData.Replace(message))
}

// What the runner undoes: see actions/toolkit, packages/core/src/command.ts.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
