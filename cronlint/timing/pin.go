package timing

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

var (
	// meantTime are words of jobs whose time usually has a meaning.
	meantTime = regexp.MustCompile(`(?i)midnight|\beod\b|end.of.day|rotat|invoice|billing|\bclos(?:e|ing)\b|payroll|market|\border|digest|(?:^|[^-\w])report|yesterday|date\s+(?:-d|--date)`)
	// writtenTime is a comment that tells when the job runs.
	writtenTime = regexp.MustCompile(`(?i)\b\d{1,2}[:.]\d{2}\b|\b\d{1,2}\s?(?:am|pm)\b|\bmidnight\b|\bnoon\b|\bo'clock\b|\bon the hour\b|\btop of the hour\b|\bat minute\b`)
)

// doubt is why a move of the job may change what a human meant; "" if nothing
// speaks against it.
func (s *subject) doubt() string {
	if m := strings.TrimSpace(meantTime.FindString(s.Command)); m != "" {
		return fmt.Sprintf("%q in the command suggests that the time has a meaning", strings.ToLower(m))
	}
	for _, comment := range s.comments() {
		if m := strings.TrimSpace(meantTime.FindString(comment)); m != "" {
			return fmt.Sprintf("the comment says %q: the time may have a meaning", strings.ToLower(m))
		}
		if m := writtenTime.FindString(comment); m != "" {
			return fmt.Sprintf("a comment states the time (%s) and would be wrong", m)
		}
	}
	if s.Schedule.PerDay() == 1 {
		return dailyDoubt(s.Schedule.Minutes.Next(0))
	}
	return ""
}

// dailyDoubt judges the time of a job that runs once a day.
func dailyDoubt(minute int) string {
	switch minute / 60 {
	case 8, 9, 12:
		return fmt.Sprintf("%02d:%02d is a time at which people read what the job sends", minute/60, minute%60)
	case 23:
		if minute%60 >= 58 {
			return "the last minutes of a day are usually meant"
		}
	}
	return ""
}

// commentLines is how many lines of comment above an entry are taken as its own.
const commentLines = 4

// comments are the comment behind the schedule and those right above it.
func (s *subject) comments() (texts []string) {
	line, _ := s.File.Position(s.Field.Start)
	row := s.File.LineSpan(line)
	if s.Format != "crontab" {
		if _, after, ok := strings.Cut(s.File.Text(lint.Span{Start: min(s.Field.End, row.End), End: row.End}), "#"); ok {
			texts = append(texts, after)
		}
	}
	for n := line - 1; n >= max(1, line-commentLines); n-- {
		text := strings.TrimSpace(s.File.Line(n))
		if !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "//") {
			break
		}
		if !fieldLegend.MatchString(text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// fieldLegend is the usual drawing that explains the fields of a crontab.
var fieldLegend = regexp.MustCompile(`(?i)\bdow\b|\(0 ?- ?\d+\)|day of (?:week|month)`)

// pinned reports whether the entry must not be moved at all.
func (s *subject) pinned() bool { return s.Notes.Pin && s.Notes.Window == "" }

// window is the range of minutes of the day in which the job may start.
func (s *subject) window() (from, to int, ok bool) {
	a, b, ok := strings.Cut(s.Notes.Window, "-")
	if !ok {
		return 0, 0, false
	}
	return clock(a), clock(b), true
}

func clock(text string) int {
	h, m, _ := strings.Cut(text, ":")
	hours, _ := strconv.Atoi(h)
	minutes, _ := strconv.Atoi(m)
	return hours*60 + minutes
}

// inWindow reports whether all starts of a schedule lie in the job's window.
func (s *subject) inWindow(o *schedule.Schedule) bool {
	from, to, ok := s.window()
	if !ok {
		return true
	}
	for m := o.Minutes.Next(0); m >= 0; m = o.Minutes.Next(m + 1) {
		if from <= to && (m < from || m >= to) || from > to && m < from && m >= to {
			return false
		}
	}
	return true
}
