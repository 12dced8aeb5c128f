package cache

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// headerFormat reads Cache-Control values that server configurations send:
// nginx, Apache, Caddy, lighttpd, Netlify and Vercel.
type headerFormat struct{}

func (headerFormat) Name() string { return "cache-control" }

func (headerFormat) Match(name string, head []byte) bool {
	return sendsHeaders(name) && bytes.Contains(bytes.ToLower(head), []byte("cache-control"))
}

func sendsHeaders(name string) bool {
	switch base := path.Base(name); base {
	case ".htaccess", "Caddyfile", "_headers", "netlify.toml", "vercel.json", "httpd.conf", "apache2.conf", "lighttpd.conf":
		return true
	default:
		return nginxName(name) || strings.HasPrefix(base, "Caddyfile")
	}
}

// A CacheControl is one header that a server adds, the Value of a lint.Setting.
type CacheControl struct {
	Text   string
	MaxAge time.Duration // the larger of max-age and s-maxage
	Stale  bool          // stale-while-revalidate is there
	Final  bool          // immutable, private, no-store, ...: stale answers make no sense
	At     lint.Span
}

var (
	// A name, what the format puts between, and a value that ends where the
	// quotes or the line do.
	cacheControl = regexp.MustCompile(`(?i)cache-control["']?(?:\s*,\s*"value"\s*:|[\s:=,]|=>)*\s*["']?([^"'\n;}]*max-?age\s*=\s*\d+[^"'\n;}]*)`)
	maxAge       = regexp.MustCompile(`(?i)(?:s-max|max-)age\s*=\s*(\d+)`)
	headerFinal  = regexp.MustCompile(`(?i)\b(immutable|private|no-store|no-cache|must-revalidate|proxy-revalidate)\b`)
)

func (headerFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	out := new(lint.Parsed)
	for _, m := range cacheControl.FindAllSubmatchIndex(f.Data, -1) {
		if commented(f, m[0]) {
			continue
		}
		text := strings.TrimSpace(string(f.Data[m[2]:m[3]]))
		c := &CacheControl{
			Text: text, At: lint.Span{Start: m[2], End: m[2] + len(strings.TrimRight(string(f.Data[m[2]:m[3]]), " \t\r"))},
			Stale: strings.Contains(strings.ToLower(text), "stale-while-revalidate"), Final: headerFinal.MatchString(text),
		}
		for _, age := range maxAge.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.ParseInt(age[1], 10, 32); err == nil {
				c.MaxAge = max(c.MaxAge, time.Duration(n)*time.Second)
			}
		}
		out.Settings = append(out.Settings, &lint.Setting{
			File: f, Format: "cache-control", Span: c.At, Subject: "Cache-Control", Identity: "cache-control " + text, Value: c,
		})
	}
	return out, nil
}

// commented says whether the line of a byte is a comment.
func commented(f *lint.File, at int) bool {
	line, _ := f.Position(at)
	span := f.LineSpan(line)
	span.End = min(span.End, span.Start+200) // enough of a line that may be a whole file
	text := strings.TrimSpace(f.Text(span))
	return strings.HasPrefix(text, "#") || strings.HasPrefix(text, "//") || strings.HasPrefix(text, ";")
}
