package scan

import (
	"fmt"
	"strings"
)

// writeCommands lists what a change of expiries sends besides the commands of a scan. The list is complete: a test
// changes expiries under the ACL made from it.
var writeCommands = []accessCommand{
	{"pexpireat", "sets the new expiry", false},
	{"eval", "compares before it sets, in one step", true},
	{"watch", "the same where scripts are refused", true},
	{"unwatch", "", true},
	{"multi", "", true},
	{"exec", "", true},
}

// KeyGlob is the glob of Redis for the keys of a pattern: its stars stay, all else stands for itself.
func KeyGlob(pattern string) string {
	var b strings.Builder
	for _, c := range []byte(pattern) {
		switch {
		case c == '?' || c == '[' || c == ']' || c == '\\' || c == '^' || c <= ' ' || c == 0x7f:
			b.WriteByte('?') // an ACL rule holds neither spaces nor control characters
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// WriteACLRules are the arguments of ACL SETUSER that permit a scan of all keys, and changes of the expiries of keys
// that match glob, on Redis 7.0 or later.
func WriteACLRules(glob string) []string {
	return append([]string{"on", "resetkeys", "%R~*", "~" + glob, "resetchannels", "-@all"},
		strings.Fields(aclCommands(accessCommands, accessCluster, writeCommands))...)
}

// WriteACL is the line that makes such a user.
func WriteACL(glob string) string {
	return "ACL SETUSER herdscan-spread on >PASSWORD " + strings.Join(WriteACLRules(glob)[1:], " ")
}

// ExplainWriteAccess lists, for the reader, each command that a change of expiries sends to a Redis, why, and the ACL
// line that permits exactly these for the keys of glob.
func ExplainWriteAccess(glob string) string {
	var b strings.Builder
	b.WriteString("Without --yes: those of herdscan ttl --explain-access, nothing else. With --yes also:\n")
	for _, c := range writeCommands {
		why := c.why
		if why == "" {
			why = "goes with WATCH"
		}
		fmt.Fprintf(&b, "  %-17s%s\n", strings.ToUpper(c.name), why)
	}
	b.WriteString("\nEVAL, or WATCH, MULTI and EXEC: one of the two ways is enough. The whole script:\n")
	for line := range strings.SplitSeq(setScript, "\n") {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("Before Redis 7.0 it computes the expiry from TIME and PTTL within one millisecond of the server's clock.\n")
	b.WriteString("\nA user who may do no more (Redis 7.0 and later):\n  " + WriteACL(glob) + "\n")
	b.WriteString("Redis 6 has no %R~* and no |subcommands: write ~* instead of both key rules, +object and +cluster.\n")
	return b.String()
}
