package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/report"
)

// output holds the flags that every command which finds something shares.
type output struct {
	env    Env
	format string
	files  []string
	failOn string
	colour string
}

// addOutput adds the output flags to a command.
func addOutput(c *cobra.Command, env Env) *output {
	o := &output{env: env}
	f := c.Flags()
	f.StringVar(&o.format, "format", "text", "what to print: `text`, json or markdown")
	f.StringArrayVarP(&o.files, "output", "o", nil, "also write the report to `FILE` (.txt, .json, .md); may be given several times")
	f.StringVar(&o.failOn, "fail-on", "warning", "exit with 1 from this `severity` on: error, warning, note or never")
	f.StringVar(&o.colour, "color", "auto", "colours: `auto`, always or never (NO_COLOR is respected)")
	fixed := func(values ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = c.RegisterFlagCompletionFunc("format", fixed("text", "json", "markdown"))
	_ = c.RegisterFlagCompletionFunc("fail-on", fixed("error", "warning", "note", "never"))
	_ = c.RegisterFlagCompletionFunc("color", fixed("auto", "always", "never"))
	return o
}

// check refuses bad output flags before any work is done.
func (o *output) check() error {
	if !slices.Contains([]string{"text", "json", "markdown"}, o.format) {
		return fmt.Errorf("--format %s: there are text, json and markdown", o.format)
	}
	if !slices.Contains([]string{"error", "warning", "note", "never"}, o.failOn) {
		return fmt.Errorf("--fail-on %s: there are error, warning, note and never", o.failOn)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.colour) {
		return fmt.Errorf("--color %s: there are auto, always and never", o.colour)
	}
	for _, path := range o.files {
		if _, err := formatOf(path); err != nil {
			return err
		}
	}
	return nil
}

// formatOf takes the format of a file from its extension.
func formatOf(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".txt", ".text":
		return "text", nil
	case ".json":
		return "json", nil
	case ".md", ".markdown":
		return "markdown", nil
	default:
		return "", fmt.Errorf("-o %s: the format is taken from the extension: .txt, .json or .md", path)
	}
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
	for _, path := range o.files {
		format, _ := formatOf(path)
		if err := writeFile(path, func(w io.Writer) error {
			return render(w, build(report.Clock{}), format, report.Style{})
		}); err != nil {
			return fmt.Errorf("-o %s: %w", path, err)
		}
	}
	if code := o.code(ctx, d); code != exitClean {
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
	default:
		return report.Text(w, d, style)
	}
}

// writeFile writes by a temporary file and a rename, so that a reader never
// sees half a report and a failed run leaves the old one in place.
func writeFile(path string, write func(io.Writer) error) error {
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
