package job

import (
	"regexp"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/cronlint/schedule"
)

type crontabKind uint8

const (
	notCrontab crontabKind = iota
	maybeCrontab
	surelyCrontab
)

// notTables are endings of files whose names may hold "cron" but that are
// something else.
var notTables = []string{
	".yaml", ".yml", ".json", ".jsonc", ".toml", ".py", ".rb", ".php", ".js", ".ts", ".go", ".java", ".kt", ".cs", ".rs",
	".c", ".h", ".sh", ".md", ".rst", ".html", ".xml", ".tf", ".hcl", ".nomad", ".timer", ".service", ".properties",
	".adoc", ".log", ".1", ".5", ".8", ".po", ".spec",
}

// crontabPath judges a file by its path alone.
func crontabPath(path string) crontabKind {
	name := strings.ToLower(base(path))
	if slices.ContainsFunc(notTables, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return notCrontab
	}
	if strings.Contains(name, "anacron") {
		return notCrontab
	}
	switch {
	case pathHas(path, "cron.d"), pathHas(path, "crontabs"), pathHas(path, "spool/cron"),
		name == "crontab", strings.HasSuffix(name, ".crontab"), strings.HasSuffix(name, ".cron"),
		strings.HasPrefix(name, "crontab."), strings.HasPrefix(name, "crontab-"):
		return surelyCrontab
	case strings.Contains(strings.ToLower(path), "cron"):
		return maybeCrontab
	}
	return notCrontab
}

// jobLine is a line that can only be a job of a crontab.
var jobLine = regexp.MustCompile(`(?m)^[ \t]*-?(?:` +
	`@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly|every[ \t]+\S+)` +
	`|[0-9*,/~?-]+[ \t]+[0-9*,/~?-]+[ \t]+[0-9*,/~?LW-]+[ \t]+[0-9A-Za-z*,/~-]+[ \t]+[0-9A-Za-z*,/#?~-]+` +
	`)[ \t]+\S`)

// crontabContent reports whether text reads like a crontab. Where the path
// leaves no doubt, a table without a job will do as long as it holds nothing else.
func crontabContent(text string, sure bool) bool {
	if jobLine.MatchString(text) {
		return !strings.HasPrefix(text, "#!") && !jsonStart.MatchString(text)
	}
	if !sure {
		return false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, _, ok := assignment(line); line != "" && line[0] != '#' && !ok {
			return false
		}
	}
	return true
}

// jsonStart is the beginning of a JSON file; {{ and {% begin a template.
var jsonStart = regexp.MustCompile(`^\s*(?:\{\s*["}]|\[\s*["{\[])`)

// extraField is a sixth schedule field, which only supercronic has.
var extraField = regexp.MustCompile(`^[0-9*?/,-]+$`)

// crontabDialect takes the dialect asked for, else the one whose extensions
// the table uses, else vixie's.
func crontabDialect(lines []textLine, path, asked string) schedule.Dialect {
	if d, ok := schedule.ParseDialect(asked); ok {
		return d
	}
	if strings.Contains(strings.ToLower(path), "supercronic") {
		return schedule.Supercronic
	}
	for _, l := range lines {
		name, _, assigned := assignment(l.text)
		if assigned {
			if name == "CRON_TZ" || name == "RANDOM_DELAY" {
				return schedule.Cronie
			}
			continue
		}
		words := strings.Fields(l.text)
		if len(words) < 6 {
			continue
		}
		if !systemPath(path) && extraField.MatchString(words[5]) && jobLine.MatchString(l.text) {
			return schedule.Supercronic
		}
		if strings.Contains(strings.Join(words[:5], ""), "~") && jobLine.MatchString(l.text) {
			return schedule.Cronie
		}
	}
	return schedule.Vixie
}

var userName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}\$?$`)

// knownUsers are names of users that are no names of programs.
var knownUsers = []string{
	"root", "www-data", "nobody", "apache", "nginx", "httpd", "postgres", "munin", "ubuntu", "ec2-user", "centos", "debian",
	"vagrant", "wwwrun",
}

// programs are words that begin a command and would pass as a user.
var programs = []string{
	"source", "cd", "test", "echo", "php", "python", "python2", "python3", "perl", "ruby", "node", "npm", "npx", "yarn",
	"bash", "sh", "zsh", "dash", "run-parts", "curl", "wget", "sleep", "env", "nice", "ionice", "flock", "find", "docker",
	"docker-compose", "podman", "kubectl", "bundle", "rake", "make", "true", "false", "if", "export", "exec", "sudo", "su",
	"rm", "cp", "mv", "cat", "tar", "rsync", "ssh", "scp", "git", "aws", "gcloud", "az", "certbot", "logrotate", "mysqldump",
	"pg_dump", "psql", "mysql", "redis-cli", "java", "go", "timeout", "nohup", "setsid", "chronic", "date", "touch", "mkdir",
	"command", "for", "while", "apt", "apt-get", "yum", "dnf", "systemctl", "service", "uptime", "df", "du", "ps", "kill",
	"pkill", "supervisorctl", "artisan", "drush", "wp", "poetry", "pipenv", "uv", "deno", "bun", "pg_basebackup", "restic",
	"borg", "borgmatic", "rclone", "sendmail", "mail", "logger", "ntpdate", "reboot", "shutdown", "tee", "grep", "sed", "awk",
}

// systemPath reports whether the machine's own cron reads the file.
func systemPath(path string) bool {
	return pathHas(path, "cron.d") || strings.HasSuffix("/"+path, "/etc/crontab")
}

// isSystem reports whether the lines have a user before the command.
func isSystem(lines []textLine, path string) bool {
	if systemPath(path) {
		return true
	}
	if pathHas(path, "crontabs") {
		return false
	}
	jobs, users := 0, 0
	for _, l := range lines {
		if _, _, ok := assignment(l.text); ok || !jobLine.MatchString(l.text) {
			continue
		}
		words := strings.Fields(l.text)
		at := 5
		if l.text[0] == '@' {
			at = 1
		}
		jobs++
		if len(words) < at+2 {
			continue
		}
		if slices.Contains(knownUsers, words[at]) {
			return true
		}
		if userName.MatchString(words[at]) && !slices.Contains(programs, words[at]) && beginsCommand(words[at+1]) {
			users++
		}
	}
	return jobs > 0 && users == jobs
}

// beginsCommand reports whether a word looks like the start of a command.
func beginsCommand(word string) bool {
	return strings.ContainsAny(word[:1], `/.~$[(`) || slices.Contains(programs, word) || strings.Contains(word, "=")
}
