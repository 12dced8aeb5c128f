// Package report turns what the analyses found into a Document and renders
// it. A Document holds everything that any output shows, so that JSON never
// knows less than the text.
package report

import (
	"time"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/comb/rule"
)

// Schema names the JSON contract. Fields may be added to it; those that are
// there keep their name and meaning.
const Schema = "herdscan/1"

// A Document is one report: what was read, what was found, what to do.
type Document struct {
	Schema   string     `json:"schema"`
	Version  string     `json:"version"`
	Command  string     `json:"command"`
	Coverage []Coverage `json:"coverage"`
	Graphs   []Graph    `json:"graphs,omitempty"`
	Tables   []Table    `json:"tables,omitempty"`
	Findings []Finding  `json:"findings"`
	// Undecided says what could not be judged, and what would be needed.
	Undecided []string `json:"undecided,omitempty"`
	// Comparison is what became of each herd between two reports.
	Comparison []Change `json:"comparison,omitempty"`
	// Timeline is the whole run on one clock, where several sources were read.
	Timeline *Timeline `json:"timeline,omitempty"`
	// Simulation is what "herdscan simulate" played.
	Simulation *Simulation `json:"simulation,omitempty"`
	// Notes are facts about the run: the load it put on a server, say.
	Notes   []string `json:"notes,omitempty"`
	Summary Summary  `json:"summary"`
	// Verdict is the last word, in one line; Next is what to run then.
	Verdict string   `json:"verdict"`
	Next    []string `json:"next,omitempty"`

	// Base is the path from the root of the repository to the folder that file
	// names are relative to; empty when they are the same. It is for formats
	// that want names from the root.
	Base string `json:"-"`
}

// Summary counts findings by severity, and what was set aside.
type Summary struct {
	Error      int `json:"error"`
	Warning    int `json:"warning"`
	Note       int `json:"note"`
	Suppressed int `json:"suppressed"`
	Undecided  int `json:"undecided"`
}

// Coverage says how much of one source was read.
type Coverage struct {
	Source   string     `json:"source"`
	Kind     string     `json:"kind"` // "redis", "rdb", "mysql-slow", "events", ...
	Unit     string     `json:"unit"` // what Read, Total and Skipped count, in the plural
	Read     uint64     `json:"read"`
	Total    uint64     `json:"total"`
	Skipped  uint64     `json:"skipped"`
	From     *time.Time `json:"from,omitempty"`
	To       *time.Time `json:"to,omitempty"`
	Complete bool       `json:"complete"`
	Errors   []string   `json:"errors"`
	// Text is the sentence for humans, without the source's name.
	Text  string   `json:"text"`
	Notes []string `json:"notes,omitempty"`
	Line  int      `json:"line,omitempty"` // of a file's first error, where it has one
}

// A Finding is one thing that was found.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Subject  string `json:"subject"`
	Count    uint64 `json:"count"`
	// Message is one sentence that names the subject; Details say what was
	// seen, Why why it hurts. None of them claims more than the data shows.
	Message   string   `json:"message"`
	Details   []string `json:"details,omitempty"`
	Why       string   `json:"why,omitempty"`
	RefutedBy string   `json:"refuted_by,omitempty"`
	// Chain is what happens around a tooth, in the order of time, where several
	// sources saw it.
	Chain []Link   `json:"chain,omitempty"`
	Also  []string `json:"also,omitempty"` // other rules that the same facts meet
	// PartOf is the fingerprint of the finding of which this is a part: not a
	// second herd, but another look at the same one.
	PartOf    string     `json:"part_of,omitempty"`
	Members   []string   `json:"members,omitempty"`
	Locations []Location `json:"locations,omitempty"`
	Related   []Location `json:"related,omitempty"` // other places that take part
	Excerpt   *Excerpt   `json:"excerpt,omitempty"` // the line of the first location
	Comb      *Comb      `json:"comb,omitempty"`
	Herd      *Herd      `json:"herd,omitempty"`
	Teeth     []Tooth    `json:"teeth,omitempty"`
	Causes    []Cause    `json:"causes,omitempty"`
	// Cleared are the suspects that were looked at and do not fit; Missing says
	// what was not given that could decide, and how to give it.
	Cleared []Cause  `json:"cleared,omitempty"`
	Missing []string `json:"missing,omitempty"`
	Fix     *Fix     `json:"fix,omitempty"`
	// Remedies are all fixes that were weighed, the best first, then those that
	// do not help.
	Remedies   []Remedy  `json:"remedies,omitempty"`
	Timeline   *Timeline `json:"timeline,omitempty"`
	Fold       *Fold     `json:"fold,omitempty"`
	Log10P     *float64  `json:"log10_p,omitempty"`
	Suppressed string    `json:"suppressed,omitempty"` // why it does not count
	// SuppressedBy is "ignore", "snooze" or "baseline" when somebody has accepted
	// the finding; text then only counts it.
	SuppressedBy string `json:"suppressed_by,omitempty"`
	Fingerprint  string `json:"fingerprint"`
}

// Location is a place in a file, counted from 1; columns count code points and
// EndCol is the one behind the last. Line 0 is the file as a whole.
type Location struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Col    int    `json:"col"`
	EndCol int    `json:"end_col,omitempty"`
	Note   string `json:"note,omitempty"` // why it is related

	// The same columns in bytes, for formats that count so; 0 when not known.
	ByteCol, EndByteCol int `json:"-"`
}

// Comb is a periodic herd. Locked is null while the lock is undetermined;
// PhaseNS, the offset in the wall-clock period of Zone, is there only when it
// is true.
type Comb struct {
	PeriodNS int64     `json:"period_ns"`
	Anchor   time.Time `json:"anchor"`
	PhaseNS  *int64    `json:"phase_ns,omitempty"`
	Zone     string    `json:"zone,omitempty"`
	WidthNS  int64     `json:"width_ns"`
	DriftNS  int64     `json:"drift_ns"`
	Lock     string    `json:"lock"`
	Locked   *bool     `json:"locked"`
	Teeth    int       `json:"teeth"`
	Missing  int       `json:"missing"`
	Share    float64   `json:"share"`
	Height   float64   `json:"height"`
	Peak     uint64    `json:"peak"`
	Baseline float64   `json:"baseline"`
	Log10P   float64   `json:"log10_p"`
}

// Herd is a group of keys that expire together, with the births that its TTL
// implies. TTLNS is 0 where the evidence does not carry a TTL.
type Herd struct {
	Keys        uint64     `json:"keys"`
	From        time.Time  `json:"from"`
	To          time.Time  `json:"to"`
	BusiestSec  uint64     `json:"busiest_second"`
	TTLNS       int64      `json:"ttl_ns"`
	TTLAtLeast  int64      `json:"ttl_at_least_ns"`
	TTLEvidence string     `json:"ttl_evidence,omitempty"`
	BornFrom    *time.Time `json:"born_from,omitempty"`
	BornTo      *time.Time `json:"born_to,omitempty"`
	SpacingNS   int64      `json:"spacing_ns,omitempty"`
	Teeth       int        `json:"teeth"`
}

// Tooth is one narrow burst.
type Tooth struct {
	At      time.Time `json:"at"`
	WidthNS int64     `json:"width_ns"`
	Count   uint64    `json:"count"`
}

// Cause is one suspect. The best comes first.
type Cause struct {
	Kind      string  `json:"kind"`
	Score     float64 `json:"score"` // 0..1, how well it fits; not a probability
	Why       string  `json:"why"`
	RefutedBy string  `json:"refuted_by"`

	// Suspect names whom the evidence points at ("session:*", "deploy/crontab:7"),
	// where one source names it; For and Against are the reasons, one each.
	Suspect   string     `json:"suspect,omitempty"`
	For       []string   `json:"for,omitempty"`
	Against   []string   `json:"against,omitempty"`
	Locations []Location `json:"locations,omitempty"`
}

// A Link is one thing that happens around each tooth of a comb.
type Link struct {
	OffsetNS int64  `json:"offset_ns"` // after the onset of the tooth; negative: before it
	Name     string `json:"name"`      // "deploy/jobs.cron:3", "session:*", a statement
	Text     string `json:"text"`      // what happens
}

// A Remedy is one way to mend a herd, weighed for the numbers seen.
type Remedy struct {
	Name    string   `json:"name"`  // "ttl_jitter", "coalesce", "lock", "serve_stale", ...
	Helps   string   `json:"helps"` // "yes", "partly", "no"
	Text    string   `json:"text"`  // what to do, one sentence
	Why     string   `json:"why,omitempty"`
	Effect  *Effect  `json:"effect,omitempty"`
	Curve   *Curve   `json:"curve,omitempty"`
	Lang    string   `json:"lang,omitempty"`
	Code    string   `json:"code,omitempty"`
	Caveats []string `json:"caveats,omitempty"` // pitfalls that this case runs into
}

// A Curve compares the load of one tooth before and after a remedy, second by
// second from its onset.
type Curve struct {
	StepNS int64     `json:"step_ns"`
	Unit   string    `json:"unit"`
	Before []float64 `json:"before"`
	After  []float64 `json:"after"`
}

// A Timeline puts what several sources saw on one clock.
type Timeline struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Lanes []Lane    `json:"lanes"`
}

// A Lane is one row of a Timeline: At counts steps from its start, in ascending
// order, and N is the value there, the busiest second of the step; where
// nothing is given it is 0.
type Lane struct {
	Name   string    `json:"name"`
	Kind   string    `json:"kind"` // "queries", "expiries", "fires", "events"
	Unit   string    `json:"unit"` // "queries/s"
	StepNS int64     `json:"step_ns"`
	At     []int64   `json:"at"`
	N      []float64 `json:"n"`
	Text   []string  `json:"text,omitempty"` // of events, one each
}

// A Fold lays all periods of a comb on each other: N is the mean per period and
// step, from half a period before the onset of a tooth to half a period after.
type Fold struct {
	PeriodNS int64      `json:"period_ns"`
	StepNS   int64      `json:"step_ns"`
	Lanes    []FoldLane `json:"lanes"`
}

// A FoldLane is one row of a Fold.
type FoldLane struct {
	Name string    `json:"name"`
	Kind string    `json:"kind"`
	Unit string    `json:"unit"`
	N    []float64 `json:"n"`
}

// Fix is what to do, ready to paste, and what it will do.
type Fix struct {
	Text    string   `json:"text"`
	Code    string   `json:"code,omitempty"`
	Lang    string   `json:"lang,omitempty"`
	Effect  *Effect  `json:"effect,omitempty"`
	Effects []string `json:"effects,omitempty"`
	Caveats []string `json:"caveats,omitempty"`
	// Edits are the changes to files that make the fix; none when herdscan
	// can't or should not write it.
	Edits []Edit `json:"edits,omitempty"`
}

// Edit replaces a range of one file by New. Columns count code points from 1;
// Offset and Length are bytes.
type Edit struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	EndLine int    `json:"end_line"`
	EndCol  int    `json:"end_col"`
	Offset  int    `json:"offset"`
	Length  int    `json:"length"`
	New     string `json:"new"`
	Safe    bool   `json:"safe"` // false: only made by --fix=unsafe

	ByteCol, EndByteCol int `json:"-"`
}

// Effect is the busiest second (or minute, by Unit) before and after.
type Effect struct {
	PeakBefore float64 `json:"peak_before"`
	PeakAfter  float64 `json:"peak_after"`
	Unit       string  `json:"unit"`
}

// maxTeeth is the most teeth that a finding lists.
const maxTeeth = 10_000

// New starts an empty document.
func New(version, command string) *Document {
	return &Document{
		Schema: Schema, Version: version, Command: command,
		Coverage: []Coverage{}, Findings: []Finding{},
	}
}

// Finish counts the findings and fills in the verdict where none is set.
// Call it once, when everything has been added.
func (d *Document) Finish() {
	d.Summary = Summary{Undecided: len(d.Undecided)}
	for i := range d.Findings {
		f := &d.Findings[i]
		switch {
		case f.Suppressed != "":
			d.Summary.Suppressed++
		case f.Severity == rule.Error.String():
			d.Summary.Error++
		case f.Severity == rule.Warning.String():
			d.Summary.Warning++
		default:
			d.Summary.Note++
		}
	}
	if d.Verdict == "" {
		d.Verdict = d.verdict()
	}
}

// Incomplete reports whether any input is unread.
func (d *Document) Incomplete() bool {
	for _, c := range d.Coverage {
		if len(c.Errors) > 0 || !c.Complete {
			return true
		}
	}
	return false
}

// Worst returns the highest severity found, and false when nothing was.
func (d *Document) Worst() (rule.Severity, bool) {
	switch {
	case d.Summary.Error > 0:
		return rule.Error, true
	case d.Summary.Warning > 0:
		return rule.Warning, true
	default:
		return rule.Note, d.Summary.Note > 0
	}
}

// read is how much was read in all, with its unit.
func (d *Document) read() (n uint64, unit string) {
	unit = "records"
	for _, c := range d.Coverage {
		n += c.Read
		unit = c.Unit
	}
	return n, unit
}

func (d *Document) verdict() string {
	s := d.Summary
	n, unit := d.read()
	var found string
	switch {
	case s.Error+s.Warning+s.Note > 0:
		found = joinCounts(s)
	case d.Incomplete() && n == 0:
		return "nothing was read, so this is no all-clear"
	case d.Incomplete():
		return "nothing found in what was read; the rest is unread, so this is no all-clear"
	case n == 0:
		return "nothing to judge: no " + unit + " were read"
	case s.Undecided > 0:
		return "no verdict: " + d.Undecided[0]
	default:
		return "no herd found in " + Count(n, unit)
	}
	if d.Incomplete() {
		found += "; part of the input is unread"
	}
	return found
}

// teethOf converts teeth for the contract, the first maxTeeth of them.
func teethOf(ts []comb.Tooth) []Tooth {
	out := make([]Tooth, 0, min(len(ts), maxTeeth))
	for _, t := range ts {
		if len(out) == maxTeeth {
			break
		}
		out = append(out, Tooth{At: t.At.UTC(), WidthNS: int64(t.Width), Count: t.Count})
	}
	return out
}
