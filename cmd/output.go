package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/report/html"
)

// output holds the flags that every command which finds something shares.
type output struct {
	env     Env
	formats []string // that the command has
	format  string
	files   []string
	failOn  string
	colour  string
}

// lintFormats are for findings that have a place in a file.
var lintFormats = []string{"short", "sarif", "github", "checkstyle", "junit", "gitlab", "rdjson"}

// addOutput adds the output flags to a command, which may have more formats
// than text, json, markdown and html.
func addOutput(c *cobra.Command, env Env, more ...string) *output {
	o := &output{env: env, formats: append([]string{"text", "json", "markdown", "html"}, more...)}
	f := c.Flags()
	f.StringVar(&o.format, "format", "text", "what to print: `"+"text`, "+listOf(o.formats[1:], "or"))
	f.StringArrayVarP(&o.files, "output", "o", nil, "also write the report to `FILE`, by its extension ("+listOf(extensionsOf(o.formats), "or")+"), or FORMAT=FILE; may be given several times")
	f.StringVar(&o.failOn, "fail-on", "warning", "exit with 1 from this `severity` on: error, warning, note or never")
	f.StringVar(&o.colour, "color", "auto", "colours: `auto`, always or never (NO_COLOR is respected)")
	fixed := func(values ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = c.RegisterFlagCompletionFunc("format", fixed(o.formats...))
	_ = c.RegisterFlagCompletionFunc("fail-on", fixed("error", "warning", "note", "never"))
	_ = c.RegisterFlagCompletionFunc("color", fixed("auto", "always", "never"))
	return o
}

// check refuses bad output flags before any work is done.
func (o *output) check() error {
	if !slices.Contains(o.formats, o.format) {
		return fmt.Errorf("--format %s: there are %s", o.format, listOf(o.formats, "and"))
	}
	if !slices.Contains([]string{"error", "warning", "note", "never"}, o.failOn) {
		return fmt.Errorf("--fail-on %s: there are error, warning, note and never", o.failOn)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.colour) {
		return fmt.Errorf("--color %s: there are auto, always and never", o.colour)
	}
	for _, spec := range o.files {
		if _, _, err := o.target(spec); err != nil {
			return err
		}
	}
	return nil
}

// extensions say what format a file has. Those of XML files are shared by
// several formats: one of them has to be the usual one.
var extensions = []struct{ ext, format string }{
	{".txt", "text"},
	{".text", "text"},
	{".json", "json"},
	{".md", "markdown"},
	{".markdown", "markdown"},
	{".html", "html"},
	{".htm", "html"},
	{".sarif", "sarif"},
	{".xml", "junit"},
}

// target takes an argument of -o apart: FORMAT=FILE, or a file whose extension
// tells the format.
func (o *output) target(spec string) (format, path string, err error) {
	if name, file, ok := strings.Cut(spec, "="); ok && slices.Contains(o.formats, name) && file != "" {
		return name, file, nil
	}
	for _, e := range extensions {
		if strings.EqualFold(filepath.Ext(spec), e.ext) && slices.Contains(o.formats, e.format) {
			return e.format, spec, nil
		}
	}
	return "", "", fmt.Errorf("-o %s: the format is taken from the extension: %s; or write FORMAT=FILE", spec, listOf(extensionsOf(o.formats), "or"))
}

// extensionsOf are the extensions of some formats.
func extensionsOf(formats []string) (exts []string) {
	for _, e := range extensions {
		if slices.Contains(formats, e.format) {
			exts = append(exts, e.ext)
		}
	}
	return exts
}

// listOf writes "a, b and c".
func listOf(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}

// deliver writes the document to standard output and to the files, and turns
// what it says into the exit code. build is called once for each kind of
// clock, since a terminal shows local times and everything else UTC.
func (o *output) deliver(ctx context.Context, build func(report.Clock) *report.Document) error {
	style := o.env.style(o.env.Stdout, o.colour)
	if o.format != "text" {
		style = report.Style{}
	}
	d := build(style.Clock)
	if err := render(o.env.Stdout, d, o.format, style); err != nil {
		return err
	}
	for _, spec := range o.files {
		format, path, _ := o.target(spec)
		if err := writeFile(path, func(w io.Writer) error {
			return render(w, build(report.Clock{}), format, report.Style{})
		}); err != nil {
			return fmt.Errorf("-o %s: %w", path, err)
		}
	}
	code := o.code(ctx, d)
	if o.format == "sarif" && code == exitFindings {
		code = exitClean // the next step uploads the file, and must run
	}
	if code != exitClean {
		return &exitCode{code}
	}
	return nil
}

func (o *output) code(ctx context.Context, d *report.Document) int {
	worst, found := d.Worst()
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case d.Incomplete():
		return exitError
	case found && o.fails(worst):
		return exitFindings
	default:
		return exitClean
	}
}

func (o *output) fails(worst rule.Severity) bool {
	switch o.failOn {
	case "never":
		return false
	case "error":
		return worst >= rule.Error
	case "note":
		return true
	default:
		return worst >= rule.Warning
	}
}

func render(w io.Writer, d *report.Document, format string, style report.Style) error {
	switch format {
	case "json":
		return report.JSON(w, d)
	case "markdown":
		return report.Markdown(w, d, style.Clock)
	case "html":
		return html.Write(w, d, html.Options{Clock: style.Clock})
	case "short":
		return report.Short(w, d)
	case "sarif":
		return report.SARIF(w, d)
	case "github":
		return report.GitHub(w, d)
	case "checkstyle":
		return report.Checkstyle(w, d)
	case "junit":
		return report.JUnit(w, d)
	case "gitlab":
		return report.GitLab(w, d)
	case "rdjson":
		return report.RDJSON(w, d)
	default:
		return report.Text(w, d, style)
	}
}

// writeFile writes by a temporary file and a rename, so that a reader never
// sees half a report and a failed run leaves the old one in place.
func writeFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeOver(path, write)
	}
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return withoutPath(err)
	}
	defer os.Remove(tmp)
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return withoutPath(os.Rename(tmp, path))
}

// writeOver writes to what a file must not take the place of: a pipe, a device.
func writeOver(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return withoutPath(err)
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// withoutPath takes the name of the temporary file out of an error: the user
// knows the file by another name.
func withoutPath(err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
