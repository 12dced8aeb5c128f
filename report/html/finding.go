package html

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/report"
)

// finding is a finding as the page shows it.
type finding struct {
	*report.Finding
	ID, Mark  string
	Place     string
	Rules     []string
	Herd      bool // it stands with its picture, suspects and fixes
	Open      bool
	Brief     bool // it is said in one line
	Facts     []fact
	Charts    []*chart
	Suspects  []suspect
	Ruled     []suspect // those that were cleared
	Fixes     []remedy
	Line      *markedLine
	Chain     []link
	Places    string   // the other ones that take part
	MoreAt    []string // and the next of them
	Teeth     []toothRow
	MoreTeeth int
}

// A fact is a number with its name.
type fact struct{ Name, Value string }

// A link is what happens some time before or after each tooth.
type link struct{ Time, Name, Text string }

type suspect struct {
	report.Cause
	Word, Kind string
	Fit        string
	Width      float64 // of the bar, in percent
	Places     []string
}

type remedy struct {
	report.Remedy
	Title   string
	Verdict string // "helps", ...
	Tone    string
	Effects []string
	// Bar is what is left of the peak, in percent, where it is Measured.
	Measured bool
	Bar      float64
	Chart    *chart
	First    bool
	Mono     bool
}

// markedLine is the line of a file, cut where the mark begins and ends.
type markedLine struct {
	Line                int
	Before, Mark, After string
}

type toothRow struct {
	At    stamp
	Width string
	Count string
}

// Bounds of the lists in one finding; more are counted.
const (
	maxPlaces     = 3
	maxMorePlaces = 12
	maxTeeth      = 60
	maxCurves     = 4
)

func newFinding(f *report.Finding, id string, clock report.Clock) *finding {
	v := &finding{
		Finding: f, ID: id, Mark: marks[f.Severity],
		Rules: append([]string{f.Rule}, f.Also...), Line: marked(f.Excerpt),
	}
	v.Places, v.MoreAt = places(f)
	for _, l := range f.Chain {
		v.Chain = append(v.Chain, link{linkTime(l), l.Name, l.Text})
	}
	if len(f.Locations) > 0 {
		l := f.Locations[0]
		v.Place = fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Col)
	}
	for i, c := range f.Causes {
		word := "Consistent with"
		if i > 0 {
			word = "Less likely"
		}
		v.Suspects = append(v.Suspects, newSuspect(c, word))
	}
	for _, c := range f.Cleared {
		v.Ruled = append(v.Ruled, newSuspect(c, "Cleared"))
	}
	v.Fixes = fixes(f)
	if f.Excerpt != nil && len(v.Fixes) > 0 {
		v.Fixes[0].inSyntax()
	}
	return v
}

// isHerd reports whether there is more to show than words.
func (f *finding) isHerd() bool {
	return f.Timeline != nil || f.Fold != nil || len(f.Causes)+len(f.Cleared)+len(f.Missing)+len(f.Remedies) > 0 ||
		f.Comb != nil || f.Finding.Herd != nil
}

// draw adds the charts and numbers of a herd. from and to are the time that
// its sources cover.
func (f *finding) draw(from, to time.Time, clock report.Clock) {
	f.Facts = facts(f.Finding, clock)
	add := func(c *chart) {
		if c != nil {
			f.Charts = append(f.Charts, c)
		}
	}
	if f.Timeline != nil {
		add(timelineChart(f.Timeline, "On one clock", herdPoints, clock))
	} else {
		add(teethChart(f.Finding, from, to, clock))
	}
	add(foldChart(f.Fold, clock))
	curves := 0
	for i := range f.Fixes {
		if r := &f.Fixes[i]; r.Curve != nil && curves < maxCurves {
			r.Chart = curveChart(r.Curve, "Load of one tooth: "+r.Title, clock)
			curves++
		}
	}
	for i, t := range f.Finding.Teeth {
		if i == maxTeeth {
			f.MoreTeeth = len(f.Finding.Teeth) - maxTeeth
			break
		}
		f.Teeth = append(f.Teeth, toothRow{newStamp(t.At, clock), report.Dur(time.Duration(t.WidthNS)), report.Int(t.Count)})
	}
}

// facts are the numbers of a herd at a glance.
func facts(f *report.Finding, clock report.Clock) (all []fact) {
	add := func(name, value string) { all = append(all, fact{name, value}) }
	if c := f.Comb; c != nil {
		add("every", report.Dur(time.Duration(c.PeriodNS)))
		add("lock", strings.ReplaceAll(c.Lock, "_", " "))
		add("teeth", fmt.Sprintf("%s seen, %s missed", report.Int(c.Teeth), report.Int(c.Missing)))
		add("tooth width", report.Dur(time.Duration(c.WidthNS)))
		add("in the teeth", report.Percent(c.Share))
		add("busiest second", report.Int(c.Peak))
		add("between teeth", report.Float(c.Baseline)+" /s")
		add("by chance", report.Probability(c.Log10P))
	}
	if h := f.Herd; h != nil {
		add("keys", report.Int(h.Keys))
		add("busiest second", report.Count(h.BusiestSec, "keys"))
		if h.TTLNS > 0 {
			add("TTL", report.Dur(time.Duration(h.TTLNS)))
		} else if h.TTLAtLeast > 0 {
			add("TTL", "at least "+report.Dur(time.Duration(h.TTLAtLeast)))
		}
		if h.SpacingNS > 0 {
			add("every", report.Dur(time.Duration(h.SpacingNS)))
		}
		add("expire", clock.Span(h.From, h.To))
	}
	return all
}

var causeNames = map[string]string{
	"ttl": "cached values with one TTL", "warmup": "a scheduled job that refills the cache", "hot_key": "one hot key",
	"cold_start": "cold start", "cron": "a schedule", "retry": "retries", "replica_job": "one job on every replica",
	"missing_key": "a missing row asked again and again", "unknown": "unknown",
}

func newSuspect(c report.Cause, word string) suspect {
	s := suspect{Cause: c, Word: word, Kind: c.Kind, Fit: strconv.FormatFloat(c.Score, 'f', 2, 64), Width: round(min(max(c.Score, 0), 1)*100, 0)}
	if name, ok := causeNames[c.Kind]; ok {
		s.Kind = name
	}
	if strings.Contains(c.Why, c.Suspect) {
		s.Suspect = "" // the sentence names it
	}
	for _, l := range c.Locations {
		if at := placeOf(l); at != c.Suspect {
			s.Places = append(s.Places, at)
		}
	}
	return s
}

func placeOf(l report.Location) string {
	at := fmt.Sprintf("%s:%d", l.File, l.Line)
	if l.Note != "" {
		at += " (" + l.Note + ")"
	}
	return at
}

var remedyNames = map[string]string{
	"ttl_jitter": "Random TTL", "jitter": "Random TTL", "coalesce": "Coalesce in each process", "lock": "Lock across processes",
	"serve_stale": "Serve stale while one refreshes", "early_refresh": "Early refresh", "xfetch": "Early refresh (XFetch)",
	"warm_up": "Warm up, staggered", "warmup": "Warm up, staggered", "stagger": "Staggered restart", "negative_cache": "Remember what is missing",
	"backoff": "Back off with full jitter", "cron_minutes": "Move the schedules apart", "none": "Nothing needs to be done",
}

var helps = map[string][2]string{
	"yes": {"helps", "good"}, "partly": {"helps partly", "warning"}, "no": {"does not help", "open"},
}

// fixes lists the fix of the finding, then the other remedies that were
// weighed. A remedy that says what the fix says is merged into it.
func fixes(f *report.Finding) (all []remedy) {
	same := -1
	if f.Fix != nil {
		for i := range f.Remedies {
			if f.Remedies[i].Text == f.Fix.Text {
				same = i
			}
		}
		all = append(all, firstFix(f, same))
	}
	for i, r := range f.Remedies {
		if i == same {
			continue
		}
		v := newRemedy(r)
		if len(all) == 0 && r.Helps != "no" {
			v.First = true
		}
		all = append(all, v)
	}
	return all
}

func firstFix(f *report.Finding, same int) remedy {
	var r report.Remedy
	if same >= 0 {
		r = f.Remedies[same]
	}
	r.Text = f.Fix.Text
	if f.Fix.Code != "" {
		r.Code, r.Lang = f.Fix.Code, f.Fix.Lang
	}
	if f.Fix.Effect != nil {
		r.Effect = f.Fix.Effect
	}
	for _, c := range f.Fix.Caveats {
		if !contains(r.Caveats, c) {
			r.Caveats = append(r.Caveats[:len(r.Caveats):len(r.Caveats)], c)
		}
	}
	v := newRemedy(r)
	v.First = true
	if len(f.Fix.Effects) > 0 {
		v.Effects = f.Fix.Effects
	}
	if same < 0 {
		v.Title, v.Verdict = "", ""
	}
	return v
}

// inSyntax is for the fix of a line in a file: what it says is in the syntax
// of that file. Where there are several lines, the text is but the first.
func (r *remedy) inSyntax() {
	r.Mono = true
	if r.Code != "" {
		r.Text = r.Code
	}
}

func newRemedy(r report.Remedy) remedy {
	v := remedy{Remedy: r, Title: r.Name}
	if name, ok := remedyNames[r.Name]; ok {
		v.Title = name
	} else {
		v.Title = strings.ReplaceAll(r.Name, "_", " ")
	}
	v.Verdict, v.Tone = r.Helps, "open"
	if h, ok := helps[r.Helps]; ok {
		v.Verdict, v.Tone = h[0], h[1]
	}
	if e := r.Effect; e != nil && e.PeakBefore > 0 && !math.IsInf(e.PeakBefore, 0) {
		v.Effects = []string{"busiest " + report.Float(e.PeakBefore) + " → " + report.Float(e.PeakAfter) + " " + e.Unit}
		v.Measured = true
		v.Bar = round(min(max(e.PeakAfter/e.PeakBefore, 0), 1)*100, 1)
	}
	return v
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func marked(e *report.Excerpt) *markedLine {
	if e == nil {
		return nil
	}
	r := []rune(e.Text)
	from := min(max(e.From, 0), len(r))
	to := min(max(e.To, from), len(r))
	return &markedLine{e.Line, string(r[:from]), string(r[from:to]), string(r[to:])}
}

// places names the first few of the other places of a finding, as the text
// does: those in the file named before by their line alone. more are the next
// ones in full. Related may hold only some of all.
func places(f *report.Finding) (first string, more []string) {
	if len(f.Related) == 0 {
		return "", nil
	}
	var names []string
	last := ""
	for _, l := range f.Related[:min(len(f.Related), maxPlaces)] {
		name := l.File
		if name == last {
			name = ""
		}
		last = l.File
		names = append(names, name+":"+strconv.Itoa(l.Line))
	}
	first = strings.Join(names, ", ")
	if total := max(len(f.Related), int(min(f.Count, math.MaxInt32))-1); total > len(names) {
		first += " and " + report.Int(total-len(names)) + " more"
	}
	for _, l := range f.Related[len(names):min(len(f.Related), maxMorePlaces)] {
		more = append(more, placeOf(l))
	}
	return first, more
}

// linkTime writes how long before or after a tooth something happens.
func linkTime(l report.Link) string {
	d := time.Duration(l.OffsetNS).Round(100 * time.Millisecond)
	if d > 0 {
		return "+" + report.Dur(d)
	}
	return report.Dur(d)
}
