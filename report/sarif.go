package report

import (
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/herdscan/herdscan/comb/rule"
)

// srcRoot is the base of relative names, as GitHub's uploads know it.
const srcRoot = "%SRCROOT%"

// SARIF writes SARIF 2.1.0 with the documentation of the rules. Results that a
// comment or the baseline accepts are kept, as suppressed: a result that is
// left out would be taken for mended.
func SARIF(w io.Writer, d *Document) error {
	run := sarif.NewRunWithInformationURI("herdscan", "https://github.com/herdscan/herdscan")
	run.Tool.Driver.WithVersion(d.Version).WithSemanticVersion(d.Version)
	run.WithColumnKind("unicodeCodePoints")
	run.WithAutomationDetails(sarif.NewRunAutomationDetails().WithID("herdscan/" + d.Command + "/"))
	b := &sarifBuilder{d: d, run: run, index: map[string]int{}}
	b.rules()
	b.invocation()
	for i := range d.Findings {
		if f := &d.Findings[i]; f.hasFile() {
			b.result(f)
		}
	}
	report := sarif.NewReport()
	report.AddRun(run)
	if err := report.PrettyWrite(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type sarifBuilder struct {
	d         *Document
	run       *sarif.Run
	index     map[string]int // of the rules, by ID
	baselined bool           // there is a baseline to compare with
}

// rules adds the documentation of the rules that something was found by.
func (b *sarifBuilder) rules() {
	used := map[string]bool{}
	for _, f := range b.d.Findings {
		used[f.Rule] = true
		b.baselined = b.baselined || f.SuppressedBy == "baseline"
	}
	for _, r := range Catalogue() {
		if !used[r.ID] {
			continue
		}
		b.index[r.ID] = len(b.run.Tool.Driver.Rules)
		b.run.Tool.Driver.AddRule(sarifRule(r))
	}
}

func sarifRule(r rule.Rule) *sarif.ReportingDescriptor {
	d := sarif.NewReportingDescriptor().WithID(r.ID).WithName(r.Name).WithHelpURI(ruleURL(r.ID))
	d.WithShortDescription(sarif.NewMultiformatMessageString().WithText(r.Title))
	d.WithFullDescription(sarif.NewMultiformatMessageString().WithText(r.Why))
	d.WithHelp(sarif.NewMultiformatMessageString().WithText(ruleText(r)).WithMarkdown(ruleMarkdown(r)))
	d.WithDefaultConfiguration(sarif.NewReportingConfiguration().WithEnabled(true).WithLevel(r.Severity.String()))
	properties := sarif.NewPropertyBag().WithTags([]string{"herd", ruleFamily(r.ID)})
	properties.Add("precision", "high")
	properties.Add("problem.severity", sarifSeverity(r.Severity))
	return d.WithProperties(properties)
}

// sarifSeverity is the severity in GitHub's words.
func sarifSeverity(s rule.Severity) string {
	if s == rule.Note {
		return "recommendation"
	}
	return s.String()
}

// invocation says whether all input was read.
func (b *sarifBuilder) invocation() {
	unread := b.d.unread()
	i := sarif.NewInvocation().WithExecutionSuccessful(len(unread) == 0)
	for _, u := range unread {
		n := sarif.NewNotification().WithLevel("error").WithMessage(sarif.NewTextMessage(sarifText("not read: " + u.place() + ": " + u.text)))
		i.AddToolExecutionNotification(n)
	}
	b.run.AddInvocation(i)
}

func (b *sarifBuilder) result(f *Finding) {
	text := f.Message
	if f.Fix != nil {
		text += ". Fix: " + f.Fix.Text
	}
	r := sarif.NewRuleResult(f.Rule).WithLevel(f.Severity).WithMessage(sarif.NewTextMessage(sarifText(text)))
	if i, ok := b.index[f.Rule]; ok {
		r.WithRuleIndex(i)
	}
	r.AddLocation(b.location(f.inFile()))
	for i, l := range f.Related {
		at := b.location(l).WithID(i + 1)
		at.WithMessage(sarif.NewTextMessage(sarifText(l.Note)))
		r.AddRelatedLocation(at)
	}
	// GitHub follows a result from one version to the next by the first of
	// these; without it, by the text of the line.
	r.WithPartialFingerprints(map[string]string{
		"primaryLocationLineHash": f.Fingerprint + ":1", "herdscan/v1": f.Fingerprint,
	})
	b.suppress(r, f)
	if fix := b.fix(f); fix != nil {
		r.WithFixes([]*sarif.Fix{fix})
	}
	b.run.AddResult(r)
}

// inFile is the place of a finding: its own, or that of the cause which the
// evidence points at. A herd in a log or a cache has no other.
func (f *Finding) inFile() Location {
	if len(f.Locations) == 0 && len(f.Causes) > 0 && len(f.Causes[0].Locations) > 0 {
		return f.Causes[0].Locations[0]
	}
	return f.first()
}

func (f *Finding) hasFile() bool { return f.inFile().File != "" }

func (b *sarifBuilder) suppress(r *sarif.Result, f *Finding) {
	if b.baselined {
		state := "new"
		if f.SuppressedBy == "baseline" {
			state = "unchanged"
		}
		r.WithBaselineState(state)
	}
	if f.SuppressedBy == "" {
		return
	}
	kind := "inSource"
	if f.SuppressedBy == "baseline" {
		kind = "external"
	}
	r.AddSuppression(sarif.NewSuppression().WithKind(kind).WithStatus("accepted").WithJustification(f.Suppressed))
}

func (b *sarifBuilder) location(l Location) *sarif.Location {
	p := sarif.NewPhysicalLocation().WithArtifactLocation(b.artifact(l.File))
	if l.Line > 0 {
		r := sarif.NewRegion().WithStartLine(l.Line)
		if l.Col > 0 {
			r.WithStartColumn(l.Col).WithEndLine(l.Line).WithEndColumn(max(l.EndCol, l.Col))
		}
		p.WithRegion(r)
	}
	return sarif.NewLocationWithPhysicalLocation(p)
}

// artifact names a file: relative to the root of the repository where it lies
// inside, else by a URL of its own.
func (b *sarifBuilder) artifact(file string) *sarif.ArtifactLocation {
	if path.IsAbs(file) {
		return sarif.NewSimpleArtifactLocation((&url.URL{Scheme: "file", Path: file}).String())
	}
	a := sarif.NewSimpleArtifactLocation(relativeURI(b.d.fromRoot(file)))
	return a.WithURIBaseID(srcRoot)
}

// relativeURI escapes a name so that no part of it is read as a scheme or a host.
func relativeURI(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), ":", "%3A")
	}
	return strings.Join(parts, "/")
}

func (b *sarifBuilder) fix(f *Finding) *sarif.Fix {
	if f.Fix == nil || len(f.Fix.Edits) == 0 {
		return nil
	}
	fix := sarif.NewFix().WithDescription(sarif.NewTextMessage(sarifText(f.Fix.Text)))
	changes := map[string]*sarif.ArtifactChange{}
	for _, e := range f.Fix.Edits {
		c := changes[e.File]
		if c == nil {
			c = sarif.NewArtifactChange().WithArtifactLocation(b.artifact(e.File))
			changes[e.File] = c
			fix.AddArtifactChange(c)
		}
		region := sarif.NewRegion().WithStartLine(e.Line).WithStartColumn(e.Col).WithEndLine(e.EndLine).WithEndColumn(e.EndCol)
		c.AddReplacement(sarif.NewReplacement().WithDeletedRegion(region).
			WithInsertedContent(sarif.NewArtifactContent().WithText(e.New)))
	}
	return fix
}

// sarifText keeps text from being read as an embedded link (SARIF 2.1.0,
// 3.11.6): there, brackets are escaped with a backslash.
func sarifText(s string) string {
	if !strings.Contains(s, "](") {
		return s
	}
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(s)
}
