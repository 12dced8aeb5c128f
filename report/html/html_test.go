package html

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/herdscan/herdscan/report"
)

var update = flag.Bool("update", false, "write the golden files")

func render(t testing.TB, d *report.Document, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// nodes are the elements of a page that match.
func nodes(t testing.TB, page string, match func(*html.Node) bool) (all []*html.Node) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && match(n) {
			all = append(all, n)
		}
	}
	return all
}

func named(name string) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.Data == name }
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// visible is the text of a page without its style and scripts, with white
// space made one.
func visible(t testing.TB, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
			b.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func small() *report.Document {
	d := report.New("0.1.0", "report")
	from := sampleStart
	to := from.Add(10 * time.Minute)
	d.Coverage = []report.Coverage{{
		Source: "slow.log", Kind: "mysql-slow", Unit: "queries", Read: 900, Total: 900, From: &from, To: &to, Complete: true,
		Text: "slow log (MySQL 8.0), 900 queries",
	}}
	d.Timeline = &report.Timeline{From: from, To: to, Lanes: []report.Lane{
		{Name: "page:*", Kind: "expiries", Unit: "keys/s", StepNS: 1e9, At: []int64{59, 359}, N: []float64{40, 41}},
		{Name: "SELECT ?", Kind: "queries", Unit: "queries/s", StepNS: 1e9, At: []int64{60, 61, 360}, N: []float64{30, 9, 28}},
		{Name: "lock:*", Kind: "expiries", Unit: "keys/s", StepNS: 1e9},
		{Name: "events", Kind: "events", Unit: "events", StepNS: 1e9, At: []int64{0}, N: []float64{1}, Text: []string{"deploy"}},
	}}
	d.Findings = []report.Finding{sampleHotKey(), sampleLint()}
	d.Undecided = []string{"12 queries: too few to judge (need 20)"}
	d.Finish()
	return d
}

// The golden page holds no style and no script, which are files of their own.
func TestGolden(t *testing.T) {
	page := render(t, small(), Options{})
	page = strings.ReplaceAll(page, style, "STYLE")
	page = strings.ReplaceAll(page, script, "SCRIPT")
	page = regexp.MustCompile(`sha256-[A-Za-z0-9/&#;=+]+`).ReplaceAllString(page, "sha256-HASH")
	path := filepath.Join("testdata", "small.html")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(page, "\n")); diff != "" {
		t.Error("the page has changed (-want +got); run with -update if that is meant:\n" + diff)
	}
}

// The policy allows exactly the style and the script that are in the page.
func TestPolicy(t *testing.T) {
	page := render(t, sample(), Options{})
	metas := nodes(t, page, func(n *html.Node) bool { return attr(n, "http-equiv") == "Content-Security-Policy" })
	if len(metas) != 1 {
		t.Fatalf("%d policies", len(metas))
	}
	policy := attr(metas[0], "content")
	styles := nodes(t, page, named("style"))
	scripts := nodes(t, page, func(n *html.Node) bool { return n.Data == "script" && attr(n, "type") == "" })
	if len(styles) != 1 || len(scripts) != 1 {
		t.Fatalf("%d styles and %d scripts", len(styles), len(scripts))
	}
	want := "default-src 'none'; style-src '" + hash(textOf(styles[0])) + "'; script-src '" + hash(textOf(scripts[0])) + "'; base-uri 'none'; form-action 'none'"
	if !strings.HasPrefix(policy, want) {
		t.Errorf("policy %q, want %q", policy, want)
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "data:") {
		t.Errorf("policy %q is not strict", policy)
	}
}

// hostile texts try to leave the place where they are put.
var hostile = []string{
	`</script><script>document.title='owned'</script>`,
	`"><img src=x onerror="document.title='owned'">`,
	`' onmouseover='document.title="owned"`,
	`javascript:document.title='owned'`,
	"<!--", "]]>", "</style><style>*{display:none}", "</title><b>", "{{.Policy}}", "${1}", "&lt;b&gt;",
	"bidi\u202egnp.exe\u2066\u2069\u200f", "control\x00\x07\x1b[31m\x7f\u0085", "bad\xff\xfe", "zero\u200b\ufeffwidth", "line\u2028sep",
}

// poisoned fills each text of a document with one hostile text.
func poisoned(text string) *report.Document {
	d := sample()
	d.Findings[0].Timeline = sampleTimeline(2)
	poison(reflect.ValueOf(d).Elem(), text)
	for i := range d.Findings {
		d.Findings[i].SuppressedBy = ""
	}
	return d
}

func poison(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i), text)
			}
		}
	default:
	}
}

func TestHostileText(t *testing.T) {
	plain := len(nodes(t, render(t, poisoned("x"), Options{}), named("script")))
	for _, text := range hostile {
		page := render(t, poisoned(text), Options{})
		checkInert(t, text, page)
		if n := len(nodes(t, page, named("script"))); n != plain {
			t.Errorf("%q: %d scripts, want %d", text, n, plain)
		}
		if clean := strings.Join(strings.Fields(report.Clean(text)), " "); !strings.Contains(visible(t, page), clean) {
			t.Errorf("%q is not shown as %q", text, clean)
		}
	}
}

func checkInert(t *testing.T, text, page string) {
	t.Helper()
	for _, r := range page {
		if r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar) {
			t.Errorf("%q: %U gets through", text, r)
			break
		}
	}
	allowed := []string{"html", "head", "meta", "title", "style", "body", "a", "header", "div", "p", "b", "span", "h1", "h2", "h3", "h4", "h5", "ul", "ol", "li", "nav", "main", "section", "figure", "figcaption", "button", "svg", "g", "line", "path", "rect", "text", "details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "article", "dl", "dt", "dd", "code", "pre", "mark", "time", "label", "input", "output", "footer", "script"}
	for _, n := range nodes(t, page, func(*html.Node) bool { return true }) {
		if !slices.Contains(allowed, n.Data) {
			t.Errorf("%q makes an element %s", text, n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src", a.Key == "srcdoc", a.Key == "action":
				t.Errorf("%q makes an attribute %s=%q", text, a.Key, a.Val)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
				t.Errorf("%q makes a link to %q", text, a.Val)
			}
		}
		if n.Data == "script" && attr(n, "type") == "application/json" {
			checkData(t, text, textOf(n))
		}
	}
}

// checkData looks at the texts that the script reads.
func checkData(t *testing.T, text, data string) {
	t.Helper()
	var c chartData
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	for _, r := range c.Rows {
		for _, l := range r.Lanes {
			for _, s := range append([]string{l.Name, l.Unit}, l.Text...) {
				if s != report.Clean(s) {
					t.Errorf("%q: the script reads %q", text, s)
				}
			}
		}
	}
}

// The document that is shown stays as it is.
func TestDocumentIsNotChanged(t *testing.T) {
	d, want := poisoned("a\x1bb"), poisoned("a\x1bb")
	render(t, d, Options{})
	if !reflect.DeepEqual(d, want) {
		t.Error("writing the page changed the document")
	}
}

// What the text says, the page says, too.
func TestSaysWhatTheTextSays(t *testing.T) {
	d := sample()
	shown := visible(t, render(t, d, Options{}))
	want := []string{d.Verdict}
	want = append(want, d.Undecided...)
	want = append(want, d.Notes...)
	want = append(want, d.Next...)
	for _, c := range d.Coverage {
		want = append(want, c.Source, c.Text)
		want = append(append(want, c.Notes...), c.Errors...)
	}
	for _, tab := range d.Tables {
		want = append(want, tab.LeftOut)
		want = append(want, slices.Concat(append(tab.Rows, tab.Columns)...)...)
	}
	for _, f := range d.Findings {
		want = append(want, f.Message, f.Why, f.Rule, f.Severity, f.Fix.Text, f.Fix.Code)
		want = append(append(append(want, f.Details...), f.Fix.Effects...), f.Fix.Caveats...)
		want = append(want, f.Missing...)
		for _, c := range append(f.Causes, f.Cleared...) {
			want = append(append(append(want, c.Why, c.RefutedBy, c.Suspect), c.For...), c.Against...)
		}
		for _, l := range f.Chain {
			want = append(want, l.Name, l.Text)
		}
		for _, r := range f.Remedies {
			want = append(append(want, r.Text, r.Why), r.Caveats...)
		}
		for _, l := range f.Locations {
			want = append(want, l.File)
		}
		if f.Excerpt != nil {
			want = append(want, f.Excerpt.Text)
		}
	}
	for _, w := range want {
		if w = strings.Join(strings.Fields(w), " "); !strings.Contains(shown, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

func TestStructure(t *testing.T) {
	page := render(t, sample(), Options{})
	ids := map[string]int{}
	for _, n := range nodes(t, page, func(n *html.Node) bool { return attr(n, "id") != "" }) {
		ids[attr(n, "id")]++
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	for _, n := range nodes(t, page, func(*html.Node) bool { return true }) {
		for _, ref := range []string{strings.TrimPrefix(attr(n, "href"), "#"), attr(n, "aria-labelledby"), attr(n, "for")} {
			if ref != "" && ids[ref] == 0 {
				t.Errorf("%s refers to %q, which is not there", n.Data, ref)
			}
		}
	}
	var got []string
	for _, n := range nodes(t, page, named("section")) {
		got = append(got, attr(n, "id"))
	}
	want := []string{"picture", "herds", "findings", "tables", "undecided", "notes", "coverage"}
	if !slices.Equal(got, want) {
		t.Errorf("sections %v, want %v", got, want)
	}
	for _, n := range nodes(t, page, func(n *html.Node) bool { return strings.Contains(attr(n, "class"), "plots") }) {
		if attr(n, "aria-label") == "" {
			t.Error("a chart has no label")
		}
	}
}

// Findings that somebody has accepted are counted, not shown.
func TestAccepted(t *testing.T) {
	d := sample()
	d.Findings[2].Suppressed, d.Findings[2].SuppressedBy = "in the baseline", "baseline"
	shown := visible(t, render(t, d, Options{}))
	if strings.Contains(shown, d.Findings[2].Message) || !strings.Contains(shown, "1 that somebody has accepted") {
		t.Error("an accepted finding is shown, or not counted")
	}
}

func TestNothingFound(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(*report.Document)
		want, tone string
	}{
		{"clean", func(*report.Document) {}, "Nothing was found.", "tone-good"},
		{"undecided", func(d *report.Document) { d.Undecided = []string{"12 keys: too few to judge (need 20)"} }, "That is no all-clear.", "tone-open"},
		{"unread", func(d *report.Document) { d.Coverage[0].Complete = false }, "That is no all-clear.", "tone-open"},
		{"empty", func(d *report.Document) { d.Coverage[0].Read = 0 }, "That is no all-clear.", "tone-open"},
	} {
		d := report.New("0.1.0", "ttl")
		d.Coverage = []report.Coverage{{Source: "dump.rdb", Unit: "keys", Read: 40000, Total: 40000, Complete: true, Text: "40,000 keys"}}
		c.change(d)
		d.Finish()
		page := render(t, d, Options{})
		if !strings.Contains(visible(t, page), c.want) || !strings.Contains(page, `class="top `+c.tone+`"`) {
			t.Errorf("%s: want %q in %s", c.name, c.want, c.tone)
		}
	}
}

// A plan judges nothing, so having no findings is no good news.
func TestPlan(t *testing.T) {
	d := report.New("0.1.0", "plan")
	heat := &report.Heatmap{Title: "host: starts in each minute", Unit: "starts"}
	heat.Before[0][0], heat.Before[3][30], heat.After[3][31] = 24, 1, 2
	d.Tables = []report.Table{{Title: "worst minutes", Columns: []string{"minute", "starts"}, Rows: [][]string{{"00:00", "24"}}, Heatmap: heat}}
	d.Verdict = "53 of 89 schedules would move"
	page := render(t, d, Options{})
	if strings.Contains(page, "Nothing was found") || !strings.Contains(page, `class="top tone-note"`) {
		t.Error("a plan is shown as a judgement")
	}
	for _, want := range []string{"busiest minute 00:00, 24 starts", "busiest minute 03:31, 2 starts", "03:30  1 starts"} {
		if !strings.Contains(page, want) {
			t.Errorf("the heat maps do not say %q", want)
		}
	}
}

// Times follow the clock of the document, and name their zone.
func TestLocalClock(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	page := render(t, sample(), Options{Clock: report.Clock{Zone: zone}})
	if !strings.Contains(visible(t, page), "2026-11-03 11:00:04 CET") {
		t.Error("the deploy is not shown in local time")
	}
	if !strings.Contains(page, `datetime="2026-11-03T10:00:04Z" title="2026-11-03T10:00:04Z"`) {
		t.Error("the deploy has no time in UTC")
	}
	if !strings.Contains(page, `"s":3600,"name":"CET"`) {
		t.Error("the script does not know the zone")
	}
}

// A report of a month and 2,000 findings can be sent round.
func TestSize(t *testing.T) {
	d := month()
	var b bytes.Buffer
	if err := Write(&b, d, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := b.Len(); n > 5_000_000 {
		t.Errorf("%d findings make %d bytes", len(d.Findings), n)
	}
	if shown := visible(t, b.String()); strings.Count(shown, "come together every") < len(d.Findings) {
		t.Error("a finding is missing")
	}
	t.Logf("%d findings: %d bytes", len(d.Findings), b.Len())
}

// dense30 is a timeline in which each minute of a month holds something.
func dense30() *report.Timeline {
	t := &report.Timeline{From: sampleStart, To: sampleStart.AddDate(0, 0, 30)}
	for _, kind := range []string{"expiries", "queries", "queries", "fires"} {
		l := report.Lane{Name: kind, Kind: kind, Unit: kind + "/s", StepNS: int64(time.Minute)}
		for i := range int64(30 * 24 * 60) {
			l.At, l.N = append(l.At, i), append(l.N, float64(1+i*i%97))
		}
		t.Lanes = append(t.Lanes, l)
	}
	return t
}

// month is a report of 30 days with 2,000 statements, all of them herds.
func month() *report.Document {
	d := sample()
	d.Timeline = sampleTimeline(30 * 24)
	f := d.Findings[0]
	f.Timeline = dense30()
	d.Findings = nil
	for i := range 2000 {
		f.Subject = "SELECT * FROM table_" + strings.Repeat("x", i%50) + " WHERE id = ?"
		f.Message = f.Subject + ": about 1,400 queries come together every 60m 1.2s (drifting)"
		f.Details = append(sampleHerd().Details, "Statement: "+strings.Repeat("SELECT a, b, c FROM t ", 12))
		d.Findings = append(d.Findings, f)
		d.Tables[0].Rows = append(d.Tables[0].Rows, []string{f.Subject, "HS501", "60m 1.2s", "34", "92 %", "911", "14"})
	}
	d.Finish()
	return d
}
