package retry

import (
	"bytes"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// argoFormat reads retryStrategy of Argo Workflows. Without a backoff Argo
// starts the next pod at once; with one the waits are exact; without a limit
// and a maxDuration there is no end.
type argoFormat struct{}

func (argoFormat) Name() string { return "argo-retry" }

func (argoFormat) Match(name string, head []byte) bool {
	return yamlName(name) && bytes.Contains(head, []byte("argoproj.io/")) && bytes.Contains(head, []byte("retryStrategy"))
}

func (argoFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := conf.YAML(f)
	out := new(lint.Parsed)
	for _, d := range objects(docs) {
		name := objectName(d)
		template := ""
		d.Walk(func(at []string, n *conf.Node) bool {
			if t := n.Get("name").Text(); len(at) > 1 && at[len(at)-2] == "templates" {
				template = t
			}
			if len(at) == 0 || at[len(at)-1] != "retryStrategy" {
				return true
			}
			subject := d.Get("kind").Text() + " " + name + " retryStrategy"
			if template != "" {
				subject += " of " + template
			}
			out.Settings = append(out.Settings, &lint.Setting{
				File: f, Format: "argo-retry", Span: conf.Where(n), Subject: subject, Identity: subject, Value: argoPolicy(n),
			})
			return false
		})
	}
	return out, err
}

func argoPolicy(n *conf.Node) *Policy {
	p := &Policy{
		System: "Argo Workflows", Layer: LayerJob, Shape: Immediate, Slow: true, AttemptsAt: conf.Where(n.Get("limit")),
		Advice: "limit: 5\nbackoff:\n  duration: 10s\n  factor: 2\n  maxDuration: 10m",
	}
	if v, ok := n.Get("limit").Int(); ok {
		p.Attempts = v + 1
	}
	backoff := n.Get("backoff")
	p.Unlimited = n.Get("limit").Text() == "" && backoff.Get("maxDuration").Text() == "" && n.Get("expression") == nil
	if backoff.Get("duration").Text() == "" {
		return p
	}
	p.Advice = "put a random sleep at the start of the step, or bound how many run at once (parallelism, a semaphore)"
	p.Shape, p.DelayAt = Fixed, conf.Where(backoff.Get("duration"))
	p.Delay, _ = backoff.Get("duration").Duration(time.Second)
	p.Max, _ = backoff.Get("cap").Duration(time.Second)
	if v, ok := backoff.Get("factor").Float(); ok && v > 1 {
		p.Shape, p.Multiplier = Exponential, v
	}
	return p
}
