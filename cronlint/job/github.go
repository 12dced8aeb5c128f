package job

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A Workflow is the Detail of a schedule of GitHub Actions.
type Workflow struct {
	Name string // of the workflow, or its file name
}

type githubFormat struct{}

func (githubFormat) Name() string { return "github-workflow" }

func (githubFormat) Match(path string, head []byte) bool {
	return isYAML(path) && bytes.Contains(head, []byte("cron:")) && bytes.Contains(head, []byte("jobs:")) &&
		bytes.Contains(head, []byte("schedule:"))
}

func (githubFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, doc := range yamlDocs(src, p) {
		on := at(doc, "on")
		if on == nil || at(doc, "jobs") == nil {
			continue
		}
		name := base(src.Path)
		if n := text(at(doc, "name")); n != "" {
			name = n
		}
		for item := range items(at(on, "schedule")) {
			if cron := at(item, "cron"); cron != nil {
				addGitHub(p, src, item, cron, name)
			}
		}
	}
	return p, nil
}

// ofRepository is the group of a file of a repository in a folder: what stands
// below another .github shares nothing with it.
func ofRepository(group, path string) string {
	if repository, _, ok := strings.Cut(path, "/.github/"); ok {
		return group + ":" + repository
	}
	return group
}

func addGitHub(p *lint.Parsed, src *lint.File, item, cron *yaml.Node, name string) {
	if placeholder(cron.Value) {
		return
	}
	e := yamlEntry(src, "github-workflow", schedule.GitHub, cron, item)
	e.Zone = time.UTC
	if z := zone(text(at(item, "timezone"))); z != nil {
		e.Zone = z
	}
	e.Group = ofRepository(GroupGitHub, src.Path)
	e.Command = name
	e.Identity = identity(e.Dialect, GroupGitHub, src.Path)
	e.Detail = &Workflow{Name: name}
	p.Entries = append(p.Entries, e)
}

// yamlEntry makes the entry of a schedule in a scalar. Where the scalar's
// bytes are not its value (escapes, folded lines) the value counts.
func yamlEntry(src *lint.File, format string, d schedule.Dialect, value, whole *yaml.Node) *lint.Entry {
	e := newEntry(src, format, d, src.NodeSpan(value), yamlSpan(src, whole))
	if e.Raw != value.Value {
		e.Raw = value.Value
		setSchedule(e, "")
	}
	return e
}

// A Dependabot is the Detail of an update schedule of Dependabot.
type Dependabot struct {
	Ecosystem, Directory string
	Interval             string
	IntervalSpan         lint.Span // the value of interval
	ScheduleSpan         lint.Span // from the key schedule to its last value
}

type dependabotFormat struct{}

func (dependabotFormat) Name() string { return "dependabot" }

func (dependabotFormat) Match(path string, head []byte) bool {
	return isYAML(path) && bytes.Contains(head, []byte("package-ecosystem"))
}

// Parse finds the times that are pinned: "cronjob", and "time" with its
// "interval". An interval alone gets a random time from GitHub and is no entry.
func (dependabotFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, doc := range yamlDocs(src, p) {
		for update := range items(at(doc, "updates")) {
			if sched := at(update, "schedule"); sched != nil {
				addDependabot(p, src, update, sched)
			}
		}
	}
	return p, nil
}

func addDependabot(p *lint.Parsed, src *lint.File, update, sched *yaml.Node) {
	var e *lint.Entry
	interval := at(sched, "interval")
	if cron := at(sched, "cronjob"); cron != nil && !placeholder(cron.Value) {
		e = yamlEntry(src, "dependabot", schedule.Fugit, cron, sched)
	} else if clock := at(sched, "time"); clock != nil && interval != nil {
		raw, ok := dependabotCron(text(interval), clock.Value, text(at(sched, "day")))
		if !ok {
			return
		}
		e = newEntry(src, "dependabot", schedule.Fugit, src.NodeSpan(clock), yamlSpan(src, sched))
		e.Raw = raw
		setSchedule(e, "")
	} else {
		return
	}
	e.Zone = time.UTC
	if z := zone(text(at(sched, "timezone"))); z != nil {
		e.Zone = z
	}
	d := &Dependabot{Ecosystem: text(at(update, "package-ecosystem")), Directory: text(at(update, "directory")), Interval: text(interval)}
	d.ScheduleSpan = e.Span
	if interval != nil {
		d.IntervalSpan = src.NodeSpan(interval)
	}
	e.Group = ofRepository("dependabot", src.Path)
	e.Command = strings.TrimSpace(d.Ecosystem + " " + d.Directory)
	e.Identity = identity(e.Dialect, "dependabot", src.Path+" "+e.Command)
	e.Detail = d
	p.Entries = append(p.Entries, e)
}

// dependabotCron writes interval, time and day as one cron schedule.
func dependabotCron(interval, clock, weekday string) (string, bool) {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		return "", false
	}
	at := fmt.Sprintf("%d %d ", t.Minute(), t.Hour())
	switch interval {
	case "daily":
		return at + "* * 1-5", true
	case "weekly":
		if weekday == "" {
			weekday = "monday"
		}
		return at + "* * " + weekday, true
	case "monthly":
		return at + "1 * *", true
	case "quarterly":
		return at + "1 1,4,7,10 *", true
	case "semiannually":
		return at + "1 1,7 *", true
	case "yearly":
		return at + "1 1 *", true
	}
	return "", false
}
