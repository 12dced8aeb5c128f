package timing

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/herdscan/herdscan/cronlint/job"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// A script is what the text of a command tells.
type script struct {
	random bool          // it waits a random time, or picks its time by the machine
	wait   time.Duration // the longest random wait, where it can be read; else 0
	fixed  time.Duration // a constant sleep at its beginning
	twin   bool          // it does nothing where systemd runs: a timer has taken over
	lock   bool          // it takes a lock, so that it can't overlap itself
	tick   bool          // it is the minute tick of a scheduler of its own
}

var (
	randomWait = regexp.MustCompile(`\bRANDOM\b|\bshuf\b|\bsrand\b|\brand\b|\brandom\b|fqdn_rand|\bjot\s+-r|--?splay|/dev/u?random`)
	systemdDir = regexp.MustCompile(`-[de]\s+/run/systemd/system\b`)
	lockTaken  = regexp.MustCompile(`\b(?:flock|lockf|lckdo|setlock|dotlockfile|run-one|solo|with-lock|lockrun)\b`)
	tickRunner = regexp.MustCompile(`schedule:run|schedule:work|wp-cron\.php|wp\s+cron\s+event\s+run|\bdrush\b.*\bcron\b|cron\.php|runcrons|magento\s+cron:run|cron:run`)
	leadSleep  = regexp.MustCompile(`^\s*(?:/bin/|/usr/bin/)?sleep\s+(\d+)([smhd]?)\s*(?:;|&&)`)
)

func readScript(e *lint.Entry) script {
	c := e.Command
	s := script{
		random: has(c, randomWords) && randomWait.MatchString(c), lock: has(c, lockWords) && lockTaken.MatchString(c),
		tick: has(c, tickWords) && tickRunner.MatchString(c),
	}
	if _, ok := e.Detail.(*job.CrontabJob); ok {
		s.twin = strings.Contains(c, "/run/systemd/system") && systemdDir.MatchString(c)
		if !strings.Contains(c, "sleep") {
			return s
		}
		s.fixed = constantSleep(c)
		s.wait = longestWait(c)
	}
	return s
}

// The words without which the expressions above can't match. Most commands have
// none, and looking for words is quick.
var (
	randomWords = []string{"RANDOM", "rand", "shuf", "jot", "splay"}
	lockWords   = []string{"lock", "lckdo", "run-one", "solo"}
	tickWords   = []string{"schedule:", "cron"}
)

func has(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

func constantSleep(command string) time.Duration {
	m := leadSleep.FindStringSubmatch(command)
	if m == nil {
		return 0
	}
	return sleepTime(m[1], m[2])
}

func sleepTime(number, unit string) time.Duration {
	n, err := strconv.Atoi(number)
	if err != nil || n > 1_000_000 {
		return 0
	}
	scale := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return time.Duration(n) * scale[unit]
}

var (
	moduloWait = regexp.MustCompile(`sleep\s+\$(?:\(\(|\[)[^)\]]*RANDOM\s*\\?%\s*(\d+)[^)\]]*\)?\s*(?:\+\s*\d+\s*)?(?:\)\)|\])([smhd]?)`)
	shufWait   = regexp.MustCompile(`sleep\s+["']?(?:\$\(|` + "`" + `)\s*shuf\s+(?:-n\s*1\s+)?-i\s*\d+-(\d+)[^)` + "`" + `]*(?:\)|` + "`" + `)["']?([smhd]?)`)
	perlWait   = regexp.MustCompile(`(?:perl|python3?)\s.*sleep\s*\(?\s*(?:int\s*\(?\s*)?rand(?:om)?\s*\(?\s*(\d+)`)
)

// longestWait is the greatest random sleep that the usual idioms can give.
func longestWait(command string) time.Duration {
	for _, re := range []*regexp.Regexp{moduloWait, shufWait} {
		if m := re.FindStringSubmatch(command); m != nil {
			return sleepTime(m[1], m[2])
		}
	}
	if m := perlWait.FindStringSubmatch(command); m != nil {
		return sleepTime(m[1], "")
	}
	return 0
}

// percent returns the offset of the first % that cron will cut the command at,
// or -1. A % after a backslash stays.
func percent(command string) int {
	for i := 0; i < len(command); i++ {
		switch command[i] {
		case '\\':
			i++
		case '%':
			return i
		}
	}
	return -1
}

// unescaped is the command as the shell sees it if every % is escaped.
func unescaped(command string) string { return strings.ReplaceAll(command, `\%`, "%") }

// complete reports whether text is a whole shell command.
func complete(text string) bool {
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	return err == nil
}

// expandsRandom reports whether the shell that runs the command would itself
// expand $RANDOM: not inside single quotes, which go to another program.
func expandsRandom(command string) bool {
	if !strings.Contains(command, "RANDOM") {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return true
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			found = found || n.Param != nil && n.Param.Value == "RANDOM"
		case *syntax.ArithmExp:
			syntax.Walk(n.X, func(x syntax.Node) bool {
				if lit, ok := x.(*syntax.Lit); ok && lit.Value == "RANDOM" {
					found = true
				}
				return true
			})
		}
		return !found
	})
	return found
}
