// Package rule holds the shape of a rule's documentation.
//
// A rule is data: every package that can find something lists its rules, and
// "herdscan explain", the SARIF help and docs/rules.md are all made from
// those lists, so that they can't disagree.
package rule

// Severity says how much a finding matters. The zero value is Note.
type Severity int

// The severities, least first.
const (
	Note Severity = iota
	Warning
	Error
)

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Error:
		return "error"
	default:
		return "note"
	}
}

// A Rule is one thing that herdscan can find, with its documentation.
type Rule struct {
	ID       string   // "HS401": stable for ever
	Name     string   // "expiry-herd": kebab case, for humans and SARIF
	Severity Severity // the usual one; a finding may differ and says why
	Title    string   // one line, no full stop
	Why      string   // why it hurts, in a few sentences
	Decided  string   // how herdscan decides, and what it does not claim
	Before   string   // an example that is found, in its own syntax
	After    string   // the same, mended
	See      []string // IDs of related rules
}
