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

// snippets has a template for each language and remedy that has code:
// LANG/NAME.tmpl.
//
//go:embed snippets
var snippets embed.FS

// numbers are what a template may take from a case. Seconds, unless their names
// say otherwise.
type numbers struct {
	TTL, Low, High, Span int // Span: High - Low
	Lease                int
	Bound                int // how long after its expiry a value may be served
	Rate                 int // keys per second of a warm-up
	NegativeLow          int
	NegativeHigh         int
	Window               int // of a claim
	BaseMS, CapMS        int // of pauses, in milliseconds
	Attempts             int
}

func numbersOf(c Case) numbers {
	j, _ := c.jitterOf()
	if j.Fraction == 0 {
		j = comb.Jitter{Fraction: usualSpread}
	}
	lo, hi := j.Range(c.ttl())
	w := c.retries()
	return numbers{
		TTL: whole(c.ttl()), Low: whole(lo), High: max(whole(hi), whole(lo)+1), Span: max(whole(hi)-whole(lo), 1),
		Lease: whole(c.lease()), Bound: whole(c.bound()), Rate: int(c.warmRate()),
		NegativeLow: whole(negativeLow), NegativeHigh: whole(negativeHigh), Window: whole(c.window()),
		BaseMS: int(w.Pause.Milliseconds()), CapMS: int(w.Cap.Milliseconds()), Attempts: attempts,
	}
}

// whole rounds to seconds, at least one.
func whole(d time.Duration) int { return max(int(d.Round(time.Second)/time.Second), 1) }

// snippet writes a remedy in the language of the case. Both are empty when
// there is no code for it.
func snippet(c Case, name Name) (lang, code string) {
	if c.Lang == "" {
		return "", ""
	}
	text, err := snippets.ReadFile(fmt.Sprintf("snippets/%s/%s.tmpl", c.Lang, name))
	if err != nil {
		return "", "" // no code for this remedy
	}
	var b strings.Builder
	t, err := template.New("").Parse(string(text))
	if err != nil {
		return "", ""
	}
	if err := t.Execute(&b, numbersOf(c)); err != nil {
		return "", ""
	}
	return c.Lang, strings.TrimRight(b.String(), "\n")
}
