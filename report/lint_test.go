package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// lintDocument lints files of the given texts, in a folder of their own.
func lintDocument(t *testing.T, files map[string]string, o lint.Options) *Document {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Now = time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	res, err := cronlint.Lint(context.Background(), []string{"."}, o)
	if err != nil {
		t.Fatal(err)
	}
	return (&Lint{Version: "0.1.0", Paths: []string{"."}, Result: res, Now: o.Now, Zone: time.UTC, Next: 1}).Document(Clock{})
}

const busyCrontab = "# tägliche Aufgaben\n0 * * * * root a\n0 * * * * root b\n0 * * * * root c\n"

var busy = map[string]string{"etc/crontab": busyCrontab}

type rendering struct {
	name  string
	write func(io.Writer, *Document) error
}

var renderings = []rendering{
	{"text", func(w io.Writer, d *Document) error { return Text(w, d, Style{}) }},
	{"markdown", func(w io.Writer, d *Document) error { return Markdown(w, d, Clock{}) }},
	{"json", JSON},
	{"short", Short},
	{"github", GitHub},
	{"checkstyle", Checkstyle},
	{"junit", JUnit},
	{"gitlab", GitLab},
	{"rdjson", RDJSON},
	{"sarif", SARIF},
}

func rendered(t *testing.T, r rendering, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.write(&b, d); err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	return b.String()
}

func named(name string) rendering {
	for _, r := range renderings {
		if r.name == name {
			return r
		}
	}
	panic("no rendering " + name)
}

// What the text says is in the document, and so in the JSON.
func TestLintDocument(t *testing.T) {
	d := lintDocument(t, busy, lint.Options{Rules: []string{"HS110"}})
	if len(d.Findings) != 1 {
		t.Fatalf("%d findings", len(d.Findings))
	}
	f := d.Findings[0]
	if diff := cmp.Diff([]Location{{File: "etc/crontab", Line: 2, Col: 1, EndCol: 10, ByteCol: 1, EndByteCol: 10}}, f.Locations); diff != "" {
		t.Error(diff)
	}
	if f.Count != 3 || len(f.Related) != 2 || f.Related[1].Line != 4 {
		t.Errorf("count %d, related %+v", f.Count, f.Related)
	}
	if f.Fix == nil || f.Fix.Effect == nil || f.Fix.Effect.PeakBefore != 3 || f.Fix.Effect.PeakAfter != 1 {
		t.Fatalf("fix %+v", f.Fix)
	}
	if len(f.Fix.Edits) != 3 {
		t.Fatalf("%d edits", len(f.Fix.Edits))
	}
	e := f.Fix.Edits[1]
	if e.File != "etc/crontab" || e.Line != 3 || e.Col != 1 || e.EndCol != 2 || !e.Safe ||
		busyCrontab[e.Offset:e.Offset+e.Length] != "0" {
		t.Errorf("edit %+v", e)
	}
	if d.Summary.Warning != 1 || f.Fingerprint == "" || f.Excerpt.Text != "0 * * * * root a" {
		t.Errorf("%+v", f)
	}
	if len(d.Tables) != 1 || len(d.Tables[0].Rows) != 3 || d.Tables[0].Rows[0][3] != "2026-11-03T11:00:00Z" {
		t.Errorf("tables %+v", d.Tables)
	}
}

// A fingerprint outlives lines added above.
func TestFingerprintIgnoresLines(t *testing.T) {
	o := lint.Options{Rules: []string{"HS110"}}
	a := lintDocument(t, busy, o).Findings[0]
	b := lintDocument(t, map[string]string{"etc/crontab": "# one\n# two\n" + busyCrontab}, o).Findings[0]
	if a.Fingerprint != b.Fingerprint || a.Locations[0].Line == b.Locations[0].Line {
		t.Errorf("%s in line %d, %s in line %d", a.Fingerprint, a.Locations[0].Line, b.Fingerprint, b.Locations[0].Line)
	}
}

// Every format says what was found, where, and what was not read.
func TestFormatsAreComplete(t *testing.T) {
	d := lintDocument(t, map[string]string{
		"etc/crontab": busyCrontab, "k8s/job.yaml": "kind: CronJob\napiVersion: batch/v1\nspec: [\n",
	}, lint.Options{Rules: []string{"HS110"}})
	for _, r := range renderings {
		out := rendered(t, r, d)
		for _, want := range []string{"crontab", "HS110", "3 jobs start in the same minute", "job.yaml", "yaml"} {
			if r.name == "markdown" {
				out = strings.ReplaceAll(out, `\`, "")
			}
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is missing:\n%s", r.name, want, out)
			}
		}
	}
}

// Accepted findings are only counted; SARIF, JUnit and JSON keep them, marked.
func TestFormatsHideAccepted(t *testing.T) {
	d := lintDocument(t, map[string]string{"etc/crontab": "# herdscan: file ignore[HS110] alone here\n" + busyCrontab},
		lint.Options{Rules: []string{"HS110"}})
	if d.Summary.Suppressed != 1 || !strings.Contains(d.Findings[0].Suppressed, "ignore in line 1: alone here") {
		t.Fatalf("%+v %+v", d.Summary, d.Findings)
	}
	for _, r := range renderings {
		out := rendered(t, r, d)
		keeps := r.name == "sarif" || r.name == "junit" || r.name == "json"
		if got := strings.Contains(out, "HS110"); got != keeps {
			t.Errorf("%s: named %v, want %v:\n%s", r.name, got, keeps, out)
		}
	}
	if out := rendered(t, named("junit"), d); !strings.Contains(out, `skipped="1"`) || strings.Contains(out, "<failure") {
		t.Error(out)
	}
}

func TestCleanRuns(t *testing.T) {
	d := lintDocument(t, map[string]string{"etc/crontab": "23 4 * * * root a\n"}, lint.Options{})
	for name, want := range map[string]string{
		"short": "", "github": "herdscan: nothing found in 1 schedule and 0 policies\n", "gitlab": "[]\n",
	} {
		if got := rendered(t, named(name), d); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if out := rendered(t, named("junit"), d); !strings.Contains(out, `tests="1" failures="0" errors="0"`) {
		t.Error(out)
	}
}

// hostile is a document in which every text that comes from outside tries to
// break out of every format.
func hostile() *Document {
	evil := "\"'><script>x</script>]]>&amp; \x1b[31m\u202e\r\n::error::pwned\n##[error]x %0A %25 , : | `c` [l](http://e) @all {0} \\"
	text := Clean(evil)
	file := sourcePath("::error::" + evil)
	at := Location{File: file, Line: 3, Col: 1, EndCol: 4, ByteCol: 1, EndByteCol: 4}
	d := New("0.1.0", "lint")
	d.Coverage = []Coverage{{Source: file, Text: text, Errors: []string{text}, Line: 2}}
	d.Findings = []Finding{{
		Rule: "HS110", Severity: "warning", Subject: text, Message: text, Locations: []Location{at}, Related: []Location{at},
		Excerpt: newExcerpt(3, evil, 1, 4), Fingerprint: "abc",
		Fix: &Fix{Text: text, Code: cleanLines(evil), Effects: []string{text}, Caveats: []string{text}, Edits: []Edit{
			{File: file, Line: 3, Col: 1, EndLine: 3, EndCol: 2, New: text, Safe: true, ByteCol: 1, EndByteCol: 2},
		}},
	}}
	d.Finish()
	return d
}

func TestFormatsAreInert(t *testing.T) {
	d := hostile()
	for _, r := range renderings {
		out := rendered(t, r, d)
		for _, c := range out {
			if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
				t.Errorf("%s: %U gets through", r.name, c)
			}
		}
		for line := range strings.SplitSeq(out, "\n") {
			if line = strings.TrimSpace(line); (strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##[")) && r.name != "github" {
				t.Errorf("%s: a line begins a workflow command: %q", r.name, line)
			}
		}
	}
}

// An edit whose text would have to be escaped is left out, not changed.
func TestHostileEditIsNotOffered(t *testing.T) {
	src := lint.NewFile("a", []byte("0 * * * * a\r\n"))
	for text, want := range map[string]bool{
		"7": true, "7\r\nx": true, "7\tx": true, "7\x1b": false, "7\u202e": false, "\xff": false, "\n::error::x": false,
	} {
		if _, ok := lintEdit(&cronlint.Edit{File: "a", Span: lint.Span{Start: 0, End: 1}, New: text}, src); ok != want {
			t.Errorf("%q: offered %v, want %v", text, ok, want)
		}
	}
}

func TestGitHubCommands(t *testing.T) {
	out := rendered(t, named("github"), hostile())
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want two commands and a verdict:\n%s", len(lines), out)
	}
	for i, want := range []string{"::error file=", "::warning file="} {
		head, _, ok := strings.Cut(strings.TrimPrefix(lines[i], "::"), "::")
		if !strings.HasPrefix(lines[i], want) || !ok {
			t.Fatalf("%q", lines[i])
		}
		_, properties, _ := strings.Cut(head, " ")
		for part := range strings.SplitSeq(properties, ",") {
			name, value, ok := strings.Cut(part, "=")
			if !ok || !strings.Contains("file line endLine col endColumn title", name) || strings.ContainsAny(value, ":\r\n") {
				t.Errorf("property %q", part)
			}
		}
	}
	d := lintDocument(t, busy, lint.Options{Rules: []string{"HS110"}})
	d.Base = "services/shop"
	want := "::warning file=services/shop/etc/crontab,line=2,endLine=2,col=1,endColumn=10,title=herdscan HS110::3 jobs start in the same minute, every hour%0Aalso: etc/crontab:3, :4%0Afix: "
	if out := rendered(t, named("github"), d); !strings.HasPrefix(out, want) {
		t.Errorf("%s", out)
	}
}

// XML is parsed back: the attributes hold exactly the texts of the document.
func TestXMLFormats(t *testing.T) {
	d := hostile()
	var c checkstyleReport
	if err := xml.Unmarshal([]byte(rendered(t, named("checkstyle"), d)), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Files) != 1 || c.Files[0].Name != d.Findings[0].first().File || len(c.Files[0].Errors) != 2 {
		t.Fatalf("%+v", c)
	}
	if e := c.Files[0].Errors[1]; e.Line != 3 || e.Column != 1 || e.Severity != "warning" || e.Message != d.Findings[0].inWords() || e.Source != "herdscan.HS110" {
		t.Errorf("%+v", e)
	}
	var j junitSuites
	if err := xml.Unmarshal([]byte(rendered(t, named("junit"), d)), &j); err != nil {
		t.Fatal(err)
	}
	if s := j.Suite; s.Tests != 2 || s.Errors != 1 || s.Failures != 1 || s.Cases[1].Failure.Message != d.Findings[0].Message {
		t.Errorf("%+v", s)
	}
}

func TestGitLab(t *testing.T) {
	d := lintDocument(t, busy, lint.Options{})
	d.Base = "shop"
	var issues []gitlabIssue
	if err := json.Unmarshal([]byte(rendered(t, named("gitlab"), d)), &issues); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, i := range issues {
		if seen[i.Fingerprint] || i.Fingerprint == "" || i.Location.Path != "shop/etc/crontab" || i.Location.Lines.Begin < 2 ||
			!strings.Contains("info minor major critical blocker", i.Severity) {
			t.Errorf("%+v", i)
		}
		seen[i.Fingerprint] = true
	}
	if len(issues) != len(d.Findings) {
		t.Errorf("%d issues of %d findings", len(issues), len(d.Findings))
	}
}

// Reviewdog counts bytes, and a suggestion replaces exactly the edit's bytes.
func TestRDJSONCountsBytes(t *testing.T) {
	text := "jobs: {}\non:\n  schedule:\n    - {name: 'täglich', cron: '0 6 * * *'}\n"
	d := lintDocument(t, map[string]string{".github/workflows/a.yml": text}, lint.Options{})
	var r rdResult
	if err := json.Unmarshal([]byte(rendered(t, named("rdjson"), d)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Diagnostics) == 0 || len(r.Diagnostics[0].Suggestions) != 1 {
		t.Fatalf("%+v", r)
	}
	line := strings.Split(text, "\n")[3]
	diag := r.Diagnostics[0]
	span := diag.Location.Range
	if got := line[span.Start.Column-1 : span.End.Column-1]; got != "0 6 * * *" {
		t.Errorf("marked %q", got)
	}
	s := diag.Suggestions[0]
	mended := line[:s.Range.Start.Column-1] + s.Text + line[s.Range.End.Column-1:]
	if !strings.HasSuffix(mended, " 6 * * *'}") || strings.Contains(mended, "'0 6") {
		t.Errorf("mended %q", mended)
	}
}

func parseSARIF(t *testing.T, d *Document) (*sarif.Run, string) {
	t.Helper()
	out := rendered(t, named("sarif"), d)
	r, err := sarif.FromString(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r.Runs[0], out
}

// What GitHub's code scanning needs of an upload.
func TestSARIFForGitHub(t *testing.T) {
	d := lintDocument(t, busy, lint.Options{})
	d.Base = "my shop"
	run, out := parseSARIF(t, d)
	if !strings.Contains(out, `"version": "2.1.0"`) || *run.ColumnKind != "unicodeCodePoints" || *run.Tool.Driver.Name != "herdscan" {
		t.Error(out)
	}
	if len(run.Results) != len(d.Findings) || !*run.Invocations[0].ExecutionSuccessful {
		t.Errorf("%d results of %d findings", len(run.Results), len(d.Findings))
	}
	for i, r := range run.Results {
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		if *rule.ID != *r.RuleID || rule.Help == nil || *rule.Help.Text == "" || *rule.FullDescription.Text == "" {
			t.Errorf("rule %+v of %s", rule, *r.RuleID)
		}
		at := r.Locations[0].PhysicalLocation
		if *at.ArtifactLocation.URI != "my%20shop/etc/crontab" || *at.ArtifactLocation.URIBaseID != srcRoot || *at.Region.StartLine < 1 {
			t.Errorf("%+v", at)
		}
		if r.PartialFingerprints["primaryLocationLineHash"] != d.Findings[i].Fingerprint+":1" {
			t.Errorf("%+v", r.PartialFingerprints)
		}
		if r.BaselineState != nil || len(r.Suppressions) != 0 {
			t.Errorf("%+v is not accepted by anybody", r)
		}
	}
}

// Baselined results stay, as suppressed and unchanged; all others are new.
func TestSARIFBaseline(t *testing.T) {
	o := lint.Options{Rules: []string{"HS110"}}
	lintDocument(t, busy, o) // leaves the files in the working folder
	res, err := cronlint.Lint(context.Background(), []string{"."}, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Baseline, o.Rules = lint.NewBaseline(res.Problems), nil
	d := lintDocument(t, busy, o)
	run, _ := parseSARIF(t, d)
	states := map[string]int{}
	for _, r := range run.Results {
		states[*r.BaselineState]++
		if accepted := *r.BaselineState == "unchanged"; accepted != (len(r.Suppressions) == 1 && *r.Suppressions[0].Kind == "external") {
			t.Errorf("%s: %+v", *r.BaselineState, r.Suppressions)
		}
	}
	if states["unchanged"] != 1 || states["new"] != len(d.Findings)-1 {
		t.Errorf("%v", states)
	}
}

func TestSARIFIsInert(t *testing.T) {
	run, _ := parseSARIF(t, hostile())
	result := run.Results[0]
	for _, m := range []*sarif.Message{
		result.Message, result.RelatedLocations[0].Message, result.Fixes[0].Description, run.Invocations[0].ToolExecutionNotifications[0].Message,
	} {
		if strings.Contains(strings.ReplaceAll(*m.Text, `\](`, ""), "](") {
			t.Errorf("a link gets through: %s", *m.Text)
		}
	}
	uri := *run.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI
	if strings.ContainsAny(uri, ":<>\" `\\") {
		t.Errorf("uri %q", uri)
	}
	if *run.Invocations[0].ExecutionSuccessful || len(run.Invocations[0].ToolExecutionNotifications) != 1 {
		t.Error("unread input is not told")
	}
}

func TestMarkdownOfLintIsInert(t *testing.T) {
	out := rendered(t, named("markdown"), hostile())
	code := false
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		line = strings.ReplaceAll(line, `\](`, "")
		if !code && (strings.Contains(line, "<script") || strings.Contains(line, "](http") || strings.Contains(line, "@all")) {
			t.Errorf("%q", line)
		}
	}
}

// A fix of several lines is printed whole, with the lines below each other.
func TestFixOfSeveralLines(t *testing.T) {
	d := lintDocument(t, map[string]string{"a.timer": "[Timer]\nOnCalendar=daily\n"}, lint.Options{Rules: []string{"HS150"}})
	out := rendered(t, named("text"), d)
	want := "   = fix: RandomizedDelaySec=1h\n          FixedRandomDelay=true\n"
	if !strings.Contains(out, want) {
		t.Errorf("%q is missing:\n%s", want, out)
	}
	if !strings.Contains(rendered(t, named("github"), d), "RandomizedDelaySec=1h%0AFixedRandomDelay=true") {
		t.Error("github loses a line of the fix")
	}
}

// Tabs survive in what is to be pasted.
func TestFixKeepsTabs(t *testing.T) {
	d := lintDocument(t, map[string]string{"etc/crontab": "0\t*\t*\t*\t*\troot\ta\n"}, lint.Options{Rules: []string{"HS101"}})
	if out := rendered(t, named("text"), d); !strings.Contains(out, "\t*\t*\t*\t*\troot\ta\n") {
		t.Errorf("%s", out)
	}
}

func TestDiff(t *testing.T) {
	diff := "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-0\t\x1b[31m\n+7\t\x1b[31m\n"
	var b bytes.Buffer
	if err := Diff(&b, diff, Style{}); err != nil || b.String() != diff {
		t.Errorf("a pipe must get the bytes: %q, %v", b.String(), err)
	}
	b.Reset()
	if err := Diff(&b, diff, Style{Width: 80}); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("a terminal gets an escape: %q, %v", b.String(), err)
	}
}
