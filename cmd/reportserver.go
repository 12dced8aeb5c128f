package cmd

import (
	"bufio"
	"os"
	"regexp"
	"strconv"

	"github.com/herdscan/herdscan/report"
)

// serverSettings are what a saved INFO or CONFIG GET of a Redis, or its
// redis.conf, says of evicting keys. A dump does not tell it.
type serverSettings struct {
	policy    string
	maxMemory uint64 // bytes; 0: no limit
}

// settingLine is "maxmemory_policy:allkeys-lru" of INFO, or "maxmemory-policy
// allkeys-lru" of a configuration.
var settingLine = regexp.MustCompile(`^(maxmemory(?:[-_]policy)?)[: ]\s*"?([a-z0-9-]+)"?\s*$`)

// readServerSettings reads the settings in a file; ok is false if it has no
// policy.
func readServerSettings(path string) (s serverSettings, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return s, false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan() && n < 5000; n++ {
		m := settingLine.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case m[1] == "maxmemory":
			s.maxMemory, _ = strconv.ParseUint(m[2], 10, 64) // "64mb" is a limit that is not known
		default:
			s.policy = m[2]
		}
	}
	return s, s.policy != ""
}

// about takes what is known of the server of the dumps.
func (in *reportInputs) about(path string) {
	s, _ := readServerSettings(path)
	in.coverage = append(in.coverage, report.Coverage{
		Source: sourceName(path), Kind: "redis-settings", Unit: "files", Total: 1, Complete: true, Errors: []string{},
		Text: "maxmemory-policy " + s.policy + ", taken for the dumps and key lists",
	})
	if in.server.policy != "" && in.server.policy != s.policy {
		in.coverage[len(in.coverage)-1].Text = "maxmemory-policy " + s.policy + ", not used: another file says " + in.server.policy
		return
	}
	in.server.policy, in.server.maxMemory = s.policy, max(in.server.maxMemory, s.maxMemory)
}
