package job

import (
	"bytes"
	"cmp"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// hclScope is a block's body or an object: a set of keys and nested scopes.
type hclScope struct {
	name   string // "aws_scheduler_schedule.nightly", "schedules.lambda-cron"
	attrs  map[string]hclsyntax.Expression
	nested []hclScope
	span   lint.Span
}

// hclScopes reads a file's blocks; with a syntax error, as far as it can be read.
func hclScopes(src *lint.File, p *lint.Parsed) (top hclScope, ok bool) {
	file, diags := hclsyntax.ParseConfig(src.Data, src.Path, hcl.InitialPos)
	if diags.HasErrors() {
		d := diags.Errs()[0]
		line := 0
		if first, isDiag := d.(*hcl.Diagnostic); isDiag && first.Subject != nil {
			line = first.Subject.Start.Line
		}
		p.Errors = append(p.Errors, &lint.Error{File: src.Path, Line: line, Err: d})
	}
	if file == nil {
		return hclScope{}, false
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return hclScope{}, false
	}
	return bodyScope("", body), true
}

func bodyScope(name string, body *hclsyntax.Body) hclScope {
	s := hclScope{name: name, attrs: map[string]hclsyntax.Expression{}, span: rangeSpan(body.SrcRange)}
	for key, attr := range body.Attributes {
		s.add(key, attr.Expr)
	}
	for _, block := range body.Blocks {
		label := block.Type
		if len(block.Labels) > 0 {
			label = strings.Join(block.Labels, ".")
		}
		s.nested = append(s.nested, bodyScope(strings.TrimPrefix(name+"."+label, "."), block.Body))
	}
	return s
}

// add keeps an attribute, and looks into the objects of its value.
func (s *hclScope) add(key string, expr hclsyntax.Expression) {
	s.attrs[key] = expr
	s.descend(key, expr)
}

func (s *hclScope) descend(key string, expr hclsyntax.Expression) {
	switch x := expr.(type) {
	case *hclsyntax.ObjectConsExpr:
		inner := hclScope{
			name: strings.TrimPrefix(s.name+"."+key, "."), attrs: map[string]hclsyntax.Expression{}, span: rangeSpan(x.SrcRange),
		}
		for _, item := range x.Items {
			inner.add(objectKey(item.KeyExpr), item.ValueExpr)
		}
		s.nested = append(s.nested, inner)
	case *hclsyntax.TupleConsExpr:
		for _, e := range x.Exprs {
			s.descend(key, e)
		}
	case *hclsyntax.FunctionCallExpr:
		for _, e := range x.Args {
			s.descend(key, e)
		}
	}
}

func objectKey(e hclsyntax.Expression) string {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if name := hcl.ExprAsKeyword(k); name != "" {
			return name
		}
		e = k.Wrapped
	}
	text, _, _ := literal(e)
	return text
}

func rangeSpan(r hcl.Range) lint.Span { return lint.Span{Start: r.Start.Byte, End: r.End.Byte} }

// literal is the text of a plain string or word, and its bytes inside the quotes.
func literal(e hclsyntax.Expression) (string, lint.Span, bool) {
	switch x := e.(type) {
	case *hclsyntax.TemplateExpr:
		if len(x.Parts) == 1 {
			return literal(x.Parts[0])
		}
	case *hclsyntax.LiteralValueExpr:
		switch {
		case x.Val.IsNull() || !x.Val.IsKnown():
		case x.Val.Type() == cty.String:
			return x.Val.AsString(), rangeSpan(x.SrcRange), true
		case x.Val.Type() == cty.Bool:
			return map[bool]string{true: "true", false: "false"}[x.Val.True()], rangeSpan(x.SrcRange), true
		}
	}
	return "", lint.Span{}, false
}

// text is the literal of an attribute, "" where it is none.
func (s *hclScope) text(keys ...string) string {
	for _, key := range keys {
		if v, _, ok := literal(s.attrs[key]); ok {
			return v
		}
	}
	return ""
}

// child is the nested scope of a block or object of that name, or nil.
func (s *hclScope) child(name string) *hclScope {
	for i := range s.nested {
		if n := &s.nested[i]; n.name == name || strings.HasSuffix(n.name, "."+name) {
			return n
		}
	}
	return nil
}

// walk calls visit for the scope and all below it.
func (s *hclScope) walk(visit func(*hclScope)) {
	visit(s)
	for i := range s.nested {
		s.nested[i].walk(visit)
	}
}

// A Terraform is the Detail of a schedule in a Terraform file.
type Terraform struct {
	Name     string // of the resource, or the path of keys
	Flexible string // flexible_time_window's mode: "OFF", "FLEXIBLE", "" when there is none
	Mode     lint.Span
}

type terraformFormat struct{}

func (terraformFormat) Name() string { return "terraform" }

func (terraformFormat) Match(path string, head []byte) bool {
	return strings.HasSuffix(path, ".tf") && (bytes.Contains(head, []byte("schedule")) || bytes.Contains(head, []byte("cron")))
}

func (terraformFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	top, ok := hclScopes(src, p)
	if !ok {
		return p, nil
	}
	top.walk(func(s *hclScope) {
		if expr, ok := s.attrs["schedule_expression"]; ok {
			addTerraform(p, src, s, schedule.EventBridge, "aws", expr)
			return
		}
		switch {
		case strings.Contains(s.name, "google_cloud_scheduler_job."):
			addTerraform(p, src, s, schedule.Google, "google", s.attrs["schedule"])
		case strings.Contains(s.name, "kubernetes_cron_job") && strings.HasSuffix(s.name, ".spec"):
			addTerraform(p, src, s, schedule.Robfig, GroupKubernetes, s.attrs["schedule"])
		}
	})
	return p, nil
}

func addTerraform(p *lint.Parsed, src *lint.File, s *hclScope, d schedule.Dialect, group string, expr hclsyntax.Expression) {
	raw, span, ok := literal(expr)
	if !ok || placeholder(raw) {
		return
	}
	e := newEntry(src, "terraform", d, span, s.span)
	if e.Raw != raw {
		e.Raw = raw
		setSchedule(e, "")
	}
	t := &Terraform{Name: s.name}
	if w := s.child("flexible_time_window"); w != nil {
		t.Flexible = strings.ToUpper(w.text("mode"))
		_, t.Mode, _ = literal(w.attrs["mode"])
	}
	e.Zone = zone(s.text("schedule_expression_timezone", "timezone", "time_zone"))
	if e.Zone == nil && d != schedule.Robfig {
		e.Zone = time.UTC
	}
	e.Disabled = strings.HasPrefix(strings.ToUpper(s.text("state")), "DISABLED") || s.text("is_enabled", "enabled") == "false" ||
		s.text("paused", "suspend") == "true"
	e.Group, e.Command, e.Detail = group, s.name, t
	e.Identity = identity(d, group, src.Path+" "+s.name)
	p.Entries = append(p.Entries, e)
}

// A Nomad is the Detail of a periodic job of Nomad.
type Nomad struct {
	Job             string
	ProhibitOverlap bool
}

type nomadFormat struct{}

func (nomadFormat) Name() string { return "nomad" }

func (nomadFormat) Match(path string, head []byte) bool {
	return (strings.HasSuffix(path, ".nomad") || strings.HasSuffix(path, ".hcl")) &&
		bytes.Contains(head, []byte("periodic")) && bytes.Contains(head, []byte("job "))
}

func (nomadFormat) Parse(src *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	p := &lint.Parsed{}
	top, ok := hclScopes(src, p)
	if !ok {
		return p, nil
	}
	top.walk(func(s *hclScope) {
		name, isPeriodic := strings.CutSuffix(s.name, ".periodic")
		if !isPeriodic {
			return
		}
		for _, expr := range nomadCrons(s) {
			raw, span, ok := literal(expr)
			if !ok || placeholder(raw) {
				continue
			}
			e := newEntry(src, "nomad", schedule.Cronexpr, span, s.span)
			e.Zone = zone(cmp.Or(s.text("time_zone"), "UTC"))
			e.Group, e.Command = "nomad", name
			e.Disabled = s.text("enabled") == "false"
			e.Identity = identity(e.Dialect, e.Group, name)
			e.Detail = &Nomad{Job: name, ProhibitOverlap: s.text("prohibit_overlap") == "true"}
			p.Entries = append(p.Entries, e)
		}
	})
	return p, nil
}

func nomadCrons(s *hclScope) []hclsyntax.Expression {
	if list, ok := s.attrs["crons"].(*hclsyntax.TupleConsExpr); ok {
		return list.Exprs
	}
	if expr := s.attrs["cron"]; expr != nil {
		return []hclsyntax.Expression{expr}
	}
	return nil
}
