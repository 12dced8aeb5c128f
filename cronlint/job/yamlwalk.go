package job

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/schedule"
)

// scheduleWords are in every file that scheduleKey or springCron matches.
var scheduleWords = [][]byte{
	[]byte("cron"), []byte("Cron"), []byte("CRON"), []byte("schedule"), []byte("Schedule"), []byte("SCHEDULE"),
}

// mentionsSchedule says quickly that a file is worth a closer look.
func mentionsSchedule(head []byte) bool {
	return slices.ContainsFunc(scheduleWords, func(word []byte) bool { return bytes.Contains(head, word) })
}

// scheduleKey is a key that may hold a schedule.
var scheduleKey = regexp.MustCompile(`(?mi)(?:schedule|cron|crontab|cronExpression|cron-expression)\s*:`)

// cronShape is five fields that can only be a cron schedule.
var cronShape = regexp.MustCompile(`^\s*[0-9*,/-]+\s+[0-9*,/?-]+\s+[0-9*,/?LW-]+\s+[0-9A-Za-z*,/?-]+\s+[0-9A-Za-z*,/?#-]+\s*$`)

func fiveFieldCron(text string) bool {
	if strings.HasPrefix(text, "@") {
		return parses(schedule.Robfig, text)
	}
	return cronShape.MatchString(text)
}

// maxYAMLDepth ends the walk into documents nested by malice.
const maxYAMLDepth = 200

// walkYAML calls visit for each scalar value of a mapping, with the keys that
// lead to it.
func walkYAML(n *yaml.Node, path []string, visit func(path []string, key, value *yaml.Node)) {
	if n == nil || len(path) > maxYAMLDepth {
		return
	}
	for k, v := range pairs(n) {
		at := append(path[:len(path):len(path)], k.Value)
		if v != nil && v.Kind == yaml.ScalarNode {
			visit(at, k, v)
			continue
		}
		walkYAML(noAlias(n, v), at, visit)
	}
	i := 0
	for v := range items(n) {
		walkYAML(noAlias(n, v), append(path[:len(path):len(path)], strconv.Itoa(i)), visit)
		i++
	}
}

// noAlias drops a node that is reached through an alias: it is walked where it
// stands, and aliases can nest without end.
func noAlias(parent, child *yaml.Node) *yaml.Node {
	for _, c := range parent.Content {
		if c.Kind == yaml.AliasNode && c.Alias == child {
			return nil
		}
	}
	return child
}
