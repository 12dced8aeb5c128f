package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
)

// families name the number spaces of the rules, by the first digit.
var families = []struct{ digit, tag, title string }{
	{"0", "syntax", "Parsing and dialects"},
	{"1", "schedule", "Schedules"},
	{"2", "retry", "Retries"},
	{"3", "cache", "Cache configuration"},
	{"4", "keys", "Keys in a cache"},
	{"5", "queries", "Query logs"},
	{"6", "attribution", "Attribution across sources"},
	{"9", "lint", "The lint itself"},
}

func ruleFamily(id string) string {
	for _, f := range families {
		if strings.HasPrefix(id, "HS"+f.digit) {
			return f.tag
		}
	}
	return "other"
}

const rulesHead = `# Rules

<!-- Made by "make docs" from the rules themselves: change those. -->

Numbers are stable for ever. ` + "`herdscan explain HS110`" + ` prints one of these on the command line. The severity is the usual one; a finding may differ, and its rule says when.

`

// RuleReference writes docs/rules.md.
func RuleReference(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(rulesHead)
	all := Catalogue()
	b.WriteString("| rule | severity | what |\n|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(b, "| [%s](#%s) %s | %s | %s |\n", r.ID, strings.ToLower(r.ID), r.Name, r.Severity, md(r.Title))
	}
	for _, f := range families {
		head := false
		for _, r := range all {
			if !strings.HasPrefix(r.ID, "HS"+f.digit) {
				continue
			}
			if !head {
				fmt.Fprintf(b, "\n# %s\n", f.title)
				head = true
			}
			fmt.Fprintf(b, "\n<a id=\"%s\"></a>\n\n## %s %s\n\n%s", strings.ToLower(r.ID), r.ID, r.Name, ruleMarkdown(r))
		}
	}
	return b.Flush()
}

// ruleMarkdown is the documentation of one rule below its heading.
func ruleMarkdown(r rule.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s).\n", md(r.Title), r.Severity)
	for _, part := range ruleParts(r) {
		if part.code {
			fmt.Fprintf(&b, "\n**%s**\n\n%s\n", part.head, fenced("", strings.Trim(part.text, "\n")))
		} else {
			fmt.Fprintf(&b, "\n**%s.** %s\n", part.head, md(part.text))
		}
	}
	if len(r.See) > 0 {
		b.WriteString("\nSee also: " + strings.Join(r.See, ", ") + ".\n")
	}
	return b.String()
}

// ruleText is the same as plain text.
func ruleText(r rule.Rule) string {
	var b strings.Builder
	b.WriteString(r.Title + "\n")
	for _, part := range ruleParts(r) {
		fmt.Fprintf(&b, "\n%s:\n%s\n", part.head, strings.Trim(part.text, "\n"))
	}
	return b.String()
}

type rulePart struct {
	head, text string
	code       bool
}

func ruleParts(r rule.Rule) (parts []rulePart) {
	for _, p := range []rulePart{
		{"Why it hurts", r.Why, false},
		{"How it is decided", r.Decided, false},
		{"Before", r.Before, true},
		{"After", r.After, true},
	} {
		if p.text != "" {
			parts = append(parts, p)
		}
	}
	return parts
}
