package watch

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// A Stage is what an Event tells about its herd.
type Stage string

// The stages of a herd, in their order. A Notice is about no herd: a server
// that was lost, a permission that lacks.
const (
	Due    Stage = "due"
	Begins Stage = "begins"
	Ended  Stage = "ended"
	Notice Stage = "notice"
)

// An Event is one thing to tell. Subject and Text hold untrusted text.
type Event struct {
	At       time.Time
	Stage    Stage
	Rule     string // "" for a Notice
	Severity rule.Severity
	Subject  string        // a pattern, a key, a statement, or a server
	Text     string        // one sentence without the subject
	Tooth    time.Time     // when the tooth begins; zero if that means nothing
	Count    uint64        // keys, misses or statements
	Unit     string        // "keys", "misses", "queries"
	Width    time.Duration // of the tooth, as far as it is known
}

// A Herd is what the events about one subject add up to.
type Herd struct {
	Rule     string
	Severity rule.Severity // the worst
	Subject  string
	Stage    Stage // the latest
	Text     string
	First    time.Time // first told
	Last     time.Time
	Teeth    []Fallen // the last of them
	Fell     int      // how many teeth fell, those left out of Teeth included
	Unit     string
}

// Fallen is a tooth that fell while somebody watched.
type Fallen struct {
	At    time.Time
	Width time.Duration
	Count uint64
}

// count writes a number with its unit in the plural; estimates say so.
func count(n uint64, unit string, estimated bool) string {
	text := thousands(n) + " " + unit
	if n == 1 {
		text = "1 " + strings.TrimSuffix(unit, "s")
	}
	if estimated {
		text = "about " + text
	}
	return text
}

// thousands separates thousands by commas.
func thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Span writes a duration to the second ("3m12s"), below ten seconds to a tenth.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + "s"
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// rate writes a number a second.
func rate(x float64) string {
	if x >= 10 || x == math.Trunc(x) {
		return thousands(uint64(math.Round(x)))
	}
	return fmt.Sprintf("%.1f", x)
}
