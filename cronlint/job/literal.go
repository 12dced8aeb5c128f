package job

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/code"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A CodeLiteral is the Detail of a schedule in source code. Such schedules are
// judged, never rewritten.
type CodeLiteral struct {
	Language code.Language
}

// codeFormat reads schedules that are literals of source code: cron strings,
// Celery's crontab(), Laravel's ->daily(), whenever's every. It is asked only
// on demand, for what a program does with a literal can't be seen.
type codeFormat struct{}

func (codeFormat) Name() string { return "code" }

// OptIn names the switch that the format needs.
func (codeFormat) OptIn() string { return "code" }

var codeMarks = [][]byte{[]byte("cron"), []byte("Cron"), []byte("Schedule"), []byte("schedule"), []byte("every ")}

func (codeFormat) Match(path string, head []byte) bool {
	if code.Of(path) == code.None || code.Test(path) {
		return false
	}
	for _, mark := range codeMarks {
		if bytes.Contains(head, mark) {
			return true
		}
	}
	return false
}

func (codeFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	r := codeReader{src: src, text: code.Read(src), parsed: &lint.Parsed{}}
	r.literals()
	switch r.text.Lang {
	case code.Python:
		r.celery()
	case code.PHP:
		r.laravel()
	case code.Ruby:
		r.whenever()
	}
	slices.SortStableFunc(r.parsed.Entries, func(a, b *lint.Entry) int { return a.Field.Start - b.Field.Start })
	return r.parsed, nil
}

type codeReader struct {
	src    *lint.File
	text   *code.Source
	parsed *lint.Parsed
}

// add records a schedule. Where raw is not what stands in the file, it is what
// the library makes of it.
func (r *codeReader) add(d schedule.Dialect, span lint.Span, raw string) {
	e := newEntry(r.src, "code", d, span, span)
	if e.Raw != raw {
		e.Raw = raw
		setSchedule(e, "")
	}
	if e.Err != nil {
		return // it only looked like a schedule
	}
	line, _ := r.src.Position(span.Start)
	e.Group = "code:" + string(r.text.Lang)
	e.Command = strings.TrimSpace(r.src.Line(line))
	e.Identity = identity(d, e.Group, r.src.Path+" "+e.Command)
	e.Detail = &CodeLiteral{Language: r.text.Lang}
	r.parsed.Entries = append(r.parsed.Entries, e)
}

// cronLiteral is a text of five to seven cron fields.
var cronLiteral = regexp.MustCompile(`^(?:[0-9*,/?-]+[ \t]+){4,5}[0-9A-Za-z*,/?#-]+(?:[ \t]+[0-9*,/?#A-Za-z-]+)?$`)

// nicknameRow is what stands before a text that only explains a nickname.
var nicknameRow = regexp.MustCompile(`["']@\w+["']\s*(?::|=>)\s*["']$`)

func (r *codeReader) literals() {
	for _, span := range r.text.Strings() {
		raw := r.src.Text(span)
		line, _ := r.src.Position(span.Start)
		if !cronLiteral.MatchString(raw) || nicknameRow.Match(r.src.Data[r.src.LineSpan(line).Start:span.Start]) {
			continue
		}
		if d, ok := literalDialect(r.text.Lang, raw); ok && strings.ContainsAny(raw, "*?") && r.speaksOfTime(span.Start) {
			r.add(d, span, raw)
		}
	}
}

// timeWords are those that stand near a literal that is the time of a job, and
// not near a row of a table that only explains some.
var timeWords = regexp.MustCompile(`(?i)cron|schedul|trigger|periodic|recurr|job|task|timer|timing|spec\b|addfunc`)

// nearLines is how many lines above a literal are taken as near.
const nearLines = 2

// speaksOfTime reports whether the code near a place says that it is about jobs.
func (r *codeReader) speaksOfTime(at int) bool {
	line, _ := r.src.Position(at)
	start := r.src.LineSpan(max(1, line-nearLines)).Start
	return timeWords.Match(r.text.Text[start:r.src.LineSpan(line).End])
}

// literalDialect is the library that the language's programs mostly use.
func literalDialect(l code.Language, raw string) (schedule.Dialect, bool) {
	five := len(strings.Fields(raw)) == 5
	switch l {
	case code.Python:
		return schedule.Celery, five
	case code.Script:
		return schedule.Croner, true
	case code.Ruby:
		return schedule.Fugit, true
	case code.PHP:
		return schedule.PHP, five
	case code.Java, code.CSharp:
		return springDialect(raw), !five
	case code.Go:
		return schedule.Robfig, five
	}
	return 0, false
}

var celeryCall = regexp.MustCompile(`\bcrontab\(`)

// celeryFields are the parameters of crontab(), in its order of positions, with
// their place in a crontab.
var celeryFields = []struct {
	name string
	at   int
}{{"minute", 0}, {"hour", 1}, {"day_of_week", 4}, {"day_of_month", 2}, {"month_of_year", 3}}

func (r *codeReader) celery() {
	if !bytes.Contains(r.src.Data, []byte("celery")) {
		return
	}
	for _, call := range r.text.Calls(celeryCall) {
		fields := [5]string{"*", "*", "*", "*", "*"}
		known := true
		for i, f := range celeryFields {
			arg, ok := call.Get(f.name)
			if !ok {
				arg, ok = call.Pos(i)
			}
			if ok {
				value := strings.ReplaceAll(strings.Trim(arg.Value, `"'`), " ", "")
				known = known && celeryLiteral.MatchString(value)
				fields[f.at] = value
			}
		}
		if known {
			r.add(schedule.Celery, call.Span, strings.Join(fields[:], " "))
		}
	}
}

var celeryLiteral = regexp.MustCompile(`^[0-9*][0-9*,/-]*$|^(?i:(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*[,-]?)+$`)

var laravelCall = regexp.MustCompile(`->(hourly|daily|weekly|monthly|quarterly|yearly|hourlyAt|dailyAt|at|everyMinute|everyTwoMinutes|everyFiveMinutes|everyTenMinutes|everyFifteenMinutes|everyThirtyMinutes|everyTwoHours|everyThreeHours|everySixHours)\(`)

// laravelTimes are the frequencies of Laravel's scheduler without a time.
var laravelTimes = map[string]string{
	"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 0", "monthly": "0 0 1 * *", "quarterly": "0 0 1 1-12/3 *",
	"yearly": "0 0 1 1 *", "everyMinute": "* * * * *", "everyTwoMinutes": "*/2 * * * *", "everyFiveMinutes": "*/5 * * * *",
	"everyTenMinutes": "*/10 * * * *", "everyFifteenMinutes": "*/15 * * * *", "everyThirtyMinutes": "0,30 * * * *",
	"everyTwoHours": "0 */2 * * *", "everyThreeHours": "0 */3 * * *", "everySixHours": "0 */6 * * *",
}

func (r *codeReader) laravel() {
	if !bytes.Contains(r.src.Data, []byte("schedule")) && !bytes.Contains(r.src.Data, []byte("Schedule")) {
		return
	}
	for _, call := range r.text.Calls(laravelCall) {
		name := call.Head[1]
		raw := laravelTimes[name]
		arg, ok := call.Pos(0)
		value := strings.Trim(arg.Value, `"'`)
		switch {
		case name == "hourlyAt" && ok && atoi(value) < 60 && (atoi(value) > 0 || value == "0"):
			raw = fmt.Sprintf("%d * * * *", atoi(value))
		case name == "dailyAt" && ok:
			t, err := time.Parse("15:04", value)
			if err != nil {
				continue // computed at run time
			}
			raw = fmt.Sprintf("%d %d * * *", t.Minute(), t.Hour())
		case raw == "" || ok:
			continue
		}
		r.add(schedule.PHP, lint.Span{Start: call.Span.Start + 2, End: call.Span.End}, raw)
	}
}

// wheneverEvery is whenever's "every :day, at: '4:30 am' do".
var wheneverEvery = regexp.MustCompile(`(?m)^\s*every\s+(?::(hour|day|week|month|year)|1\.(hour|day|week|month|year)|(\d+)\.(minutes|hours))(?:\s*,\s*:?at(?::|\s*=>)\s*['"]([^'"]*)['"])?\s+do\b`)

// wheneverTimes are the starts of whenever's words; all at minute 0.
var wheneverTimes = map[string]string{
	"hour": "0 * * * *", "day": "0 0 * * *", "week": "0 0 * * 0", "month": "0 0 1 * *", "year": "0 0 1 1 *",
}

func (r *codeReader) whenever() {
	for _, m := range wheneverEvery.FindAllSubmatchIndex(r.text.Text, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return string(r.text.Text[m[2*i]:m[2*i+1]])
		}
		raw := wheneverTimes[group(1)+group(2)]
		switch n := atoi(group(3)); {
		case raw != "":
		case group(4) == "minutes" && n > 0 && n < 60:
			raw = fmt.Sprintf("*/%d * * * *", n)
		case group(4) == "hours" && n > 0 && n < 24:
			raw = fmt.Sprintf("0 */%d * * *", n)
		default:
			continue
		}
		if at := group(5); at != "" {
			minute, hour, ok := clockText(at)
			if !ok {
				continue
			}
			fields := strings.Fields(raw)
			fields[0], fields[1] = minute, hour
			raw = strings.Join(fields, " ")
		}
		start := m[0] + bytes.Index(r.text.Text[m[0]:m[1]], []byte("every"))
		r.add(schedule.Vixie, lint.Span{Start: start, End: m[1]}, raw)
	}
}

// clockText reads "4:30 am", "16:30" or "4pm".
func clockText(text string) (minute, hour string, ok bool) {
	text = strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	for _, layout := range []string{"3:04PM", "3PM", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return fmt.Sprint(t.Minute()), fmt.Sprint(t.Hour()), true
		}
	}
	return "", "", false
}
