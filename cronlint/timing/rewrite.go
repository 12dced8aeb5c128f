package timing

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// shape is how the minute of a schedule can be rewritten.
type shape struct {
	period int       // the minute can be any of 0 to period-1; 0: it can't be moved
	phase  int       // the minute it has now
	field  lint.Span // the bytes to replace, within the schedule's text
	tail   string    // what follows the minute: "" or "-59/5"
	nick   string    // the four fields behind the minute when a nickname is replaced
}

// nicknameTails are the fields that follow the minute of a nickname.
var nicknameTails = map[string]string{
	"@hourly": " * * * *", "@daily": " 0 * * *", "@midnight": " 0 * * *", "@weekly": " 0 * * 0",
	"@monthly": " 0 1 * *", "@yearly": " 0 1 1 *", "@annually": " 0 1 1 *",
}

// minuteShape finds out how the minute of a schedule can be moved: a single
// minute within its hour, or the phase of */n where n divides the hour.
func minuteShape(s *schedule.Schedule) shape {
	if tail, ok := nicknameTails[s.Nickname]; ok && s.Dialect != schedule.Jenkins && s.Dialect != schedule.Spring && !s.Drawn {
		return shape{period: 60, nick: tail, field: lint.Span{End: len(s.Text)}}
	}
	f := s.Field(schedule.UnitMinute)
	if f == nil || s.Dialect == schedule.Systemd || len(f.Terms) != 1 {
		return shape{}
	}
	sh := shape{field: lint.Span{Start: f.Start, End: f.End}}
	switch t := f.Terms[0]; {
	case t.Kind == schedule.TermValue:
		sh.period, sh.phase = 60, t.Lo
	case (t.Kind == schedule.TermStar || t.Kind == schedule.TermRange) && t.Step > 1 && 60%t.Step == 0 &&
		t.Lo < t.Step && t.Hi >= 60-t.Step+t.Lo:
		sh.period, sh.phase, sh.tail = t.Step, t.Lo, fmt.Sprintf("-59/%d", t.Step)
	}
	return sh
}

// moved is the schedule's text with another minute.
func (sh shape) moved(text string, minute int) string {
	return text[:sh.field.Start] + fmt.Sprint(minute) + sh.tail + sh.nick + text[sh.field.End:]
}

// proved parses a rewritten schedule and checks that it fires on the same days,
// in the same hours and as often as before. It returns nil when it does not.
func proved(old *schedule.Schedule, text string) *schedule.Schedule {
	s, err := schedule.Parse(old.Dialect, text)
	if err != nil || s.Hours() != old.Hours() || s.PerDay() != old.PerDay() || s.Seconds != old.Seconds ||
		bits.OnesCount64(s.MinutesOfHour()) != bits.OnesCount64(old.MinutesOfHour()) || !s.SameDays(old) {
		return nil
	}
	if (s.Zone == nil) != (old.Zone == nil) || s.Zone != nil && s.Zone.String() != old.Zone.String() {
		return nil
	}
	return s
}

// edit replaces the minute of a job by that of text, its schedule with another
// minute. Only the bytes that differ are part of it.
func (s *subject) edit(text string) *lint.Edit {
	sh := minuteShape(s.Schedule)
	return s.replace(sh.field, text[sh.field.Start:len(text)-(len(s.Raw)-sh.field.End)])
}

// replaceField replaces one field of a job's schedule.
func (s *subject) replaceField(f *schedule.Field, text string) *lint.Edit {
	return s.replace(lint.Span{Start: f.Start, End: f.End}, text)
}

// replace makes the edit of a part of the schedule. Where the time may have a
// meaning it is not called safe.
func (s *subject) replace(part lint.Span, text string) *lint.Edit {
	span := lint.Span{Start: s.Field.Start + part.Start, End: s.Field.Start + part.End}
	line, _ := s.File.Position(s.Field.Start)
	row := s.File.LineSpan(line)
	e := &lint.Edit{File: s.File.Path, Span: span, New: text, Safe: true}
	e.Text = strings.TrimSpace(s.File.Text(lint.Span{Start: row.Start, End: span.Start}) + text +
		s.File.Text(lint.Span{Start: span.End, End: row.End}))
	if e.Why = s.doubt(); e.Why != "" {
		e.Safe = false
	}
	return e
}
