package job

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A Crontab is what is said of a whole crontab.
type Crontab struct {
	File      *lint.File
	System    bool // lines have a user before the command
	Dialect   schedule.Dialect
	Vars      []Variable // in the order written
	NoNewline bool       // the last line has no newline
	FirstJob  int        // line of the first job, 0 if there is none
	LastJob   int        // line of the last job
}

// A Variable is an assignment of a crontab.
type Variable struct {
	Name, Value string
	Line        int
	Span        lint.Span // the whole line
}

// Var returns the last assignment of name above line, or nil.
func (c *Crontab) Var(name string, line int) *Variable {
	for i := len(c.Vars) - 1; i >= 0; i-- {
		if v := &c.Vars[i]; v.Name == name && v.Line < line {
			return v
		}
	}
	return nil
}

// A CrontabJob is the Detail of an entry of a crontab.
type CrontabJob struct {
	Table   *Crontab
	Line    int
	User    string
	Command lint.Span // to the end of the line; % and all
}

// Shell returns the program that runs the command.
func (j *CrontabJob) Shell() string {
	if v := j.Table.Var("SHELL", j.Line); v != nil && v.Value != "" {
		return v.Value
	}
	return "/bin/sh"
}

type crontabFormat struct{}

func (crontabFormat) Name() string { return "crontab" }

func (crontabFormat) Match(path string, head []byte) bool {
	kind := crontabPath(path)
	return kind != notCrontab && crontabContent(string(head), kind == surelyCrontab)
}

func (f crontabFormat) Parse(src *lint.File, o *lint.Options) (*lint.Parsed, error) {
	r := crontabReader{parsed: &lint.Parsed{}, table: &Crontab{File: src}}
	lines := readLines(src)
	r.table.Dialect = crontabDialect(lines, src.Path, o.Dialect)
	r.table.System = isSystem(lines, src.Path)
	r.table.NoNewline = len(src.Data) > 0 && src.Data[len(src.Data)-1] != '\n'
	for _, l := range lines {
		r.line(l)
	}
	return r.parsed, nil
}

// textLine is one line that is neither blank nor a comment.
type textLine struct {
	number int
	span   lint.Span // without leading blanks
	text   string
}

func readLines(src *lint.File) (lines []textLine) {
	for n := 1; n <= src.Lines(); n++ {
		span := src.LineSpan(n)
		text := src.Text(span)
		trimmed := strings.TrimLeft(text, " \t")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		span.Start += len(text) - len(trimmed)
		lines = append(lines, textLine{n, span, trimmed})
	}
	return lines
}

type crontabReader struct {
	parsed *lint.Parsed
	table  *Crontab
}

func (r *crontabReader) line(l textLine) {
	if name, value, ok := assignment(l.text); ok {
		r.table.Vars = append(r.table.Vars, Variable{name, value, l.number, l.span})
		return
	}
	if !placeholder(firstWords(l.text, 1)) {
		r.job(l)
	}
}

// assignment reads NAME=value, with blanks and quotes as cron allows them.
func assignment(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, "=")
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", "", false
	}
	for _, c := range name {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return "", "", false
		}
	}
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return name, value, true
}

// job reads the schedule, the user and the command of one line.
func (r *crontabReader) job(l textLine) {
	start := l.span.Start
	text := l.text
	if r.table.Dialect == schedule.Cronie && strings.HasPrefix(text, "-") && len(wordSpans(text[1:])) > 0 { // don't log
		text, start = text[1:], start+1
	}
	words := wordSpans(text)
	count := r.scheduleWords(text, words)
	field := lint.Span{Start: start + words[0].Start, End: start + words[count-1].End}
	e := newEntry(r.table.File, "crontab", r.table.Dialect, field, l.span)
	if placeholder(e.Raw) {
		return
	}
	j := &CrontabJob{Table: r.table, Line: l.number}
	e.Detail = j
	rest := words[count:]
	if r.table.System && len(rest) > 0 {
		j.User = text[rest[0].Start:rest[0].End]
		rest = rest[1:]
	}
	j.Command = lint.Span{Start: l.span.End, End: l.span.End}
	if len(rest) > 0 {
		j.Command.Start = start + rest[0].Start
	} else if e.Err == nil {
		e.Err = &schedule.ParseError{End: len(e.Raw), Msg: missingCommand(r.table.System, j.User)}
		e.Schedule = nil
	}
	e.Command = r.table.File.Text(j.Command)
	r.misplaced(e, strings.Fields(text[words[count-1].End:]))
	e.Group = GroupHost
	e.Identity = identity(e.Dialect, e.Group, cmp.Or(normalCommand(e.Command), e.Raw))
	e.Zone = r.zone(l.number)
	if r.table.FirstJob == 0 {
		r.table.FirstJob = l.number
	}
	r.table.LastJob = l.number
	r.parsed.Entries = append(r.parsed.Entries, e)
}

// misplaced catches what cron itself trips over: a star where the user or the
// command should begin is one field too many, and a path is no user.
func (r *crontabReader) misplaced(e *lint.Entry, rest []string) {
	d := r.table.Dialect
	if e.Err != nil || d != schedule.Vixie && d != schedule.Cronie || len(rest) == 0 {
		return
	}
	why := ""
	switch {
	case rest[0][0] == '*':
		why = "more than five time fields"
	case r.table.System && strings.ContainsAny(rest[0], "/=;&|"):
		why = "a line of a system crontab names the user before the command, and " + strconv.Quote(rest[0]) + " is none"
	default:
		return
	}
	e.Schedule, e.Err = nil, &schedule.ParseError{End: len(e.Raw), Msg: why}
}

func missingCommand(system bool, user string) string {
	if system && user != "" {
		return "the command is missing: in a system crontab " + strconv.Quote(user) + " is read as the user"
	}
	return "the command is missing"
}

// zone is the zone of CRON_TZ, which cronie knows and Debian's cron does not.
func (r *crontabReader) zone(line int) *time.Location {
	if r.table.Dialect != schedule.Cronie {
		return nil
	}
	if v := r.table.Var("CRON_TZ", line); v != nil {
		return zone(v.Value)
	}
	return nil
}

// scheduleWords is the number of words that belong to the schedule.
func (r *crontabReader) scheduleWords(text string, words []lint.Span) int {
	if text[0] == '@' {
		if text[:words[0].End] == "@every" && len(words) > 1 {
			return 2
		}
		return 1
	}
	if r.table.Dialect == schedule.Supercronic {
		for _, n := range []int{7, 6} {
			if len(words) > n && parses(schedule.Supercronic, text[:words[n-1].End]) {
				return n
			}
		}
	}
	return min(5, len(words))
}

func parses(d schedule.Dialect, text string) bool {
	_, err := schedule.Parse(d, text)
	return err == nil
}

// wordSpans are the byte ranges of the words of a line.
func wordSpans(line string) (words []lint.Span) {
	start := -1
	for i := 0; i <= len(line); i++ {
		blank := i == len(line) || line[i] == ' ' || line[i] == '\t'
		if blank && start >= 0 {
			words = append(words, lint.Span{Start: start, End: i})
			start = -1
		} else if !blank && start < 0 {
			start = i
		}
	}
	return words
}

// firstWords returns the text of the first n words of a line.
func firstWords(line string, n int) string {
	words := wordSpans(line)
	if len(words) == 0 {
		return ""
	}
	return line[words[0].Start:words[min(n, len(words))-1].End]
}

// normalCommand is a command without redirections and doubled blanks, cut to
// what tells jobs apart.
func normalCommand(command string) string {
	words := strings.Fields(command)
	kept := words[:0:0]
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w, ">") || strings.HasPrefix(w, "2>") || strings.HasPrefix(w, "&>") {
			if strings.TrimLeft(w, "012&>") == "" {
				i++ // the file is a word of its own
			}
			continue
		}
		kept = append(kept, w)
	}
	return strings.Join(kept, " ")
}
