package retry

import (
	"regexp"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/code"
)

var pRetryCall = regexp.MustCompile(`\bpRetry\s*\(`)

// pRetry: node-retry's waits are 1 s × 2^n, not random unless randomize, which
// multiplies by 1 to 2 before the cut at maxTimeout.
func pRetry(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(pRetryCall) {
		p := &Policy{
			System: "p-retry", Layer: LayerClient, Attempts: 11, Shape: Exponential, Delay: time.Second, Multiplier: 2,
			CanJitter: true, Advice: "{ retries: 5, randomize: true }",
		}
		if a, ok := c.Pos(1); ok {
			o, literalObject := s.Object(a)
			if !literalObject || strings.Contains(a.Value, "...") {
				continue // the options are elsewhere
			}
			nodeRetry(&o, p)
		}
		add(c, "pRetry", p)
	}
}

var (
	asyncRetryCall = regexp.MustCompile(`\b(?:await|return|=>)\s+(?:async)?[rR]etry\s*\(`)
	operationCall  = regexp.MustCompile(`\bretry\.operation\s*\(`)
)

// asyncRetry is node-retry with randomize on by default.
func asyncRetry(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(asyncRetryCall) {
		p := &Policy{
			System: "async-retry", Layer: LayerClient, Attempts: 11, Shape: Exponential, Delay: time.Second, Multiplier: 2,
			CanJitter: true, Jitter: Jittered, JitterLow: 1, Advice: "{ retries: 5, randomize: true }",
		}
		if len(c.Args) < 2 {
			continue // its defaults are fine
		}
		o, literalObject := s.Object(c.Args[len(c.Args)-1])
		if !literalObject || strings.Contains(c.Args[len(c.Args)-1].Value, "...") {
			continue
		}
		nodeRetry(&o, p)
		p.Clipped = p.Max > 0
		add(c, "retry", p)
	}
}

// retryOperation is node-retry itself.
func retryOperation(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(operationCall) {
		p := &Policy{
			System: "node-retry", Layer: LayerClient, Attempts: 11, Shape: Exponential, Delay: time.Second, Multiplier: 2,
			CanJitter: true, Advice: "retry.operation({ retries: 5, randomize: true })",
		}
		if a, ok := c.Pos(0); ok {
			o, literalObject := s.Object(a)
			if !literalObject || strings.Contains(a.Value, "...") {
				continue
			}
			nodeRetry(&o, p)
		}
		add(c, "retry.operation", p)
	}
}

func nodeRetry(o *code.Call, p *Policy) {
	retries, hasRetries := o.Get("retries")
	p.AttemptsAt = at(retries, hasRetries)
	if v, ok := literal(retries, hasRetries); ok {
		p.Attempts = int(v) + 1
	} else if hasRetries {
		p.Attempts = 0
	}
	forever, hasForever := o.Get("forever")
	on, _ := truth(forever, hasForever)
	p.Unlimited = on || retries.Value == "Infinity"
	if a, ok := o.Get("minTimeout"); ok {
		p.Delay, p.DelayAt = wait(a, ok, time.Millisecond), a.Span
	}
	if a, ok := o.Get("maxTimeout"); ok {
		p.Max = wait(a, ok, time.Millisecond)
	}
	if a, ok := o.Get("factor"); ok {
		p.Multiplier, _ = literal(a, ok)
		if p.Multiplier == 1 {
			p.Shape = Fixed
		}
	}
	randomize, has := o.Get("randomize")
	p.JitterAt = at(randomize, has)
	switch v, known := truth(randomize, has); {
	case has && (v || !known):
		p.Jitter, p.JitterLow, p.Clipped = Jittered, 1, p.Max > 0
	case has:
		p.Jitter = JitterOff
	}
}

var axiosRetryCall = regexp.MustCompile(`\baxiosRetry\s*\(`)

// axiosRetry: without retryDelay it tries at once; exponentialDelay adds up to
// 20 %, linearDelay nothing.
func axiosRetry(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(axiosRetryCall) {
		p := &Policy{
			System: "axios-retry", Layer: LayerClient, Attempts: 4, Shape: Immediate, CanJitter: true,
			Advice: "retryDelay: axiosRetry.exponentialDelay",
		}
		if a, ok := c.Pos(1); ok {
			o, literalObject := s.Object(a)
			if !literalObject || strings.Contains(a.Value, "...") {
				continue
			}
			retries, has := o.Get("retries")
			p.AttemptsAt = at(retries, has)
			if v, ok := literal(retries, has); ok {
				p.Attempts = int(v) + 1
			}
			if delay, ok := o.Get("retryDelay"); ok {
				p.DelayAt = delay.Span
				axiosDelay(delay.Value, p)
			} else if strings.Contains(a.Value, "retryDelay") {
				continue // as a method or shorthand: out of sight
			}
		}
		add(c, "axiosRetry", p)
	}
}

var constantArrow = regexp.MustCompile(`^\(?\w*\)?\s*=>\s*(\d[\d_]*)$`)

func axiosDelay(text string, p *Policy) {
	switch {
	case random(text), strings.Contains(text, "exponentialDelay"):
		p.Shape, p.Jitter = Exponential, Jittered
	case strings.Contains(text, "linearDelay"):
		p.Shape = Linear
	case constantArrow.MatchString(text):
		p.Shape = Fixed
		p.Delay = wait(code.Arg{Value: constantArrow.FindStringSubmatch(text)[1]}, true, time.Millisecond)
	case strings.Contains(text, "=>") && strings.Contains(text, "*"):
		p.Shape = Linear
	default:
		p.Shape = Unknown
	}
}

var bullBackoff = regexp.MustCompile(`\bbackoff\s*:\s*(\{)|\bbackoff\s*:\s*(\d[\d_]*)`)

// bullMQ: a number is a fixed wait; {type, delay} has a jitter of 0 to 1,
// which is 0 by default.
func bullMQ(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, m := range bullBackoff.FindAllSubmatchIndex(s.Text, -1) {
		c := code.Call{}
		c.Span.Start, c.Span.End = m[0], m[1]
		p := &Policy{
			System: "BullMQ", Layer: LayerJob, Shape: Fixed, Multiplier: 2, CanJitter: true,
			Advice: "backoff: { type: 'exponential', delay: 1000, jitter: 0.5 }",
		}
		if m[4] >= 0 {
			p.Delay = wait(code.Arg{Value: string(s.Text[m[4]:m[5]])}, true, time.Millisecond)
			add(c, "BullMQ backoff", p)
			continue
		}
		o, ok := s.Object(code.Arg{Value: "{", Span: spanAt(m[2])})
		if !ok {
			continue
		}
		c.Span.End = o.Span.End
		if bullOptions(&o, p) {
			add(c, "BullMQ backoff", p)
		}
	}
}

func bullOptions(o *code.Call, p *Policy) bool {
	kind, ok := o.Get("type")
	if !ok {
		return false
	}
	switch strings.Trim(kind.Value, "'\"`") {
	case "exponential":
		p.Shape = Exponential
	case "fixed":
	default:
		return false // a strategy of the application's own
	}
	if a, ok := o.Get("delay"); ok {
		p.Delay, p.DelayAt = wait(a, ok, time.Millisecond), a.Span
	}
	jitter, has := o.Get("jitter")
	p.JitterAt = at(jitter, has)
	switch v, known := literal(jitter, has); {
	case has && (!known || v > 0):
		p.Jitter = Jittered
	case has:
		p.Jitter = JitterOff
	}
	return true
}
