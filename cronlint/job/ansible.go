package job

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// An Ansible is the Detail of a cron task, or of a role's default for one.
type Ansible struct {
	Task   string
	Shared bool // it stands in a role: others use it as it is
}

type ansibleFormat struct{}

func (ansibleFormat) Name() string { return "ansible" }

// ansibleParts are the parameters of the cron module, in the order of a crontab.
var ansibleParts = []string{"minute", "hour", "day", "month", "weekday"}

// defaultPart is a role's variable for one part of a cron schedule.
var defaultPart = regexp.MustCompile(`(?m)^([A-Za-z0-9_]*?)_?(minute|hour|day|month|weekday):`)

func (ansibleFormat) Match(path string, head []byte) bool {
	if !isYAML(path) {
		return false
	}
	if cronMapping.Match(head) && cronTask.Match(head) {
		return true
	}
	return roleDefaults(path, head) && defaultPart.Match(head) || roleVariables.MatchString(path) && timeVariable.Match(head)
}

// cronMapping finds quickly, by the letters it begins with, what may be a cronTask.
var cronMapping = regexp.MustCompile(`cron:[ \t\r]*\n`)

// cronTask is the cron module of a task.
var cronTask = regexp.MustCompile(`(?m)^\s+(?:ansible\.builtin\.)?cron:\s*$`)

// roleDefaults reports whether a file holds the defaults of a role.
func roleDefaults(path string, head []byte) bool {
	return pathHas(path, "defaults") || strings.Contains(base(path), "defaults") && bytes.HasPrefix(bytes.TrimSpace(head), []byte("---"))
}

func (ansibleFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, doc := range yamlDocs(src, p) {
		root := at(doc)
		if root != nil && root.Kind == yaml.MappingNode && roleDefaults(src.Path, src.Data) {
			addDefaults(p, src, root)
		}
		if root != nil && (roleDefaults(src.Path, src.Data) || roleVariables.MatchString(src.Path)) {
			addVariables(p, src, root)
		}
		ansibleTasks(root, 0, func(task *yaml.Node) { addTask(p, src, task) })
	}
	return p, nil
}

// ansibleTasks calls visit for each mapping that may be a task, in plays and
// blocks too.
func ansibleTasks(n *yaml.Node, depth int, visit func(*yaml.Node)) {
	if depth > 20 {
		return
	}
	for item := range items(n) {
		visit(item)
		for _, key := range []string{"tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"} {
			ansibleTasks(at(item, key), depth+1, visit)
		}
	}
}

func addTask(p *lint.Parsed, src *lint.File, task *yaml.Node) {
	cron := cmp.Or(at(task, "cron"), at(task, "ansible.builtin.cron"))
	if cron == nil || cron.Kind != yaml.MappingNode || text(at(cron, "state")) == "absent" || text(at(cron, "env")) != "" {
		return
	}
	t := &cronTaskPart{
		src: src, cron: cron, name: cmp.Or(text(at(cron, "name")), text(at(task, "name"))), values: map[string]*yaml.Node{},
	}
	for _, part := range append(ansibleParts, "special_time") {
		if v := at(cron, part); v != nil {
			t.values[part] = v
		}
	}
	if t.variable() != nil {
		p.Parts = append(p.Parts, lint.Part{File: src, Value: t})
		return
	}
	if e := ansibleEntry(src, t.values, cron, t.values["special_time"]); e != nil {
		p.Entries = append(p.Entries, t.finish(e))
	}
}

// finish gives the entry of a task what the task says of it.
func (t *cronTaskPart) finish(e *lint.Entry) *lint.Entry {
	e.Command = text(at(t.cron, "job"))
	e.Disabled = text(at(t.cron, "disabled")) == "true" || text(at(t.cron, "disabled")) == "yes"
	e.Identity = identity(e.Dialect, "ansible", t.src.Path+" "+t.name)
	e.Detail = &Ansible{Task: t.name, Shared: pathHas(t.src.Path, "roles") || pathHas(t.src.Path, "tasks")}
	return e
}

// ansibleEntry makes the entry of five separate fields; nil where a value is
// filled in later. Its field is the minute's value, where that is written.
func ansibleEntry(src *lint.File, values map[string]*yaml.Node, whole, special *yaml.Node) *lint.Entry {
	if special != nil {
		if placeholder(special.Value) {
			return nil
		}
		e := newEntry(src, "ansible", schedule.Vixie, src.NodeSpan(special), yamlSpan(src, whole))
		e.Raw = "@" + special.Value
		setSchedule(e, "")
		e.Group = GroupHost
		return e
	}
	var fields []string
	var field lint.Span
	for _, part := range ansibleParts {
		value := "*"
		if v := values[part]; v != nil {
			value = strings.ReplaceAll(v.Value, " ", "")
			if field == (lint.Span{}) {
				field = src.NodeSpan(v)
			}
		}
		if placeholder(value) {
			return nil
		}
		fields = append(fields, value)
	}
	if field == (lint.Span{}) {
		field = src.NodeSpan(whole)
	}
	e := newEntry(src, "ansible", schedule.Vixie, field, yamlSpan(src, whole))
	e.Raw = strings.Join(fields, " ")
	setSchedule(e, "")
	e.Group = GroupHost
	return e
}

// addDefaults finds variables of a role that are the parts of one schedule:
// x_minute with x_hour beside it.
func addDefaults(p *lint.Parsed, src *lint.File, root *yaml.Node) {
	byPrefix := map[string]map[string]*yaml.Node{}
	var order []string
	for k, v := range pairs(root) {
		m := defaultPart.FindStringSubmatch(k.Value + ":")
		if m == nil || v == nil || v.Kind != yaml.ScalarNode {
			continue
		}
		if byPrefix[m[1]] == nil {
			byPrefix[m[1]] = map[string]*yaml.Node{}
			order = append(order, m[1])
		}
		byPrefix[m[1]][m[2]] = v
	}
	for _, prefix := range order {
		values := byPrefix[prefix]
		if values["minute"] == nil || values["hour"] == nil {
			continue
		}
		e := ansibleEntry(src, values, values["minute"], nil)
		if e == nil {
			continue
		}
		e.Command = prefix
		e.Identity = identity(e.Dialect, "ansible", src.Path+" "+prefix)
		e.Detail = &Ansible{Task: prefix, Shared: true}
		p.Entries = append(p.Entries, e)
	}
}
