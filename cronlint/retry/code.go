package retry

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/code"
	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// codeFormat reads retry policies from literals in source code. It is asked
// for (OptIn "code"): what a program computes is out of sight.
type codeFormat struct{}

func (codeFormat) Name() string { return "code-retry" }

func (codeFormat) OptIn() string { return "code" }

func (codeFormat) Match(name string, head []byte) bool { return len(libraries(name, head)) > 0 }

// A library is one retry library in one language.
type library struct {
	lang  code.Language
	mark  []byte // what a file that uses it contains
	find  func(s *code.Source, add func(c code.Call, subject string, p *Policy))
	other []byte // must be there, too; nil: nothing
}

// libraryTable is all that is known. Celery, tenacity, ... : one row each.
func libraryTable() []library {
	return []library{
		{lang: code.Python, mark: []byte("celery"), find: celery},
		{lang: code.Python, mark: []byte("tenacity"), find: tenacity},
		{lang: code.Python, mark: []byte("Retry("), find: urllib3, other: []byte("urllib3")},
		{lang: code.Script, mark: []byte("p-retry"), find: pRetry},
		{lang: code.Script, mark: []byte("async-retry"), find: asyncRetry},
		{lang: code.Script, mark: []byte("retry.operation"), find: retryOperation},
		{lang: code.Script, mark: []byte("axios-retry"), find: axiosRetry},
		{lang: code.Script, mark: []byte("bullmq"), find: bullMQ},
		{lang: code.Go, mark: []byte("hashicorp/go-retryablehttp"), find: retryableHTTP},
		{lang: code.Go, mark: []byte("cenkalti/backoff"), find: cenkalti},
		{lang: code.Java, mark: []byte("@Retryable"), find: springRetryable},
		{lang: code.Java, mark: []byte("RetryConfig"), find: resilience4jCode, other: []byte("resilience4j")},
		{lang: code.PHP, mark: []byte("ShouldQueue"), find: laravelJob},
		{lang: code.Ruby, mark: []byte("retry_on"), find: activeJob},
		{lang: code.CSharp, mark: []byte("RetryStrategyOptions"), find: polly},
	}
}

func libraries(name string, data []byte) []library {
	lang := code.Of(name)
	if lang == code.None || code.Test(name) {
		return nil
	}
	var out []library
	for _, l := range libraryTable() {
		if l.lang == lang && bytes.Contains(data, l.mark) && bytes.Contains(data, l.other) {
			out = append(out, l)
		}
	}
	return out
}

func (codeFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	out := new(lint.Parsed)
	src := code.Read(f)
	for _, l := range libraries(f.Name, f.Data) {
		l.find(src, func(c code.Call, subject string, p *Policy) {
			out.Settings = append(out.Settings, &lint.Setting{
				File: f, Format: "code-retry", Span: c.Span, Subject: subject, Identity: subject, Value: p,
			})
		})
	}
	return out, nil
}

var number = regexp.MustCompile(`^-?\d[\d_]*(?:\.\d+)?$`)

// literal returns an argument's number.
func literal(a code.Arg, ok bool) (float64, bool) {
	if !ok || !number.MatchString(a.Value) {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(a.Value, "_", ""), 64)
	return v, err == nil
}

// wait turns a literal into a duration; 0 when it is none or out of range.
func wait(a code.Arg, ok bool, unit time.Duration) time.Duration {
	v, is := literal(a, ok)
	if !is || v < 0 || v > 1e9 {
		return 0
	}
	return time.Duration(v * float64(unit))
}

// truth returns an argument's literal truth.
func truth(a code.Arg, ok bool) (value, known bool) {
	switch {
	case !ok:
		return false, false
	case strings.EqualFold(a.Value, "true"):
		return true, true
	case strings.EqualFold(a.Value, "false"), a.Value == "None", a.Value == "0":
		return false, true
	}
	return false, false
}

// at returns where an argument is written; the zero Span when it is not.
func at(a code.Arg, ok bool) lint.Span {
	if !ok {
		return lint.Span{}
	}
	return a.Span
}

// random says whether an expression draws something.
func random(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "random") || strings.Contains(text, "jitter") || strings.Contains(text, "rand(")
}

var goDuration = regexp.MustCompile(`^(?:(\d+)\s*\*\s*)?time\.(Second|Millisecond|Minute|Hour)(?:\s*\*\s*(\d+))?$`)

// goLiteral reads "5 * time.Second".
func goLiteral(text string) (time.Duration, bool) {
	m := goDuration.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, false
	}
	unit := map[string]string{"Second": "s", "Millisecond": "ms", "Minute": "m", "Hour": "h"}[m[2]]
	count := m[1] + m[3]
	if m[1] != "" && m[3] != "" {
		return 0, false
	}
	if count == "" {
		count = "1"
	}
	return conf.ParseDuration(count+unit, time.Second)
}
