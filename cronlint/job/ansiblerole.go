package job

import (
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
)

var (
	// roleVariables are the files in which a role sets its variables.
	roleVariables = regexp.MustCompile(`(?:^|/)(?:defaults|vars)/(?:main/)?[^/]+\.ya?ml$`)
	// timeVariable says quickly that such a file may set a time.
	timeVariable = regexp.MustCompile(`(?i)cron|minute|hour|schedule|_min:|_hr:|_day:|weekday`)
	// onlyVariable is an expression that is nothing but a variable, or the literal
	// that stands in for one that is not set.
	onlyVariable = regexp.MustCompile(`^\{\{-?\s*([A-Za-z_]\w*)\s*` +
		`(?:\|\s*default\(\s*['"]?([^'"(){},]*)['"]?\s*(?:,\s*\w+\s*)?\)\s*)?(?:\|\s*(?:int|string)\s*)?-?\}\}$`)
)

// A cronTaskPart is a cron task some of whose values are variables.
type cronTaskPart struct {
	src    *lint.File
	cron   *yaml.Node
	name   string
	values map[string]*yaml.Node // by part of the schedule, and special_time
}

// variable is the first value that is an expression, or nil. One that draws a
// random minute is no schedule to judge.
func (t *cronTaskPart) variable() *yaml.Node {
	for _, part := range append([]string{"special_time"}, ansibleParts...) {
		if v := t.values[part]; v != nil && strings.Contains(v.Value, "{{") && !strings.Contains(v.Value, "random") {
			return v
		}
	}
	return nil
}

// roleValues are the variables that one file of a role sets to a literal.
type roleValues struct {
	defaults bool // defaults, that the role's vars go before
	values   map[string]*yaml.Node
}

func addVariables(p *lint.Parsed, src *lint.File, root *yaml.Node) {
	v := roleValues{defaults: roleDefaults(src.Path, src.Data), values: map[string]*yaml.Node{}}
	for k, value := range pairs(root) {
		if value != nil && value.Kind == yaml.ScalarNode {
			v.values[k.Value] = value
		}
	}
	p.Parts = append(p.Parts, lint.Part{File: src, Value: &v})
}

// roleOf is the folder of the role that a file is part of.
func roleOf(file string) string {
	dir := path.Dir(file)
	for _, folder := range []string{"tasks", "handlers", "defaults", "vars"} {
		if before, _, ok := strings.Cut("/"+dir+"/", "/"+folder+"/"); ok {
			return strings.TrimPrefix(before, "/")
		}
	}
	return dir
}

// A setting of a variable: its value and where that stands.
type setting struct {
	src   *lint.File
	value *yaml.Node
}

// Resolve puts together the cron tasks of Ansible roles and the literals that
// the roles' defaults and vars set for them. entries are those found so far: a
// default that is used by a task becomes that task's. Tasks whose values are
// not known come back as open.
func Resolve(parts []lint.Part, entries []*lint.Entry) (more []*lint.Entry, open []lint.Open) {
	known := map[string]map[string]setting{}
	for _, defaults := range []bool{true, false} { // vars go before defaults
		for _, p := range parts {
			if v, ok := p.Value.(*roleValues); ok && v.defaults == defaults {
				role := roleOf(p.File.Path)
				if known[role] == nil {
					known[role] = map[string]setting{}
				}
				for name, value := range v.values {
					known[role][name] = setting{p.File, value}
				}
			}
		}
	}
	for _, p := range parts {
		t, ok := p.Value.(*cronTaskPart)
		if !ok {
			continue
		}
		e, unknown := t.resolve(known[roleOf(p.File.Path)])
		switch {
		case unknown != nil:
			why := unknown.Value + " is not known here: this cron task is not checked"
			open = append(open, lint.Open{File: p.File, Span: p.File.NodeSpan(unknown), Why: why})
		case e != nil:
			more = adopt(more, entries, e)
		}
	}
	return more, open
}

// adopt adds an entry, or makes the entry of the same default its own.
func adopt(more, entries []*lint.Entry, e *lint.Entry) []*lint.Entry {
	for _, old := range entries {
		if old.File == e.File && old.Field == e.Field {
			if d, ok := old.Detail.(*Ansible); ok {
				e.Detail.(*Ansible).Shared = d.Shared
			}
			*old = *e
			return more
		}
	}
	return append(more, e)
}

// resolve makes the entry of a task with the variables of its role. Its place is
// that of the minute's literal. unknown is the first value that has none.
func (t *cronTaskPart) resolve(known map[string]setting) (e *lint.Entry, unknown *yaml.Node) {
	src := t.src
	values := map[string]*yaml.Node{}
	for _, part := range append([]string{"special_time"}, ansibleParts...) {
		v := t.values[part]
		if v == nil {
			continue
		}
		at, ok := valueOf(v, known)
		if !ok {
			return nil, v
		}
		values[part] = at.value
		if at.src != nil && (part == "minute" || part == "special_time") {
			src = at.src
		}
	}
	first := values["minute"]
	if special := values["special_time"]; special != nil {
		first = special
	}
	whole := t.cron
	if src != t.src {
		whole = first
	}
	e = ansibleEntry(src, values, whole, values["special_time"])
	if e == nil {
		return nil, nil // a random minute
	}
	if src == t.src && t.values["minute"] == nil {
		e.Field = src.NodeSpan(t.variable())
	}
	return t.finish(e), nil
}

// valueOf is the literal that a value is or stands for. Its file is nil where
// the value itself is it.
func valueOf(v *yaml.Node, known map[string]setting) (setting, bool) {
	if !strings.Contains(v.Value, "{{") || strings.Contains(v.Value, "random") {
		return setting{value: v}, true
	}
	m := onlyVariable.FindStringSubmatch(strings.TrimSpace(v.Value))
	if m == nil {
		return setting{}, false
	}
	if s, ok := known[m[1]]; ok {
		return s, !strings.Contains(s.value.Value, "{{") || strings.Contains(s.value.Value, "random")
	}
	if m[2] == "" {
		return setting{}, false
	}
	stand := *v
	stand.Value = m[2]
	return setting{value: &stand}, true
}
