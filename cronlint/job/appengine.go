package job

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

type yamlNode = yaml.Node

// appengineFormat reads App Engine's cron.yaml.
type appengineFormat struct{}

func (appengineFormat) Name() string { return "appengine" }

func (appengineFormat) Match(path string, head []byte) bool {
	name := base(path)
	return (name == "cron.yaml" || name == "cron.yml") && bytes.Contains(head, []byte("schedule:")) && bytes.Contains(head, []byte("url:"))
}

func (appengineFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, doc := range yamlDocs(src, p) {
		for item := range items(at(doc, "cron")) {
			sched := at(item, "schedule")
			if sched == nil || placeholder(sched.Value) {
				continue
			}
			e := yamlEntry(src, "appengine", schedule.AppEngine, sched, item)
			if e.Err != nil && fiveFieldCron(sched.Value) {
				e.Dialect = schedule.Google
				setSchedule(e, "")
			}
			e.Zone = cmp.Or(zone(text(at(item, "timezone"))), time.UTC)
			e.Group = "appengine"
			e.Command = cmp.Or(text(at(item, "url")), text(at(item, "description")))
			e.Identity = identity(e.Dialect, e.Group, src.Path+" "+e.Command)
			p.Entries = append(p.Entries, e)
		}
	}
	return p, nil
}

// sidekiqFormat reads the schedules of sidekiq-cron and sidekiq-scheduler: a
// map of jobs with cron and class.
type sidekiqFormat struct{}

func (sidekiqFormat) Name() string { return "sidekiq" }

func (sidekiqFormat) Match(path string, head []byte) bool {
	return isYAML(path) && bytes.Contains(head, []byte("cron:")) && bytes.Contains(head, []byte("class:"))
}

func (sidekiqFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, doc := range yamlDocs(src, p) {
		sidekiqJobs(p, src, at(doc), 0)
	}
	return p, nil
}

// sidekiqJobs finds jobs at the top, or below keys such as :scheduler: :schedule:.
func sidekiqJobs(p *lint.Parsed, src *lint.File, n *yaml.Node, depth int) {
	if depth > 4 {
		return
	}
	for k, v := range pairs(n) {
		cron := cmp.Or(at(v, "cron"), at(v, ":cron"))
		class := cmp.Or(text(at(v, "class")), text(at(v, ":class")))
		if cron == nil || class == "" {
			sidekiqJobs(p, src, v, depth+1)
			continue
		}
		if cron.Kind == yaml.SequenceNode && len(cron.Content) > 0 { // sidekiq-scheduler: ['0 * * * *', options]
			cron = deref(cron.Content[0])
		}
		if cron.Kind != yaml.ScalarNode || placeholder(cron.Value) || strings.HasPrefix(cron.Value, "every ") {
			continue // fugit's own words are not read here
		}
		e := yamlEntry(src, "sidekiq", schedule.Fugit, cron, v)
		e.Group, e.Command = "sidekiq", class
		e.Disabled = text(at(v, "status")) == "disabled" || text(at(v, "enabled")) == "false"
		e.Identity = identity(e.Dialect, e.Group, src.Path+" "+k.Value)
		p.Entries = append(p.Entries, e)
	}
}

// A Pipeline is the Detail of a trigger in a Jenkinsfile.
type Pipeline struct {
	Job string // full name, where it is known
}

// jenkinsFormat reads the literals of cron() and pollSCM() in a Jenkinsfile.
type jenkinsFormat struct{}

func (jenkinsFormat) Name() string { return "jenkins" }

var jenkinsTrigger = regexp.MustCompile(`\b(?:cron|pollSCM)\s*\(?\s*(?:spec:\s*)?('''|"""|'|")`)

func (jenkinsFormat) Match(path string, head []byte) bool {
	name := base(path)
	return (strings.Contains(name, "Jenkinsfile") || strings.HasSuffix(name, ".jenkinsfile") || strings.HasSuffix(name, ".groovy")) &&
		jenkinsTrigger.Match(head)
}

func (jenkinsFormat) Parse(src *lint.File, o *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	for _, m := range jenkinsTrigger.FindAllSubmatchIndex(src.Data, -1) {
		quote := src.Data[m[2]:m[3]]
		start := m[3]
		length := bytes.Index(src.Data[start:], quote)
		if length < 0 || bytes.Contains(src.Data[lineStart(src.Data, m[0]):m[0]], []byte("//")) {
			continue
		}
		jenkinsLines(p, src, lint.Span{Start: start, End: start + length}, o.JenkinsJob)
	}
	return p, nil
}

func lineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

// jenkinsLines reads the lines of one trigger; TZ= holds for those below it.
func jenkinsLines(p *lint.Parsed, src *lint.File, span lint.Span, job string) {
	var loc *time.Location
	at := span.Start
	for line := range strings.SplitSeq(src.Text(span), "\n") {
		trimmed := strings.TrimSpace(line)
		start := at + strings.Index(line, trimmed)
		at += len(line) + 1
		if z, ok := strings.CutPrefix(trimmed, "TZ="); ok {
			loc = zone(z)
			continue
		}
		if placeholder(trimmed) || trimmed[0] == '#' {
			continue
		}
		field := lint.Span{Start: start, End: start + len(trimmed)}
		e := newEntry(src, "jenkins", schedule.Jenkins, field, field)
		setSchedule(e, job)
		e.Zone, e.Group, e.Command = loc, "jenkins", cmp.Or(job, base(src.Path))
		e.Identity = identity(e.Dialect, e.Group, src.Path)
		e.Detail = &Pipeline{Job: job}
		p.Entries = append(p.Entries, e)
	}
}
