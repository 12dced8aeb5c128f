package scan

import "strings"

// An accessCommand is one command that a scan may send.
type accessCommand struct {
	name     string // as in ACL SETUSER: command or command|subcommand
	why      string
	optional bool // the scan does without, and says what it lost
}

// accessCommands lists all of them. The list is complete: a test runs scans under the ACL made from it.
var accessCommands = []accessCommand{
	{"ping", "is the server there, and does the scan slow it down?", true},
	{"info", "version, role, policy, databases, cost of the scan", true},
	{"dbsize", "number of keys, to show progress and to check that all were found", true},
	{"select", "other databases than 0", true},
	{"scan", "names of the keys, page by page", false},
	{"pexpiretime", "absolute expiry of each key (Redis 7.0 and later)", true},
	{"pttl", "remaining life of each key, where PEXPIRETIME is missing", false},
	{"time", "the server's clock, needed with PTTL and where INFO does not tell it", true},
	{"type", "type of the few keys that a finding names", true},
	{"object|idletime", "time since the last access of those keys", true},
	{"object|freq", "access counter of those keys, under an LFU policy", true},
}

var accessCluster = []accessCommand{
	{"cluster|shards", "the shards of a cluster (Redis 7.0 and later)", true},
	{"cluster|slots", "the shards of an older cluster", true},
	{"readonly", "read from replicas", true},
}

// accessFields are sent only where INFO tells that fields of hashes expire. Older servers do not know them.
var accessFields = []accessCommand{
	{"type", "which keys without a TTL are hashes", true},
	{"client|no-touch", "leave idle times and access counters of these hashes alone", true},
	{"hrandfield", "names of up to 16 of a hash's fields (without WITHVALUES)", true},
	{"hpexpiretime", "when these fields expire", true},
}

// aclCommands is the list of +command rules.
func aclCommands(lists ...[]accessCommand) string {
	var b strings.Builder
	for _, list := range lists {
		for _, c := range list {
			b.WriteString(" +" + c.name)
		}
	}
	return b.String()
}

// ACLRules are the arguments of ACL SETUSER that permit all a scan sends to Redis 7.0 or later: key names and
// metadata, no values, no writing.
func ACLRules() []string {
	return append([]string{"on", "resetkeys", "%R~*", "resetchannels", "-@all"},
		strings.Fields(aclCommands(accessCommands, accessCluster))...)
}

// ExplainAccess lists, for the reader, each command that a scan sends to a Redis, why, and the ACL line that permits
// exactly these.
func ExplainAccess() string {
	var b strings.Builder
	b.WriteString("Commands sent to Redis. None writes, none reads a value:\n")
	for _, list := range [][]accessCommand{accessCommands, accessCluster} {
		writeAccess(&b, list)
	}
	b.WriteString("Where INFO tells that fields of hashes expire (Redis 7.4, Valkey 9), also:\n")
	writeAccess(&b, accessFields)
	b.WriteString("\nOf PEXPIRETIME and PTTL one is enough. On connecting, HELLO or AUTH are sent as well; every user may use them.\n")
	b.WriteString("\nA user who may do no more (Redis 7.0 and later):\n")
	b.WriteString("  ACL SETUSER herdscan on >PASSWORD resetkeys %R~* resetchannels -@all" + aclCommands(accessCommands) + "\n")
	b.WriteString("in a cluster also:\n  " + strings.TrimSpace(aclCommands(accessCluster)) + "\n")
	b.WriteString("for fields of hashes also:\n  " + strings.TrimSpace(aclCommands(accessFields)) + "\n")
	b.WriteString("Redis 6 has no %R~* and no |subcommands: write ~* instead of %R~*, +object and +cluster.\n")
	b.WriteString("Behind Sentinel, on each sentinel:\n")
	b.WriteString("  ACL SETUSER herdscan on >PASSWORD -@all +ping +sentinel|get-master-addr-by-name +sentinel|replicas\n")
	b.WriteString("\nSide effects: each expiry read counts as a keyspace hit (the scan reports how many); SCAN on a primary\n")
	b.WriteString("deletes expired keys that it meets, as any access does. Neither changes idle times or access counters.\n")
	return b.String()
}

func writeAccess(b *strings.Builder, list []accessCommand) {
	for _, c := range list {
		need := "needed  "
		if c.optional {
			need = "optional"
		}
		name := strings.ToUpper(strings.ReplaceAll(c.name, "|", " "))
		b.WriteString("  " + name + strings.Repeat(" ", 17-len(name)) + need + "  " + c.why + "\n")
	}
}
