package job

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/magiconair/properties"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// serverlessFormat reads the schedules of Vercel, Netlify and Cloudflare
// Workers: vercel.json, netlify.toml, wrangler.toml, wrangler.json(c).
type serverlessFormat struct{}

func (serverlessFormat) Name() string { return "serverless" }

// serverlessKinds are the files by what their names begin with.
var serverlessKinds = []struct {
	prefix, suffix string
	d              schedule.Dialect
}{
	{"vercel", ".json", schedule.Vercel},
	{"netlify", ".toml", schedule.Netlify},
	{"wrangler", ".toml", schedule.Cloudflare},
	{"wrangler", ".json", schedule.Cloudflare},
	{"wrangler", ".jsonc", schedule.Cloudflare},
}

func serverlessDialect(path string) (schedule.Dialect, bool) {
	name := base(path)
	for _, k := range serverlessKinds {
		if strings.HasPrefix(name, k.prefix) && strings.HasSuffix(name, k.suffix) {
			return k.d, true
		}
	}
	return 0, false
}

func (serverlessFormat) Match(path string, head []byte) bool {
	_, ok := serverlessDialect(path)
	return ok && (bytes.Contains(head, []byte("cron")) || bytes.Contains(head, []byte("schedule")))
}

func (serverlessFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	d, _ := serverlessDialect(src.Path)
	p := &lint.Parsed{}
	found := func(path string, span lint.Span, raw string) {
		if !scheduledPath(path) || placeholder(raw) {
			return
		}
		e := newEntry(src, "serverless", d, span, span)
		if e.Raw != raw {
			e.Raw = raw
			setSchedule(e, "")
		}
		e.Zone, e.Group, e.Command = time.UTC, d.String(), path
		e.Identity = identity(d, e.Group, src.Path+" "+path)
		p.Entries = append(p.Entries, e)
	}
	if strings.HasSuffix(src.Path, ".toml") {
		return p, walkTOML(src, found)
	}
	return p, walkJSON(src, found)
}

// scheduledPath reports whether a path of keys leads to a schedule:
// triggers.crons (Cloudflare, in environments too), crons.schedule (Vercel),
// functions.NAME.schedule (Netlify).
func scheduledPath(path string) bool {
	return strings.HasSuffix(path, "triggers.crons") || path == "crons.schedule" ||
		strings.HasPrefix(path, "functions.") && strings.HasSuffix(path, ".schedule")
}

// walkJSON yields each string of a JSON file, comments and trailing commas
// allowed, with the keys that lead to it.
func walkJSON(src *lint.File, found func(path string, span lint.Span, value string)) error {
	v, err := hujson.Parse(src.Data[src.BOM():])
	if err != nil {
		return &lint.Error{File: src.Path, Err: err}
	}
	var walk func(v *hujson.Value, path string)
	walk = func(v *hujson.Value, path string) {
		switch x := v.Value.(type) {
		case *hujson.Object:
			for i := range x.Members {
				m := &x.Members[i]
				name, ok := m.Name.Value.(hujson.Literal)
				if ok {
					walk(&m.Value, strings.TrimPrefix(path+"."+name.String(), "."))
				}
			}
		case *hujson.Array:
			for i := range x.Elements {
				walk(&x.Elements[i], path)
			}
		case hujson.Literal:
			if x.Kind() == '"' {
				span := lint.Span{Start: src.BOM() + v.StartOffset + 1, End: src.BOM() + v.EndOffset - 1}
				found(path, span, x.String())
			}
		}
	}
	walk(&v, "")
	return nil
}

// walkTOML yields each string of a TOML file with the keys that lead to it.
func walkTOML(src *lint.File, found func(path string, span lint.Span, value string)) error {
	var parser unstable.Parser
	parser.Reset(src.Data[src.BOM():])
	table := ""
	for parser.NextExpression() {
		e := parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = tomlKey(e)
		case unstable.KeyValue:
			path := strings.TrimPrefix(table+"."+tomlKey(e), ".")
			walkTOMLValue(src, e.Value(), path, found)
		}
	}
	if err := parser.Error(); err != nil {
		return &lint.Error{File: src.Path, Err: err}
	}
	return nil
}

func walkTOMLValue(src *lint.File, n *unstable.Node, path string, found func(string, lint.Span, string)) {
	switch n.Kind {
	case unstable.String:
		start := src.BOM() + int(n.Raw.Offset)
		end := start + int(n.Raw.Length)
		quote := 1
		if strings.HasPrefix(string(src.Data[start:end]), `"""`) || strings.HasPrefix(string(src.Data[start:end]), "'''") {
			quote = 3
		}
		found(path, lint.Span{Start: start + quote, End: end - quote}, string(n.Data))
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			walkTOMLValue(src, it.Node(), path, found)
		}
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			walkTOMLValue(src, it.Node().Value(), path+"."+tomlKey(it.Node()), found)
		}
	}
}

func tomlKey(n *unstable.Node) string {
	var parts []string
	for it := n.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, ".")
}

// springFormat reads cron expressions of Spring and Quartz in application.yml
// and application.properties: keys that end in cron.
type springFormat struct{}

func (springFormat) Name() string { return "spring" }

var (
	springKey  = regexp.MustCompile(`(?i)(?:^|[._-])(?:cron|cron-?expression)$`)
	springCron = regexp.MustCompile(`(?im)cron[a-z-]*\s*[:=]`)
)

// springValue is six or seven fields, seconds first, or a nickname.
func springValue(raw string) bool {
	n := len(strings.Fields(raw))
	return n == 6 || n == 7 || strings.HasPrefix(raw, "@")
}

func (springFormat) Match(path string, head []byte) bool {
	if !isYAML(path) && !strings.HasSuffix(path, ".properties") {
		return false
	}
	return mentionsSchedule(head) && springCron.Match(head) && !bytes.Contains(head, []byte("apiVersion:")) && !bytes.Contains(head, []byte("jobs:"))
}

func (springFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	if isYAML(src.Path) {
		for _, doc := range yamlDocs(src, p) {
			walkYAML(at(doc), nil, func(path []string, key, value *yamlNode) {
				name := strings.Join(path, ".")
				if springKey.MatchString(name) && !placeholder(value.Value) && springValue(value.Value) {
					e := yamlEntry(src, "spring", springDialect(value.Value), value, value)
					finishSpring(p, e, name)
				}
			})
		}
		return p, nil
	}
	return p, parseProperties(src, p)
}

// springDialect is Quartz where only Quartz would accept the text, else Spring.
func springDialect(raw string) schedule.Dialect {
	if !parses(schedule.Spring, raw) && parses(schedule.Quartz, raw) {
		return schedule.Quartz
	}
	return schedule.Spring
}

func finishSpring(p *lint.Parsed, e *lint.Entry, name string) {
	e.Group, e.Command = "spring", name
	e.Identity = identity(e.Dialect, e.Group, e.File.Path+" "+name)
	p.Entries = append(p.Entries, e)
}

// propertyLine is a key with its value on one line.
var propertyLine = regexp.MustCompile(`^\s*([^#!\s=:][^\s=:]*)\s*[=:]\s*(.*?)\s*$`)

func parseProperties(src *lint.File, p *lint.Parsed) error {
	if _, err := properties.Load(src.Data, properties.UTF8); err != nil {
		return &lint.Error{File: src.Path, Err: err}
	}
	for n := 1; n <= src.Lines(); n++ {
		row := src.LineSpan(n)
		m := propertyLine.FindStringSubmatchIndex(src.Text(row))
		if m == nil {
			continue
		}
		name := src.Text(lint.Span{Start: row.Start + m[2], End: row.Start + m[3]})
		field := lint.Span{Start: row.Start + m[4], End: row.Start + m[5]}
		if raw := src.Text(field); springKey.MatchString(name) && !placeholder(raw) && springValue(raw) {
			finishSpring(p, newEntry(src, "spring", springDialect(raw), field, row), name)
		}
	}
	return nil
}
