package job

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// A CronJob is the Detail of a Kubernetes CronJob or an Argo CronWorkflow.
type CronJob struct {
	Kind, Namespace, Name string
	Concurrency           string // concurrencyPolicy; "" is Allow
	Deadline              string // startingDeadlineSeconds; "" when not set
	// Beside is where another key of the spec can be written: the end of the line
	// of its schedule. Indent is what that line begins with. Both are zero
	// where the spec is not written one key a line.
	Beside lint.Span
	Indent string
}

// A Deployment is the Value of a setting: how a Deployment replaces its pods.
type Deployment struct {
	Namespace, Name string
	Strategy        string // "Recreate" or "RollingUpdate"
	MaxUnavailable  string
	MinReadySeconds string
	Replicas        int // 1 where not set
	StrategySpan    lint.Span
}

type kubernetesFormat struct{}

func (kubernetesFormat) Name() string { return "kubernetes" }

func (kubernetesFormat) Match(path string, head []byte) bool {
	if !isYAML(path) && !strings.HasSuffix(path, ".tpl") || !bytes.Contains(head, []byte("apiVersion:")) {
		return false
	}
	return bytes.Contains(head, []byte("CronJob")) || bytes.Contains(head, []byte("CronWorkflow")) || bytes.Contains(head, []byte("kind: Deployment"))
}

func (kubernetesFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	docs := yamlDocs(src, p)
	if len(p.Errors) > 0 && bytes.Contains(src.Data, []byte("{{")) {
		readTemplate(src, p)
		return p, nil
	}
	for _, doc := range docs {
		root := at(doc)
		if kind := text(at(root, "kind")); kind == "List" {
			for item := range items(at(root, "items")) {
				addObject(p, src, item)
			}
			continue
		}
		addObject(p, src, root)
	}
	return p, nil
}

func addObject(p *lint.Parsed, src *lint.File, obj *yaml.Node) {
	spec := at(obj, "spec")
	if spec == nil {
		return
	}
	switch text(at(obj, "kind")) {
	case "CronJob":
		addCronJob(p, src, obj, spec, at(spec, "schedule"))
	case "CronWorkflow":
		addCronJob(p, src, obj, spec, at(spec, "schedule"))
		for s := range items(at(spec, "schedules")) {
			addCronJob(p, src, obj, spec, s)
		}
	case "Deployment":
		addDeployment(p, src, obj, spec)
	}
}

func addCronJob(p *lint.Parsed, src *lint.File, obj, spec, sched *yaml.Node) {
	if sched == nil || sched.Kind != yaml.ScalarNode || placeholder(sched.Value) {
		return
	}
	e := yamlEntry(src, "kubernetes", schedule.Robfig, sched, obj)
	d := &CronJob{
		Kind: text(at(obj, "kind")), Namespace: text(at(obj, "metadata", "namespace")),
		Name:        cmp.Or(text(at(obj, "metadata", "name")), text(at(obj, "metadata", "generateName"))),
		Concurrency: text(at(spec, "concurrencyPolicy")), Deadline: text(at(spec, "startingDeadlineSeconds")),
	}
	line, _ := src.Position(e.Field.Start)
	row := src.LineSpan(line)
	if trimmed := strings.TrimLeft(src.Text(row), " "); strings.HasPrefix(trimmed, "schedule:") {
		d.Beside = lint.Span{Start: row.End, End: row.End}
		d.Indent = src.Text(row)[:row.Len()-len(trimmed)]
	}
	e.Zone = zone(cmp.Or(text(at(spec, "timeZone")), text(at(spec, "timezone"))))
	e.Group = GroupKubernetes
	e.Command = strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
	e.Identity = identity(e.Dialect, e.Group, e.Command)
	e.Disabled = text(at(spec, "suspend")) == "true"
	e.Detail = d
	p.Entries = append(p.Entries, e)
}

func addDeployment(p *lint.Parsed, src *lint.File, obj, spec *yaml.Node) {
	strategy := at(spec, "strategy")
	if strategy == nil {
		return
	}
	d := &Deployment{
		Namespace: text(at(obj, "metadata", "namespace")), Name: text(at(obj, "metadata", "name")),
		Strategy:       cmp.Or(text(at(strategy, "type")), "RollingUpdate"),
		MaxUnavailable: text(at(strategy, "rollingUpdate", "maxUnavailable")), MinReadySeconds: text(at(spec, "minReadySeconds")),
		Replicas: 1, StrategySpan: yamlSpan(src, strategy),
	}
	if n, err := strconv.Atoi(text(at(spec, "replicas"))); err == nil {
		d.Replicas = n
	}
	name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
	p.Settings = append(p.Settings, &lint.Setting{
		File: src, Format: "kubernetes", Span: d.StrategySpan, Subject: "Deployment " + name,
		Identity: "kubernetes:deployment:" + name, Value: d,
	})
}
