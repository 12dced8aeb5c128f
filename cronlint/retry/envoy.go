package retry

import (
	"bytes"
	"path"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// envoyFormat reads route retry policies of Envoy's own configuration. Envoy
// draws each wait between 0 and the exponential interval, so that jitter is
// never missing.
type envoyFormat struct{}

func (envoyFormat) Name() string { return "envoy" }

func (envoyFormat) Match(name string, head []byte) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
	default:
		return false
	}
	return (bytes.Contains(head, []byte("retry_policy")) || bytes.Contains(head, []byte("retryPolicy"))) &&
		(bytes.Contains(head, []byte("virtual_hosts")) || bytes.Contains(head, []byte("virtualHosts")) ||
			bytes.Contains(head, []byte("type.googleapis.com/envoy")))
}

func (envoyFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := yamlOrJSON(f)
	budget := BudgetMissing
	if bytes.Contains(f.Data, []byte("retry_budget")) || bytes.Contains(f.Data, []byte("retryBudget")) {
		budget = BudgetSet
	}
	out := new(lint.Parsed)
	for _, d := range docs {
		d.Walk(func(at []string, n *conf.Node) bool {
			if n.Kind != conf.Map || len(at) == 0 || (n.Key != "retry_policy" && n.Key != "retryPolicy") ||
				n.Relaxed("retry_on") == nil && n.Relaxed("num_retries") == nil {
				return true
			}
			subject := "Envoy retry_policy"
			out.Settings = append(out.Settings, &lint.Setting{
				File: f, Format: "envoy", Span: conf.Where(n), Subject: subject, Identity: subject, Value: envoyPolicy(n, budget),
			})
			return false
		})
	}
	return out, err
}

// yamlOrJSON reads a file by its extension.
func yamlOrJSON(f *lint.File) ([]*conf.Node, error) {
	if path.Ext(f.Name) != ".json" {
		return conf.YAML(f)
	}
	n, err := conf.JSON(f)
	if err != nil {
		return nil, err
	}
	return []*conf.Node{n}, nil
}

func envoyPolicy(n *conf.Node, budget Budget) *Policy {
	p := jittered("Envoy")
	p.Budget = budget
	retries := n.Relaxed("num_retries")
	p.AttemptsAt = conf.Where(retries)
	if retries != nil && retries.Kind == conf.Map {
		retries = retries.Get("value")
	}
	p.retries(retries, 1)
	base := n.Relaxed("retry_back_off", "base_interval")
	p.base(base, `retry_back_off: {base_interval: 0.025s, max_interval: 0.25s}`)
	return p
}

// jittered is Envoy's default: a base of 25 ms, doubled, up to ten times it,
// each wait drawn between 0 and that.
func jittered(system string) *Policy {
	return &Policy{
		System: system, Layer: LayerMesh, Shape: Exponential, Delay: 25 * time.Millisecond, Multiplier: 2,
		Jitter: Jittered, CanJitter: true,
	}
}

// retries sets the attempts from a number of retries.
func (p *Policy) retries(n *conf.Node, def int) {
	p.Attempts = def + 1
	if v, ok := n.Int(); ok {
		p.Attempts = v + 1
	}
}

// base sets the base interval; what is unreadable leaves it unknown.
func (p *Policy) base(n *conf.Node, advice string) {
	if n == nil {
		return
	}
	p.DelayAt, p.Advice = conf.Where(n), advice
	v, ok := n.Duration(time.Second)
	p.Delay = v
	if ok && v == 0 {
		p.Shape = Immediate
	}
}
