package retry

import (
	"bytes"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// temporalFormat reads the default retry policies of a Temporal server's
// dynamic configuration. Temporal computes exact waits and retries for ever by
// design, under the timeouts of the activity.
type temporalFormat struct{}

func (temporalFormat) Name() string { return "temporal" }

func (temporalFormat) Match(name string, head []byte) bool {
	return yamlName(name) && bytes.Contains(head, []byte("RetryPolicy:")) && bytes.Contains(head, []byte("InitialIntervalInSeconds"))
}

func (temporalFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := conf.YAML(f)
	out := new(lint.Parsed)
	for _, d := range docs {
		for _, n := range d.Items() {
			for _, c := range n.Children {
				for _, item := range c.Items() {
					v := item.Get("value")
					if v.Get("InitialIntervalInSeconds") == nil {
						continue
					}
					out.Settings = append(out.Settings, &lint.Setting{
						File: f, Format: "temporal", Span: conf.Where(c), Subject: c.Key, Identity: c.Key, Value: temporalPolicy(v),
					})
				}
			}
		}
	}
	return out, err
}

func temporalPolicy(n *conf.Node) *Policy {
	p := &Policy{
		System: "Temporal", Layer: LayerJob, Shape: Exponential, Multiplier: 2, Delay: time.Second,
		DelayAt: conf.Where(n.Get("InitialIntervalInSeconds")), AttemptsAt: conf.Where(n.Get("MaximumAttempts")),
		Advice: "add a random wait to the activity itself, or bound the task queue's rate (TaskQueueActivitiesPerSecond)",
	}
	if v, ok := n.Get("InitialIntervalInSeconds").Duration(time.Second); ok {
		p.Delay = v
	}
	if v, ok := n.Get("BackoffCoefficient").Float(); ok {
		p.Multiplier = v
		if v == 1 {
			p.Shape = Fixed
		}
	}
	if v, ok := n.Get("MaximumIntervalCoefficient").Float(); ok && v > 0 && v < 1e6 {
		p.Max = time.Duration(v * float64(p.Delay))
	}
	p.Attempts, _ = n.Get("MaximumAttempts").Int()
	return p
}
