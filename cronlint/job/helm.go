package job

import (
	"regexp"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// helmFormat reads the values of a Helm chart: whatever is called a schedule
// and reads like one.
type helmFormat struct{}

func (helmFormat) Name() string { return "helm-values" }

func (helmFormat) Match(path string, head []byte) bool {
	name := base(path)
	return isYAML(path) && strings.HasPrefix(name, "values") && mentionsSchedule(head) && scheduleKey.Match(head)
}

func (helmFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, doc := range yamlDocs(src, p) {
		walkYAML(at(doc), nil, func(path []string, key, value *yamlNode) {
			if !scheduleKey.MatchString(key.Value+":") || placeholder(value.Value) || !fiveFieldCron(value.Value) {
				return
			}
			e := yamlEntry(src, "helm-values", schedule.Robfig, value, value)
			e.Group = GroupKubernetes
			e.Command = strings.Join(path, ".")
			e.Identity = identity(e.Dialect, e.Group, src.Path+" "+e.Command)
			p.Entries = append(p.Entries, e)
		})
	}
	return p, nil
}

// templateSchedule is a schedule written out in a template that is no YAML
// before it is rendered.
var templateSchedule = regexp.MustCompile(`^\s*schedule:\s*(?:"([^"{}]*)"|'([^'{}]*)'|([^"'{}#]*?))\s*(?:#.*)?$`)

// readTemplate finds the schedules of a template line by line. Nothing else is
// known about the jobs.
func readTemplate(src *lint.File, p *lint.Parsed) {
	for n := 1; n <= src.Lines(); n++ {
		row := src.LineSpan(n)
		m := templateSchedule.FindStringSubmatchIndex(src.Text(row))
		if m == nil {
			continue
		}
		for i := 2; i < len(m); i += 2 {
			if m[i] < 0 {
				continue
			}
			field := lint.Span{Start: row.Start + m[i], End: row.Start + m[i+1]}
			raw := src.Text(field)
			if !fiveFieldCron(raw) {
				continue
			}
			e := newEntry(src, "kubernetes", schedule.Robfig, field, row)
			e.Group, e.Command = GroupKubernetes, base(src.Path)
			e.Identity = identity(e.Dialect, e.Group, src.Path+" "+raw)
			p.Entries = append(p.Entries, e)
		}
	}
}
