package retry

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// haproxyFormat reads the health checks of HAProxy configuration files.
type haproxyFormat struct{}

func (haproxyFormat) Name() string { return "haproxy" }

var haproxySection = regexp.MustCompile(`(?m)^\s*(backend|listen)\s+\S`)

func (haproxyFormat) Match(name string, head []byte) bool {
	switch path.Ext(name) {
	case ".cfg", ".conf", ".j2", ".tmpl":
	default:
		return false
	}
	return haproxySection.Match(head) && bytes.Contains(head, []byte("server"))
}

func (haproxyFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	h := haproxy{found: new(HealthChecks)}
	for n := 1; n <= f.Lines(); n++ {
		span := f.LineSpan(n)
		line := f.Text(span)
		words := haproxyWords(line)
		if len(words) == 0 {
			continue
		}
		start := span.Start + strings.Index(line, words[0])
		h.line(words, lint.Span{Start: start, End: span.Start + len(strings.TrimRight(line, " \t"))})
	}
	if h.found.Servers == 0 && !h.found.Spread {
		return new(lint.Parsed), nil
	}
	return &lint.Parsed{Settings: []*lint.Setting{{
		File: f, Format: "haproxy", Span: h.found.GlobalAt, Subject: "HAProxy health checks",
		Identity: "haproxy checks", Value: h.found,
	}}}, nil
}

// haproxyWords splits a line, without its comment. Quotes and escapes matter
// little here: the words that count have none.
func haproxyWords(line string) []string {
	if i := strings.IndexByte(line, '#'); i >= 0 && (i == 0 || line[i-1] != '\\') {
		line = line[:i]
	}
	return strings.Fields(line)
}

// haproxy is the state between the lines.
type haproxy struct {
	found   *HealthChecks
	section string
	checked bool // default-server of this section checks
	all     bool // default-server of the defaults section checks
}

func (h *haproxy) line(words []string, at lint.Span) {
	switch words[0] {
	case "global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "mailers",
		"program", "cache", "http-errors", "ring", "fcgi-app":
		h.section, h.checked = words[0], h.all
		if words[0] == "global" {
			h.found.Global, h.found.GlobalAt = true, at
		}
	case "spread-checks":
		if len(words) > 1 && words[1] != "0" {
			h.found.Spread = true
		}
	case "default-server":
		h.checked = checks(words, h.checked)
		if h.section == "defaults" {
			h.all = h.checked
		}
	case "server":
		if len(words) > 2 && checks(words, h.checked) {
			h.found.Servers++
		}
	case "server-template":
		if len(words) > 3 && checks(words, h.checked) {
			h.found.Servers += templateCount(words[2])
		}
	}
}

// checks says whether a server line switches health checks on.
func checks(words []string, def bool) bool {
	if slices.Contains(words, "no-check") {
		return false
	}
	return def || slices.Contains(words, "check")
}

// templateCount reads "5" or "1-5".
func templateCount(s string) int {
	low, high, found := strings.Cut(s, "-")
	a, errA := strconv.Atoi(low)
	if !found {
		if errA != nil || a < 0 || a > 1e6 {
			return 1
		}
		return a
	}
	b, errB := strconv.Atoi(high)
	if errA != nil || errB != nil || b < a || b-a > 1e6 {
		return 1
	}
	return b - a + 1
}
