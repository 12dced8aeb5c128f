package job

import (
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A TimerFile is a .timer unit or one of its drop-ins. It is the Value of a
// [lint.Setting]; the Detail of an entry is a *[TimerEvent].
type TimerFile struct {
	File   *lint.File
	Unit   string // "logrotate.timer"
	DropIn bool   // one of logrotate.timer.d/*.conf, read after the unit
	Keys   []UnitKey
}

// A UnitKey is one assignment of a unit file.
type UnitKey struct {
	Section, Name, Value string
	Line                 int
	Span                 lint.Span // the whole line or lines
	ValueSpan            lint.Span // the value alone, within one line
	Joined               bool      // the value goes on in further lines
}

// A TimerEvent is the Detail of an OnCalendar= entry.
type TimerEvent struct {
	Timer *TimerFile
	Key   UnitKey
}

// Last returns the last assignment of a key of [Timer], or nil.
func (t *TimerFile) Last(name string) *UnitKey {
	for i := len(t.Keys) - 1; i >= 0; i-- {
		if k := &t.Keys[i]; k.Section == "Timer" && k.Name == name {
			return k
		}
	}
	return nil
}

type timerFormat struct{}

func (timerFormat) Name() string { return "systemd-timer" }

func (timerFormat) Match(path string, head []byte) bool {
	unit, _ := timerUnit(path)
	return unit != "" && strings.Contains(string(head), "[Timer]")
}

// timerUnit is the unit a path belongs to, and whether the path is a drop-in.
func timerUnit(path string) (unit string, dropIn bool) {
	name := base(path)
	if strings.HasSuffix(name, ".timer") {
		return name, false
	}
	dir := strings.TrimSuffix(path[:len(path)-len(name)], "/")
	if unit, ok := strings.CutSuffix(base(dir), ".d"); ok && strings.HasSuffix(unit, ".timer") && strings.HasSuffix(name, ".conf") {
		return unit, true
	}
	return "", false
}

func (timerFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	unit, dropIn := timerUnit(src.Path)
	t := &TimerFile{File: src, Unit: unit, DropIn: dropIn}
	p := &lint.Parsed{}
	t.Keys, p.Errors = readUnit(src)
	p.Settings = append(p.Settings, &lint.Setting{
		File: src, Format: "systemd-timer", Span: t.section(), Subject: unit, Identity: "systemd:" + unit, Value: t,
	})
	for _, k := range t.Keys {
		if k.Section != "Timer" || k.Name != "OnCalendar" || k.Value == "" || strings.Contains(k.Value, "%") {
			continue
		}
		e := newEntry(src, "systemd-timer", schedule.Systemd, k.ValueSpan, k.Span)
		if k.Joined {
			e.Raw = k.Value
			setSchedule(e, "")
		}
		e.Group = GroupHost
		e.Identity = identity(schedule.Systemd, e.Group, unit)
		e.Command = t.starts()
		e.Detail = &TimerEvent{Timer: t, Key: k}
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

// starts is the unit that the timer starts.
func (t *TimerFile) starts() string {
	if k := t.Last("Unit"); k != nil && k.Value != "" {
		return k.Value
	}
	return strings.TrimSuffix(t.Unit, ".timer") + ".service"
}

// section is the first line of [Timer], where problems of the unit are shown.
func (t *TimerFile) section() lint.Span {
	for n := 1; n <= t.File.Lines(); n++ {
		if strings.TrimSpace(t.File.Line(n)) == "[Timer]" {
			return t.File.LineSpan(n)
		}
	}
	return lint.Span{}
}

// readUnit reads the assignments of a unit file (systemd.syntax(7)). A line
// that is no assignment, no section and no comment is an error.
func readUnit(src *lint.File) (keys []UnitKey, errs []*lint.Error) {
	section := ""
	for n := 1; n <= src.Lines(); n++ {
		span := src.LineSpan(n)
		line := strings.TrimSpace(src.Text(span))
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
		case !strings.Contains(line, "="):
			errs = append(errs, &lint.Error{File: src.Path, Line: n, Err: errNoAssignment})
		default:
			var k UnitKey
			k, n = readUnitKey(src, n)
			k.Section = section
			keys = append(keys, k)
		}
	}
	return keys, errs
}

// readUnitKey reads the assignment that begins in line n, and the lines that
// continue it. It returns the last of them.
func readUnitKey(src *lint.File, n int) (UnitKey, int) {
	span := src.LineSpan(n)
	text := src.Text(span)
	name, value, _ := strings.Cut(text, "=")
	k := UnitKey{Name: strings.TrimSpace(name), Line: n, Span: span}
	trimmed := strings.TrimSpace(value)
	k.ValueSpan.Start = span.Start + len(name) + 1 + strings.Index(value, trimmed)
	k.ValueSpan.End = k.ValueSpan.Start + len(trimmed)
	k.Value = trimmed
	for strings.HasSuffix(k.Value, `\`) && n < src.Lines() {
		n++
		k.Joined = true
		next := strings.TrimSpace(src.Line(n))
		k.Span.End = src.LineSpan(n).End
		if strings.HasPrefix(next, "#") || strings.HasPrefix(next, ";") {
			continue // comments within a continuation are left out
		}
		k.Value = strings.TrimSpace(strings.TrimSuffix(k.Value, `\`)) + " " + next
	}
	return k, n
}

// timeUnits are the units of systemd.time(7).
var timeUnits = map[string]time.Duration{
	"us": time.Microsecond, "usec": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond,
	"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": day, "day": day, "days": day,
	"w": 7 * day, "week": 7 * day, "weeks": 7 * day, "M": 730*time.Hour + 30*time.Minute, "month": 730*time.Hour + 30*time.Minute,
	"months": 730*time.Hour + 30*time.Minute, "y": 365*day + 6*time.Hour, "year": 365*day + 6*time.Hour, "years": 365*day + 6*time.Hour,
}

// maxTimespan keeps sums of spans within a time.Duration.
const maxTimespan = 100 * 365 * day

// Timespan reads a systemd time span such as "1h 30min" or "90" (seconds).
func Timespan(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	var total time.Duration
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if digits == 0 || digits > 9 {
			return 0, false
		}
		number := text[:digits]
		rest := strings.TrimLeft(text[digits:], " \t")
		name := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzMµ"))]
		unit, ok := timeUnits[name]
		if !ok {
			return 0, false
		}
		n := time.Duration(atoi(number))
		if n > maxTimespan/unit || total > maxTimespan {
			return 0, false
		}
		total += n * unit
		text = strings.TrimLeft(rest[len(name):], " \t")
	}
	return total, true
}
