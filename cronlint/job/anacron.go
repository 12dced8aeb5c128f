package job

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// anacronLine is a job of an anacrontab: period, delay, identifier, command.
var anacronLine = regexp.MustCompile(`(?m)^[ \t]*(\d+|@(?:daily|weekly|monthly|yearly|annually))[ \t]+(\d+)[ \t]+([^ \t/]\S*)[ \t]+(\S.*)$`)

type anacrontabFormat struct{}

func (anacrontabFormat) Name() string { return "anacrontab" }

func (anacrontabFormat) Match(path string, head []byte) bool {
	return strings.Contains(strings.ToLower(base(path)), "anacrontab") && anacronLine.Match(head)
}

// An AnacronJob is the Detail of an entry of an anacrontab.
type AnacronJob struct {
	ID    string
	Delay int // minutes after anacron has started
}

func (anacrontabFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, l := range readLines(src) {
		m := anacronLine.FindStringSubmatchIndex(l.text)
		if m == nil {
			continue
		}
		group := func(i int) lint.Span {
			return lint.Span{Start: l.span.Start + m[2*i], End: l.span.Start + m[2*i+1]}
		}
		e := &lint.Entry{
			File: src, Format: "anacrontab", Span: l.span, Field: group(1), Dialect: schedule.Vixie,
			Raw: src.Text(group(1)), Command: src.Text(group(4)), Group: GroupHost,
		}
		e.Schedule = &schedule.Schedule{Text: e.Raw, Interval: anacronPeriod(e.Raw)}
		id := src.Text(group(3))
		e.Identity = identity(e.Dialect, "anacron", id)
		e.Detail = &AnacronJob{ID: id, Delay: atoi(src.Text(group(2)))}
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

const day = 24 * time.Hour

// anacronPeriod is the time between two runs; anacron counts it from the last
// run, so no wall clock is involved.
func anacronPeriod(text string) time.Duration {
	switch text {
	case "@daily":
		return day
	case "@weekly":
		return 7 * day
	case "@monthly":
		return 30 * day
	case "@yearly", "@annually":
		return 365 * day
	}
	return time.Duration(max(1, min(atoi(text), 100_000))) * day
}

// atoi is the number in a text of digits; 0 when it is none or too large.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
