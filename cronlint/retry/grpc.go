package retry

import (
	"bytes"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// grpcFormat reads gRPC service configs in JSON. gRPC multiplies each wait by
// 0.8 to 1.2 after the cap (proposal A6 and its revision), so that lack of
// jitter is never its fault.
type grpcFormat struct{}

func (grpcFormat) Name() string { return "grpc-service-config" }

func (grpcFormat) Match(path string, head []byte) bool {
	return strings.HasSuffix(path, ".json") && bytes.Contains(head, []byte(`"methodConfig"`)) &&
		bytes.Contains(head, []byte(`"name"`))
}

// grpcMaxAttempts is where gRPC cuts maxAttempts.
const grpcMaxAttempts = 5

func (grpcFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	root, err := conf.JSON(f)
	if err != nil {
		return nil, err
	}
	out := new(lint.Parsed)
	root.Walk(func(_ []string, n *conf.Node) bool {
		for _, m := range n.Get("methodConfig").Items() {
			out.Settings = append(out.Settings, grpcSetting(f, n, m)...)
		}
		return !n.Has("methodConfig")
	})
	return out, nil
}

// grpcSetting returns the policy of one methodConfig of a service config, if
// it has one.
func grpcSetting(f *lint.File, service, method *conf.Node) []*lint.Setting {
	n := method.Get("retryPolicy")
	if n == nil || n.Kind != conf.Map {
		return nil
	}
	budget := BudgetMissing
	if service.Has("retryThrottling") {
		budget = BudgetSet
	}
	subject := "gRPC retryPolicy of " + grpcMethods(method)
	return []*lint.Setting{{
		File: f, Format: "grpc-service-config", Span: conf.Where(n), Subject: subject, Identity: subject,
		Value: grpcPolicy(n, budget),
	}}
}

func grpcPolicy(n *conf.Node, budget Budget) *Policy {
	p := &Policy{
		System: "gRPC", Layer: LayerClient, Shape: Exponential, Jitter: Jittered, JitterLow: 0.8, CanJitter: true,
		Budget: budget, DelayAt: conf.Where(n.Get("initialBackoff")), AttemptsAt: conf.Where(n.Get("maxAttempts")),
	}
	p.Attempts, _ = n.Get("maxAttempts").Int()
	p.Delay, _ = n.Get("initialBackoff").Duration(time.Second)
	p.Max, _ = n.Get("maxBackoff").Duration(time.Second)
	p.Multiplier, _ = n.Get("backoffMultiplier").Float()
	p.Constant = p.Multiplier == 1 || p.Delay > 0 && p.Delay >= p.Max && p.Max > 0
	if p.Constant {
		p.Shape = Fixed
		p.Advice = `"maxBackoff": "10s", "backoffMultiplier": 2`
	}
	if p.Attempts > grpcMaxAttempts {
		p.Dead = append(p.Dead, Dead{At: p.AttemptsAt, Why: "gRPC makes at most 5 attempts: a larger maxAttempts is cut"})
		p.Attempts = grpcMaxAttempts
	}
	return p
}

// grpcMethods names the first method of a methodConfig.
func grpcMethods(m *conf.Node) string {
	names := m.Get("name").Items()
	if len(names) == 0 {
		return "all methods"
	}
	text := names[0].Get("service").Text()
	if method := names[0].Get("method").Text(); method != "" {
		text += "/" + method
	}
	if len(names) > 1 {
		text += " and others"
	}
	if text == "" {
		return "all methods"
	}
	return text
}
