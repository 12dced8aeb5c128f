package lint

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Directive is one comment "# herdscan: ..." of a file.
//
//	# herdscan: ignore[HS110] reason      this line, or the next one with content
//	# herdscan: ignore[HS101, HS110]
//	# herdscan: snooze[2027-01-31] reason    accepts everything until that day
//	# herdscan: file ignore[HS101] reason    the whole file
//	# herdscan: pin reason=billing window=01:00-05:00 after=job duration=20m hosts=200 weight=3
//
// It may stand in a comment of any of the usual kinds: # // -- ; /* */ <!-- -->.
type Directive struct {
	Line   int  // of the comment
	Target int  // the line it speaks of; 0 for the whole file
	Span   Span // of the text behind "herdscan:"

	Ignore []string  // rule IDs; "all" for every rule
	Snooze time.Time // accept everything before this moment; zero: not a snooze
	Reason string
	Notes  Annotations
	noted  bool // an annotation was given

	Used bool  // something was found that it speaks of
	Err  error // not understood; nothing else is set
}

var directiveMark = regexp.MustCompile(`(?:^|\s)(?:#+|//+|--|;+|/\*+|\*|<!--|REM\b|@REM\b|dnl)\s*herdscan:\s*`)

// Directives finds the directives of a file.
func (f *File) Directives() []*Directive {
	var ds []*Directive
	if !bytes.Contains(f.Data, []byte("herdscan:")) {
		return nil
	}
	var waiting []*Directive // comments on lines of their own, before the line they speak of
	for n := 1; n <= f.Lines(); n++ {
		s := f.LineSpan(n)
		line := f.Text(s)
		if content(line) {
			for _, d := range waiting {
				d.aim(n)
			}
			waiting = nil
		}
		if !strings.Contains(line, "herdscan:") {
			continue
		}
		m := directiveMark.FindStringIndex(line)
		if m == nil {
			continue
		}
		text := strings.TrimSpace(line[m[1]:])
		for _, end := range []string{"*/", "-->"} {
			text = strings.TrimSpace(strings.TrimSuffix(text, end))
		}
		d := &Directive{Line: n, Target: n, Span: Span{s.Start + m[1], s.Start + m[1] + len(text)}}
		d.Err = d.parse(text)
		if strings.TrimSpace(line[:m[0]]) == "" {
			waiting = append(waiting, d)
		}
		ds = append(ds, d)
	}
	return ds
}

// aim makes the directive speak of line n, unless it speaks of the whole file.
func (d *Directive) aim(n int) {
	if d.Target != 0 {
		d.Target = n
	}
}

// commentLine is a line of comment. One that begins with a star continues a
// block comment only if words follow: "*/5 * * * *" is a job.
var commentLine = regexp.MustCompile(`^\s*(#|//|--|;|/\*|\*\s+[A-Za-z@]|\*/?\s*$|<!--|REM\b)`)

// content says whether a line is neither blank nor a comment.
func content(line string) bool {
	return strings.TrimSpace(line) != "" && !commentLine.MatchString(line)
}

var ruleID = regexp.MustCompile(`^HS\d{3}$`)

func (d *Directive) parse(text string) error {
	if rest, ok := strings.CutPrefix(text, "file "); ok {
		d.Target, text = 0, strings.TrimSpace(rest)
	}
	word, _, _ := strings.Cut(text, "[")
	switch word {
	case "ignore", "snooze":
		arg, reason, ok := strings.Cut(strings.TrimPrefix(text, word+"["), "]")
		if !ok {
			return fmt.Errorf("%s needs its argument in brackets", word)
		}
		d.Reason = strings.TrimSpace(reason)
		if word == "ignore" {
			return d.parseIgnore(arg)
		}
		return d.parseSnooze(arg)
	}
	return d.parseNotes(text)
}

func (d *Directive) parseIgnore(arg string) error {
	for _, id := range strings.FieldsFunc(arg, func(r rune) bool { return r == ',' || r == ' ' }) {
		if id != "all" && !ruleID.MatchString(id) {
			return fmt.Errorf("ignore: %q is no rule ID", id)
		}
		d.Ignore = append(d.Ignore, id)
	}
	if len(d.Ignore) == 0 {
		return fmt.Errorf("ignore names no rule")
	}
	return nil
}

// parseSnooze reads "2027-01-31" with optional rule IDs behind it. The day
// itself is included, in UTC.
func (d *Directive) parseSnooze(arg string) error {
	day, ids, _ := strings.Cut(arg, ",")
	t, err := time.Parse(time.DateOnly, strings.TrimSpace(day))
	if err != nil {
		return fmt.Errorf("snooze: %q is no date like 2027-01-31", day)
	}
	d.Snooze = t.AddDate(0, 0, 1)
	if strings.TrimSpace(ids) != "" {
		return d.parseIgnore(ids)
	}
	d.Ignore = []string{"all"}
	return nil
}

// parseNotes reads annotations: words and key=value pairs in any order. After
// reason= everything up to the end belongs to the reason.
func (d *Directive) parseNotes(text string) error {
	if i := strings.Index(text, "reason="); i >= 0 {
		d.Reason = strings.Trim(text[i+len("reason="):], `"' `)
		text = text[:i]
	}
	for _, word := range strings.Fields(text) {
		if err := d.note(word); err != nil {
			return err
		}
		d.noted = true
	}
	if !d.noted {
		return fmt.Errorf("nothing said")
	}
	d.Notes.PinReason = d.Reason
	return nil
}

var windowText = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-4]):[0-5]\d$`)

func (d *Directive) note(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "pin":
		d.Notes.Pin = true
	case "window":
		d.Notes.Window = value
		if !windowText.MatchString(value) {
			return fmt.Errorf("window=%s: want HH:MM-HH:MM", value)
		}
	case "after":
		d.Notes.After = value
	case "duration":
		d.Notes.Duration, err = time.ParseDuration(value)
		if err != nil || d.Notes.Duration <= 0 {
			return fmt.Errorf("duration=%s: want a length of time like 20m", value)
		}
	case "hosts":
		d.Notes.Hosts, err = strconv.Atoi(value)
		if err != nil || d.Notes.Hosts < 1 {
			return fmt.Errorf("hosts=%s: want a number of machines", value)
		}
	case "weight":
		d.Notes.Weight, err = strconv.ParseFloat(value, 64)
		if err != nil || !(d.Notes.Weight > 0) {
			return fmt.Errorf("weight=%s: want a number above 0", value)
		}
	default:
		return fmt.Errorf("%q is not known", word)
	}
	return nil
}

// Accepts says whether the directive suppresses a problem, at a given time. It
// does not mark the directive as used.
func (d *Directive) Accepts(p *Problem, now time.Time) bool {
	if d.Err != nil || len(d.Ignore) == 0 || d.Target != 0 && d.Target != p.Line && d.Line != p.Line {
		return false
	}
	if !d.Snooze.IsZero() && !now.Before(d.Snooze) {
		return false
	}
	return slices.Contains(d.Ignore, "all") || slices.Contains(d.Ignore, p.Rule.ID)
}

// Annotate gives an entry what the directives say about it that speak of its
// field, its first line or the whole file.
func (x *DirectiveIndex) Annotate(e *Entry) {
	if x == nil || len(x.All) == 0 {
		return
	}
	field, _ := e.File.Position(e.Field.Start)
	first, _ := e.File.Position(e.Span.Start)
	said := x.At(field)
	if first != field {
		said = append(said, x.line[first]...)
	}
	for _, d := range said {
		if d.Err == nil && d.noted {
			d.Used = true
			e.Notes.merge(d.Notes)
		}
	}
}

// merge takes over what o says.
func (a *Annotations) merge(o Annotations) {
	if o.Pin {
		a.Pin, a.PinReason = true, o.PinReason
	}
	if o.Window != "" {
		a.Window = o.Window
	}
	if o.After != "" {
		a.After = o.After
	}
	if o.Duration != 0 {
		a.Duration = o.Duration
	}
	if o.Hosts != 0 {
		a.Hosts = o.Hosts
	}
	if o.Weight != 0 {
		a.Weight = o.Weight
	}
}

// A DirectiveIndex finds the directives of one file by line.
type DirectiveIndex struct {
	All  []*Directive
	line map[int][]*Directive // by their own line and by their target; 0: the file
}

// IndexDirectives makes the index of a file.
func IndexDirectives(f *File) *DirectiveIndex {
	x := &DirectiveIndex{All: f.Directives(), line: make(map[int][]*Directive)}
	for _, d := range x.All {
		x.line[d.Target] = append(x.line[d.Target], d)
		if d.Line != d.Target && d.Target != 0 {
			x.line[d.Line] = append(x.line[d.Line], d)
		}
	}
	return x
}

// At returns the directives that speak of a line or of the whole file.
func (x *DirectiveIndex) At(line int) []*Directive {
	if x == nil {
		return nil
	}
	if line == 0 {
		return x.line[0]
	}
	return slices.Concat(x.line[0], x.line[line])
}
