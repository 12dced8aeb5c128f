package cronlint

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// fixedNow is the clock of all tests.
var fixedNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// lintExample writes an example into a folder and lints it with one rule and
// whatever switch it needs.
func lintExample(t *testing.T, c *lint.Check, text string) []lint.Problem {
	t.Helper()
	dir := t.TempDir()
	for name, content := range exampleFiles(c, text) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := c.ExampleOptions
	o.Now = fixedNow
	o.OptIn = append(slices.Clone(o.OptIn), c.OptIn)
	res, err := Lint(context.Background(), []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range res.Errors {
		t.Errorf("example not understood: %v", e)
	}
	if res.Files.Recognised == 0 {
		t.Errorf("no format knows the example %v", res.Skipped)
	}
	return res.Problems
}

var exampleHead = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// exampleFiles splits an example at its "-- name --" lines.
func exampleFiles(c *lint.Check, text string) map[string]string {
	heads := exampleHead.FindAllStringSubmatchIndex(text, -1)
	if len(heads) == 0 || heads[0][0] != 0 {
		return map[string]string{c.ExampleFile: text}
	}
	files := make(map[string]string)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		files[text[h[2]:h[3]]] = text[h[1]:end]
	}
	return files
}

// TestExamples holds every rule to its own documentation: the example before is
// found, the example after is not, and brings nothing new of any rule.
func TestExamples(t *testing.T) {
	for _, c := range Checks() {
		t.Run(c.Rule.ID, func(t *testing.T) {
			r := c.Rule
			if r.Title == "" || r.Why == "" || r.Decided == "" || r.Name == "" || strings.HasSuffix(r.Title, ".") {
				t.Errorf("documentation is incomplete: %+v", r)
			}
			before := lintExample(t, &c, r.Before)
			if !hasRule(before, r.ID) {
				t.Errorf("before: not found; got %s", ids(before))
			}
			for _, p := range lintExample(t, &c, r.After) {
				if p.Active() && (p.Rule.ID == r.ID || !hasRule(before, p.Rule.ID)) {
					t.Errorf("after: still %s %s: %s", p.Location, p.Rule.ID, p.Message)
				}
			}
			for _, id := range r.See {
				if !slices.ContainsFunc(Rules(), func(o Rule) bool { return o.ID == id }) {
					t.Errorf("see also %s: no such rule", id)
				}
			}
		})
	}
}

func hasRule(ps []lint.Problem, id string) bool {
	return slices.ContainsFunc(ps, func(p lint.Problem) bool { return p.Rule.ID == id })
}

func ids(ps []lint.Problem) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Rule.ID+" "+p.Message)
	}
	return strings.Join(out, "; ")
}

func TestRuleNumbersAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rules() {
		if seen[r.ID] || seen[r.Name] {
			t.Errorf("%s %s is there twice", r.ID, r.Name)
		}
		seen[r.ID], seen[r.Name] = true, true
	}
}
