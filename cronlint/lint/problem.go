package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/herdscan/herdscan/comb/rule"
)

// A Location is a place in a file. Line and Col count from 1, Col and EndCol
// in code points; EndCol is the column behind the last one marked. Line 0 is
// the file as a whole.
type Location struct {
	File   string
	Line   int
	Col    int
	EndCol int
	Note   string // why it is related; empty for the problem's own place
}

func (l Location) String() string {
	switch {
	case l.Line == 0:
		return l.File
	case l.Col == 0:
		return l.File + ":" + strconv.Itoa(l.Line)
	}
	return fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Col)
}

// An Edit replaces bytes of one file and touches nothing else.
type Edit struct {
	File string
	Span Span   // the bytes replaced
	New  string // the bytes instead
	Text string // the whole mended line or block, to print or to paste
	Safe bool   // false: may change what a human meant; only applied when asked for
	Why  string // for an unsafe edit, why it is unsafe

	// With are edits that belong to this one: the other jobs of a collision.
	With []Edit
}

// A Problem is one finding.
type Problem struct {
	Rule     *rule.Rule
	Severity rule.Severity // the rule's own unless the check says otherwise
	Location               // File, Line, Col, EndCol
	Subject  string        // what it is about: a job, "resilience4j.retry default", a location block
	Message  string        // one sentence without a full stop
	Advice   string        // the fix as text to paste, in the file's own syntax; "" if none
	Effect   Effect        // what the fix will do
	Fix      *Edit         // nil when herdscan can't or should not write it
	Related  []Location    // other places that take part
	Identity string        // stable name of the subject; never a line number
	Count    int           // jobs or places it is about, where Related may name fewer; 0: one and those of Related

	// Key is what else tells this problem from others of the same rule and
	// identity: the schedule or the value. It goes into the fingerprint.
	Key string

	Fingerprint string       // set by the linter, see Fingerprints
	Suppressed  *Suppression // not nil: a comment or the baseline accepts it
}

// An Effect is what a fix will do. The zero value: it is not known.
type Effect struct {
	Text          string  // "busiest minute 14 → 2 starts"
	Unit          string  // what Before and After count: "starts/min"; "" when Text has no numbers
	Before, After float64 // at the busiest moment
}

// A Suppression says who accepted a problem.
type Suppression struct {
	Kind   string // "ignore", "snooze" or "baseline"
	Reason string
	Line   int // of the comment; 0 for the baseline
}

// NewProblem makes a problem at a span, with the rule's usual severity.
func NewProblem(r *rule.Rule, f *File, s Span, subject, message string) Problem {
	return Problem{
		Rule: r, Severity: r.Severity, Location: f.Location(s),
		Subject: subject, Identity: subject, Message: message,
	}
}

// Active says whether the problem still counts: no comment and no baseline
// accepts it.
func (p *Problem) Active() bool { return p.Suppressed == nil }

// SetFingerprints gives each problem its fingerprint: a hash of rule, file,
// identity and key. No line number goes in, so that a line added above moves
// nothing. Equal problems are numbered in their order.
func SetFingerprints(ps []Problem) {
	seen := make(map[string]int)
	for i := range ps {
		p := &ps[i]
		text := strings.Join([]string{p.Rule.ID, p.File, p.Identity, p.Key}, "\x00")
		n := seen[text]
		seen[text]++
		if n > 0 {
			text += "\x00" + strconv.Itoa(n)
		}
		sum := sha256.Sum256([]byte(text))
		p.Fingerprint = hex.EncodeToString(sum[:12])
	}
}

// An Error is an input that could not be read or understood, in whole or from
// a line on.
type Error struct {
	File string
	Line int // 0 when the whole file is meant
	Err  error
}

func (e *Error) Error() string {
	return Location{File: e.File, Line: e.Line}.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
