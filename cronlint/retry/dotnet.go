package retry

import (
	"bytes"
	"path"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// dotnetFormat reads Polly's retry options in appsettings*.json and other JSON,
// recognised by Polly's own names. Bound to Polly's RetryStrategyOptions the
// defaults are a constant wait of 2 s without jitter; bound to
// HttpRetryStrategyOptions they are exponential with jitter. The file does not
// say which, so that a missing UseJitter is judged only where the wait is
// written as constant and nothing beside it belongs to the HTTP handler.
type dotnetFormat struct{}

func (dotnetFormat) Name() string { return "dotnet-polly" }

func (dotnetFormat) Match(name string, head []byte) bool {
	return path.Ext(name) == ".json" && bytes.Contains(head, []byte(`"MaxRetryAttempts"`)) &&
		(strings.Contains(strings.ToLower(path.Base(name)), "settings") || bytes.Contains(head, []byte(`"UseJitter"`)) ||
			bytes.Contains(head, []byte(`"BackoffType"`)))
}

func (dotnetFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	root, err := conf.JSON(f)
	if err != nil {
		return nil, err
	}
	out := new(lint.Parsed)
	visitPolly(root, nil, false, func(at []string, n *conf.Node, http bool) {
		subject := "Polly retry " + strings.Join(at, ":")
		out.Settings = append(out.Settings, &lint.Setting{
			File: f, Format: "dotnet-polly", Span: conf.Where(n), Subject: subject, Identity: subject, Value: pollyPolicy(n, http),
		})
	})
	return out, nil
}

// visitPolly calls f for each object with Polly's names. http is true beside
// the other sections of the standard HTTP handler.
func visitPolly(n *conf.Node, at []string, http bool, f func([]string, *conf.Node, bool)) {
	if n.Relaxed("MaxRetryAttempts") != nil {
		f(at, n, http)
		return
	}
	http = n.Relaxed("TotalRequestTimeout") != nil || n.Relaxed("AttemptTimeout") != nil || n.Relaxed("CircuitBreaker") != nil
	for _, c := range n.Children {
		visitPolly(c, append(at[:len(at):len(at)], c.Key), http, f)
	}
}

func pollyPolicy(n *conf.Node, http bool) *Policy {
	use := n.Relaxed("UseJitter")
	p := &Policy{
		System: "Polly", Layer: LayerClient, Attempts: 4, Shape: Unknown, Delay: 2 * time.Second, Multiplier: 2,
		CanJitter: true, DelayAt: conf.Where(n.Relaxed("BackoffType"), n.Relaxed("Delay")), JitterAt: conf.Where(use),
		AttemptsAt: conf.Where(n.Relaxed("MaxRetryAttempts")),
		Advice:     "\"BackoffType\": \"Exponential\",\n\"UseJitter\": true",
	}
	p.retries(n.Relaxed("MaxRetryAttempts"), 3)
	p.Unlimited = p.Attempts > 1<<31-1
	switch strings.ToLower(n.Relaxed("BackoffType").Text()) {
	case "constant", "0":
		p.Shape = Fixed
	case "linear", "1":
		p.Shape = Linear
	case "exponential", "2":
		p.Shape = Exponential
	}
	if d, ok := n.Relaxed("Delay").Duration(24 * time.Hour); ok {
		p.Delay = d
		if d == 0 {
			p.Shape = Immediate
		}
	}
	p.Max, _ = n.Relaxed("MaxDelay").Duration(24 * time.Hour)
	switch v, ok := use.Bool(); {
	case ok && v, use == nil && (http || p.Shape != Fixed), use != nil && !ok:
		p.Jitter = Jittered
	case ok:
		p.Jitter = JitterOff
	}
	return p
}
