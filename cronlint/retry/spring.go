package retry

import (
	"bytes"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// springFormat reads what Spring Boot itself offers: Kafka's retry topics
// (jitter on offer) and RabbitMQ's listener retries (no jitter).
//
// Spring Retry draws a wait between once and multiplier times the interval,
// then cuts it at the maximum (ExponentialRandomBackOffPolicy); random counts
// only with a multiplier; with a maximum and no multiplier the wait is drawn
// uniformly (BackOffPolicyBuilder).
type springFormat struct{}

func (springFormat) Name() string { return "spring-retry" }

func (springFormat) Match(name string, head []byte) bool {
	return springFile(name) && bytes.Contains(head, []byte("spring")) && bytes.Contains(head, []byte("retry")) &&
		(bytes.Contains(head, []byte("kafka")) || bytes.Contains(head, []byte("rabbitmq")))
}

func (springFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := conf.Spring(f)
	out := new(lint.Parsed)
	add := func(n *conf.Node, subject string, p *Policy) {
		out.Settings = append(out.Settings, &lint.Setting{
			File: f, Format: "spring-retry", Span: conf.Where(n), Subject: subject, Identity: subject, Value: p,
		})
	}
	for _, d := range docs {
		if n := d.Relaxed("spring", "kafka", "retry", "topic"); on(n.Relaxed("enabled")) {
			add(n, "spring.kafka.retry.topic", kafkaTopicPolicy(n))
		}
		for _, kind := range []string{"simple", "direct"} {
			if n := d.Relaxed("spring", "rabbitmq", "listener", kind, "retry"); on(n.Relaxed("enabled")) {
				add(n, "spring.rabbitmq.listener."+kind+".retry", rabbitPolicy(n))
			}
		}
	}
	return out, err
}

func kafkaTopicPolicy(n *conf.Node) *Policy {
	get := func(name string) *conf.Node { return first(n.Relaxed("backoff", name), n.Relaxed(name)) }
	random := first(n.Relaxed("backoff", "random"), n.Relaxed("random-back-off"))
	p := &Policy{
		System: "Spring Kafka", Layer: LayerJob, Attempts: 3, Shape: Fixed, Delay: time.Second, CanJitter: true,
		DelayAt: conf.Where(get("delay")), JitterAt: conf.Where(random), AttemptsAt: conf.Where(n.Relaxed("attempts")),
		Advice: "backoff.delay: 1s\nbackoff.multiplier: 2\nbackoff.max-delay: 30s\nbackoff.random: true",
	}
	if v, ok := n.Relaxed("attempts").Int(); ok {
		p.Attempts = v
	}
	if v, ok := get("delay").Duration(time.Millisecond); ok {
		p.Delay = v
		if v == 0 {
			p.Shape = Immediate
			return p
		}
	}
	p.Max, _ = get("max-delay").Duration(time.Millisecond)
	p.Multiplier, _ = get("multiplier").Float()
	jitter := get("jitter") // Spring Boot 4
	switch {
	case jitter != nil:
		p.Shape, p.Jitter = Exponential, Jittered
	case p.Multiplier > 0:
		p.Shape = Exponential
		if on(random) {
			p.Jitter, p.JitterLow, p.Clipped = Jittered, 1, p.Max > 0
		}
	case p.Max > p.Delay:
		p.Shape, p.Jitter = Random, Jittered
	case on(random):
		p.Dead = append(p.Dead, Dead{At: p.JitterAt, Jitter: true, Why: "random has no effect without a multiplier"})
	}
	return p
}

func rabbitPolicy(n *conf.Node) *Policy {
	p := &Policy{
		System: "Spring's RabbitMQ listener", Layer: LayerJob, Attempts: 3, Shape: Fixed, Delay: time.Second, Multiplier: 1,
		DelayAt: conf.Where(n.Relaxed("initial-interval")), AttemptsAt: conf.Where(n.Relaxed("max-attempts")),
		Advice: "set a RetryInterceptor with ExponentialRandomBackOffPolicy in code",
	}
	if v, ok := n.Relaxed("max-attempts").Int(); ok {
		p.Attempts = v
	}
	if v, ok := n.Relaxed("initial-interval").Duration(time.Millisecond); ok {
		p.Delay = v
	}
	if v, ok := n.Relaxed("multiplier").Float(); ok && v > 1 {
		p.Shape, p.Multiplier = Exponential, v
	}
	return p
}
