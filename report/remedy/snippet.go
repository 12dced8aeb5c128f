package remedy

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/herdscan/herdscan/comb"
)

// Langs returns the languages that code comes in.
func Langs() []string { return []string{"go", "python", "php", "java", "js", "ruby"} }

// snippets has a template for each language and each remedy that has code:
// LANG/NAME.tmpl.
//
//go:embed snippets
var snippets embed.FS

// numbers are what a template may take from a case, in seconds unless their
// names say otherwise.
type numbers struct {
	TTL, Low, High, Span      int // of a value; Span is High - Low
	Lease                     int // of a lock, and the longest load
	Bound                     int // how long after its expiry a value may be served
	Rate                      int // keys per second of a warm-up
	NegativeLow, NegativeHigh int // of an absence
	Window                    int // of a claim
	BaseMS, CapMS             int // of pauses between attempts, in milliseconds
	Attempts                  int
}

func numbersOf(c Case) numbers {
	j, _ := c.jitterOf()
	if j.Fraction == 0 {
		j = comb.Jitter{Fraction: usualSpread}
	}
	lo, hi := c.ttlRange(j)
	w := c.retries()
	n := numbers{
		TTL: whole(c.ttl()), Low: whole(lo), High: whole(hi),
		Lease: whole(c.lease()), Bound: whole(c.bound()), Rate: int(c.warmRate()),
		NegativeLow: whole(negativeLow), NegativeHigh: whole(negativeHigh), Window: whole(c.window()),
		BaseMS: int(w.Pause.Milliseconds()), CapMS: int(w.Cap.Milliseconds()), Attempts: attemptsOf(w),
	}
	n.Span = n.High - n.Low
	return n
}

// whole rounds to seconds, at least one.
func whole(d time.Duration) int { return max(int(d.Round(time.Second)/time.Second), 1) }

// snippet writes a remedy in the language of the case. Both are empty when no
// language is asked for or the remedy has no code.
func snippet(c Case, name Name) (lang, code string) {
	text, err := snippets.ReadFile(fmt.Sprintf("snippets/%s/%s.tmpl", c.Lang, name))
	if c.Lang == "" || err != nil {
		return "", ""
	}
	code = fill(string(text), numbersOf(c))
	if c.TTL <= 0 && (strings.Contains(string(text), ".TTL}") || strings.Contains(string(text), ".Low}")) {
		code = fmt.Sprintf("%s the TTL is not known: %d s stands for it\n", comment(c.Lang), whole(c.ttl())) + code
	}
	return c.Lang, code
}

// fill puts numbers into a template. Those of this package parse: a test fills
// all of them.
func fill(text string, n numbers) string {
	var b strings.Builder
	if err := template.Must(template.New("snippet").Parse(text)).Execute(&b, n); err != nil {
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}

// comment begins a comment in a language.
func comment(lang string) string {
	if lang == "python" || lang == "ruby" {
		return "#"
	}
	return "//"
}
