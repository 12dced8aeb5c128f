package report

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
)

// Short writes a line a finding, as compilers do: file:line:col: severity:
// message [RULE]. Without findings it writes nothing.
func Short(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	for _, u := range d.unread() {
		fmt.Fprintf(b, "%s: error: not read: %s\n", u.place(), u.text)
	}
	for _, f := range d.counted() {
		fmt.Fprintf(b, "%s%s: %s [%s]\n", f.place(), f.Severity, f.Message, f.Rule)
	}
	return b.Flush()
}

// counted are the findings that nobody has accepted.
func (d *Document) counted() (fs []*Finding) {
	for i := range d.Findings {
		if d.Findings[i].SuppressedBy == "" {
			fs = append(fs, &d.Findings[i])
		}
	}
	return fs
}

// unread is an input that could not be read or understood.
type unread struct {
	file string
	line int // 0: not known
	text string
}

func (u unread) place() string {
	if u.line == 0 {
		return u.file
	}
	return fmt.Sprintf("%s:%d", u.file, u.line)
}

func (d *Document) unread() (all []unread) {
	for _, c := range d.Coverage {
		for _, e := range c.Errors {
			all = append(all, unread{c.Source, c.Line, e})
		}
		if !c.Complete && len(c.Errors) == 0 {
			all = append(all, unread{c.Source, 0, "not read to the end"})
		}
	}
	return all
}

// first is the finding's own place; the zero Location when it has none.
func (f *Finding) first() Location {
	if len(f.Locations) == 0 {
		return Location{}
	}
	return f.Locations[0]
}

// fromRoot is a file's name from the root of the repository. A name that
// leads out of it stays as it is.
func (d *Document) fromRoot(file string) string {
	if d.Base == "" || strings.HasPrefix(file, "/") {
		return file
	}
	return path.Join(d.Base, file)
}

// inWords is the message with the fix, for formats that have no place of
// their own for it.
func (f *Finding) inWords() string {
	text := f.Message
	if also := f.also(); also != "" {
		text += "\nalso: " + also
	}
	if f.Fix == nil {
		return text
	}
	fix := f.Fix.Text
	if f.Fix.Code != "" {
		fix = f.Fix.Code
	}
	text += "\nfix: " + fix
	for _, e := range append(append([]string{}, f.Fix.Effects...), f.Fix.Caveats...) {
		text += "\n     " + e
	}
	return text
}

// ruleURL is where a rule is explained.
func ruleURL(id string) string {
	return "https://github.com/herdscan/herdscan/blob/main/docs/rules.md#" + strings.ToLower(id)
}
