package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the document for a ticket. Untrusted text can neither open
// a tag, a link nor a code span.
func Markdown(w io.Writer, d *Document, clock Clock) error {
	b := bufio.NewWriter(w)
	p := func(format string, args ...any) { fmt.Fprintf(b, format, args...) }
	p("# herdscan %s: %s\n\n", d.Command, md(d.Verdict))
	shown, rest := foldCoverage(d.Coverage)
	for _, c := range shown {
		p("- **%s** %s\n", md(c.Source), md(c.Text))
		for _, e := range c.Errors {
			p("  - not read: %s\n", md(e))
		}
		for _, n := range c.Notes {
			p("  - %s\n", md(n))
		}
	}
	if rest != "" {
		p("- %s\n", md(rest))
	}
	for _, g := range d.Graphs {
		p("\n%s\n", fenced("text", g.render(graphWidth, clock)))
	}
	for _, t := range d.Tables {
		if t.Heatmap != nil {
			p("\n%s\n", fenced("text", t.Heatmap.text()))
		}
		p("\n%s", mdTable(t))
	}
	for i := range d.Findings {
		if f := &d.Findings[i]; f.SuppressedBy == "" && !saidByHerds(f.Rule) {
			p("%s", mdFinding(f))
		}
	}
	mdList(b, "Undecided", d.Undecided)
	mdList(b, "Notes", d.Notes)
	if len(d.Next) > 0 {
		p("\nMore: `%s`\n", strings.Join(d.Next, "` · `"))
	}
	return b.Flush()
}

func mdFinding(f *Finding) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("\n## %s: %s [%s]\n\n", f.Severity, md(f.Message), strings.Join(append([]string{f.Rule}, f.Also...), "] ["))
	if len(f.Locations) > 0 {
		p("%s\n\n", md(strings.TrimSuffix(f.place(), ": ")))
	}
	if f.Excerpt != nil {
		p("%s\n\n", fenced("text", f.Excerpt.marked()))
	}
	if also := f.also(); also != "" {
		p("- also: %s\n", md(also))
	}
	if lines := chainLines(f.Chain); len(lines) > 0 {
		p("%s\n\n", fenced("", strings.Join(lines, "\n")))
	}
	for _, d := range f.Details {
		p("- %s\n", md(d))
	}
	if f.Why != "" {
		p("- %s\n", md(f.Why))
	}
	for _, s := range f.sayings() {
		indent := ""
		if s.under {
			indent = "  "
		}
		p("%s- %s\n", indent, md(s.text))
	}
	if f.RefutedBy != "" {
		p("- Would refute it: %s\n", md(f.RefutedBy))
	}
	if f.Suppressed != "" {
		p("- not counted: %s\n", md(f.Suppressed))
	}
	if fix := f.Fix; fix != nil {
		p("\n**Fix:** %s\n", md(fix.Text))
		if fix.Code != "" {
			p("\n%s\n", fenced(fix.Lang, fix.Code))
		}
		for _, e := range append(fix.Effects, fix.Caveats...) {
			p("- %s\n", md(e))
		}
	}
	if others := f.otherRemedies(); len(others) > 0 {
		p("\nOther remedies:\n\n")
		for _, line := range others {
			p("- %s\n", md(line))
		}
	}
	return b.String()
}

func mdTable(t Table) string {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "%s\n\n", md(t.Title))
	}
	row := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + md(c) + " ")
		}
		b.WriteString("|\n")
	}
	row(t.Columns)
	for i := range t.Columns {
		if i == 0 || i < len(t.Left) && t.Left[i] {
			b.WriteString("|---")
		} else {
			b.WriteString("|---:")
		}
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		row(r)
	}
	if t.LeftOut != "" {
		b.WriteString("\n" + md(t.LeftOut) + "\n")
	}
	return b.String()
}

func mdList(w io.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n\n", title)
	for _, it := range items {
		fmt.Fprintf(w, "- %s\n", md(it))
	}
}

// mdEscaper puts a backslash before each character that Markdown may read as
// markup, and turns & and < into entities, so that no HTML starts.
var mdEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `#`, `\#`, `~`, `\~`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `@`, `&#64;`, `$`, `&#36;`, `:/`, `:\/`, "\n", " ",
)

func md(s string) string { return mdEscaper.Replace(s) }

// fenced makes a block of code that nothing in it can end.
func fenced(lang, text string) string {
	fence := strings.Repeat("`", max(longestTicks(text)+1, 3))
	return fence + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

func longestTicks(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
