package retry

import (
	"bytes"
	"fmt"
	"path"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// meshFormat reads the retry settings of Kubernetes objects that a proxy
// carries out: Istio VirtualService, Envoy Gateway BackendTrafficPolicy (both
// with Envoy's jitter) and Linkerd's annotations (immediate, but limited).
type meshFormat struct{}

func (meshFormat) Name() string { return "service-mesh" }

func (meshFormat) Match(name string, head []byte) bool {
	if !yamlName(name) || !bytes.Contains(head, []byte("kind:")) {
		return false
	}
	return bytes.Contains(head, []byte("VirtualService")) && bytes.Contains(head, []byte("istio.io")) ||
		bytes.Contains(head, []byte("BackendTrafficPolicy")) ||
		bytes.Contains(head, []byte("retry.linkerd.io/")) ||
		bytes.Contains(head, []byte("ServiceProfile")) && bytes.Contains(head, []byte("linkerd.io/"))
}

// yamlName says whether a file is YAML by its name; "x.yaml.golden" counts.
func yamlName(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return true
	case ".golden":
		return yamlName(name[:len(name)-len(".golden")])
	}
	return false
}

func (meshFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := conf.YAML(f)
	out := new(lint.Parsed)
	add := func(n *conf.Node, subject string, p *Policy) {
		out.Settings = append(out.Settings, &lint.Setting{
			File: f, Format: "service-mesh", Span: conf.Where(n), Subject: subject, Identity: subject, Value: p,
		})
	}
	for _, d := range objects(docs) {
		name := objectName(d)
		switch d.Get("kind").Text() {
		case "VirtualService":
			for i, h := range d.Get("spec", "http").Items() {
				if n := h.Get("retries"); n != nil {
					add(n, fmt.Sprintf("VirtualService %s route %d", name, i+1), istioPolicy(n))
				}
			}
		case "ServiceProfile":
			for i, route := range d.Get("spec", "routes").Items() {
				if n := route.Get("isRetryable"); n.Text() == "true" {
					add(n, fmt.Sprintf("ServiceProfile %s route %d", name, i+1), profilePolicy(n))
				}
			}
		case "BackendTrafficPolicy":
			if n := d.Get("spec", "retry"); n != nil {
				add(n, "BackendTrafficPolicy "+name, gatewayPolicy(n))
			}
		}
		if n := d.Get("metadata", "annotations", "retry.linkerd.io/limit"); n != nil {
			add(n, "Linkerd retries of "+name, linkerdPolicy(n))
		}
	}
	return out, err
}

// objects returns the Kubernetes objects of documents, those in a List too.
func objects(docs []*conf.Node) []*conf.Node {
	var out []*conf.Node
	for _, d := range docs {
		if d.Get("kind").Text() == "List" {
			out = append(out, d.Get("items").Items()...)
			continue
		}
		out = append(out, d)
	}
	return out
}

// objectName returns "namespace/name", or what of it is there.
func objectName(d *conf.Node) string {
	m := d.Get("metadata")
	name := m.Get("name").Text()
	if name == "" {
		name = m.Get("generateName").Text()
	}
	if ns := m.Get("namespace").Text(); ns != "" {
		return ns + "/" + name
	}
	return name
}

func istioPolicy(n *conf.Node) *Policy {
	p := jittered("Istio")
	p.AttemptsAt = conf.Where(n.Get("attempts"))
	p.retries(n.Get("attempts"), 2)
	p.base(n.Get("backoff"), "backoff: 25ms")
	return p
}

func gatewayPolicy(n *conf.Node) *Policy {
	p := jittered("Envoy Gateway")
	p.AttemptsAt = conf.Where(n.Get("numRetries"))
	p.retries(n.Get("numRetries"), 2)
	p.base(n.Get("perRetry", "backOff", "baseInterval"), "baseInterval: 25ms")
	return p
}

// profilePolicy is Linkerd's older kind of retries: no attempts are counted, a
// budget, which is there even if none is written, bounds them all.
func profilePolicy(n *conf.Node) *Policy {
	return &Policy{System: "Linkerd", Layer: LayerMesh, AttemptsAt: conf.Where(n), Budget: BudgetSet}
}

// linkerdPolicy has no shape: Linkerd retries without wait, within its limits,
// and no setting changes that.
func linkerdPolicy(n *conf.Node) *Policy {
	p := &Policy{System: "Linkerd", Layer: LayerMesh, AttemptsAt: conf.Where(n)}
	p.retries(n, 1)
	return p
}
