package retry

import (
	"regexp"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/code"
)

var (
	celeryTask  = regexp.MustCompile(`@(?:[\w.]+\.)?(?:shared_)?task\s*\(`)
	celeryRetry = regexp.MustCompile(`\bself\.retry\s*\(`)
)

// celery: jitter is on by default, but only retry_backoff uses it, and only
// for autoretry_for; self.retry waits exactly its countdown, or
// default_retry_delay (180 s).
func celery(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(celeryTask) {
		if p := celeryPolicy(&c); p != nil {
			add(c, "Celery task", p)
		}
	}
	for _, c := range s.Calls(celeryRetry) {
		countdown, ok := c.Get("countdown")
		if _, eta := c.Get("eta"); eta || ok && !number.MatchString(countdown.Value) {
			continue
		}
		p := &Policy{
			System: "Celery", Layer: LayerJob, Attempts: 4, Shape: Fixed, Delay: 180 * time.Second, CanJitter: true,
			DelayAt: c.Span, Advice: "autoretry_for=(...), retry_backoff=True on the task, or countdown=random.uniform(0.5, 1.5) * delay",
		}
		if ok {
			p.Delay, p.DelayAt = wait(countdown, ok, time.Second), countdown.Span
			if p.Delay == 0 {
				p.Shape = Immediate
			}
		}
		add(c, "Celery self.retry", p)
	}
}

func celeryPolicy(c *code.Call) *Policy {
	auto, hasAuto := c.Get("autoretry_for")
	backoff, hasBackoff := c.Get("retry_backoff")
	jitter, hasJitter := c.Get("retry_jitter")
	if !hasAuto && !hasBackoff && !hasJitter {
		return nil
	}
	p := &Policy{
		System: "Celery", Layer: LayerJob, Attempts: 4, Shape: Fixed, Delay: 180 * time.Second, Multiplier: 2, CanJitter: true,
		DelayAt: at(auto, hasAuto), JitterAt: at(jitter, hasJitter), Advice: "retry_backoff=True, retry_backoff_max=600",
	}
	retries, hasRetries := c.Get("max_retries")
	p.AttemptsAt = at(retries, hasRetries)
	if v, ok := literal(retries, hasRetries); ok {
		p.Attempts = int(v) + 1
	}
	p.Unlimited = hasRetries && retries.Value == "None"
	if delay, ok := c.Get("default_retry_delay"); ok {
		p.DelayAt, p.Delay = delay.Span, wait(delay, ok, time.Second)
	}
	if !hasAuto {
		dead := backoff
		if !hasBackoff {
			dead = jitter
		}
		p.Shape = Unknown
		p.Dead = append(p.Dead, Dead{At: dead.Span, Jitter: true, Why: dead.Key + " has no effect without autoretry_for: self.retry does not look at it"})
		return p
	}
	if off, known := truth(backoff, hasBackoff); !hasBackoff || known && !off {
		if hasJitter {
			p.Dead = append(p.Dead, Dead{At: jitter.Span, Jitter: true, Why: "retry_jitter has no effect without retry_backoff"})
		}
		return p
	}
	p.Shape, p.DelayAt, p.Jitter = Exponential, backoff.Span, Jittered
	p.Delay = max(wait(backoff, true, time.Second), time.Second)
	if on, known := truth(jitter, hasJitter); known && !on {
		p.Jitter = JitterOff
	}
	return p
}

var (
	tenacityRetry = regexp.MustCompile(`@(?:tenacity\.)?retry\s*\(|\b(?:Async)?Retrying\s*\(`)
	tenacityBare  = regexp.MustCompile(`(?m)^[ \t]*@(?:tenacity\.)?retry[ \t\r]*$`)
	tenacityWait  = regexp.MustCompile(`\b(wait_\w+)\s*\(`)
)

// tenacity: without wait= it tries at once, without stop= for ever.
func tenacity(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, m := range tenacityBare.FindAllIndex(s.Text, -1) {
		c := code.Call{}
		c.Span.Start, c.Span.End = m[0]+strings.IndexByte(string(s.Text[m[0]:m[1]]), '@'), m[1]
		add(c, "tenacity retry", &Policy{
			System: "tenacity", Layer: LayerClient, Shape: Immediate, Unlimited: true, CanJitter: true, Advice: tenacityAdvice,
		})
	}
	for _, c := range s.Calls(tenacityRetry) {
		if p := tenacityPolicy(s, &c); p != nil {
			add(c, "tenacity retry", p)
		}
	}
}

const tenacityAdvice = "wait=wait_random_exponential(multiplier=1, max=60), stop=stop_after_attempt(5)"

func tenacityPolicy(s *code.Source, c *code.Call) *Policy {
	p := &Policy{System: "tenacity", Layer: LayerClient, Shape: Immediate, CanJitter: true, Advice: tenacityAdvice}
	for _, a := range c.Args {
		if strings.HasPrefix(a.Value, "*") {
			return nil // the arguments are elsewhere
		}
	}
	_, stop := c.Get("stop")
	_, until := c.Get("retry_error_callback")
	p.Unlimited = !stop && !until
	w, ok := c.Get("wait")
	if !ok {
		return p
	}
	p.DelayAt, p.JitterAt, p.Shape = w.Span, w.Span, Unknown
	names := tenacityWait.FindAllStringSubmatch(w.Value, -1)
	if len(names) == 0 {
		return p
	}
	if random(w.Value) {
		p.Jitter = Jittered
		tenacityClip(s, w, p, names[0][1])
		return p
	}
	switch names[0][1] {
	case "wait_none":
		p.Shape = Immediate
	case "wait_fixed":
		p.Shape = Fixed
	case "wait_exponential":
		p.Shape = Exponential
	case "wait_incrementing", "wait_chain":
		p.Shape = Linear
	}
	return p
}

// tenacityClip: wait_exponential_jitter adds up to jitter (1 s) and then cuts
// at max.
func tenacityClip(s *code.Source, w code.Arg, p *Policy, name string) {
	if name != "wait_exponential_jitter" {
		return
	}
	inner, ok := s.Object(code.Arg{Value: w.Value[strings.IndexByte(w.Value, '('):], Span: w.Span})
	if !ok {
		return
	}
	p.Shape, p.Delay, p.Multiplier, p.JitterLow, p.Clipped = Exponential, time.Second, 2, 1, true
	if a, ok := inner.Get("initial"); ok {
		p.Delay = wait(a, ok, time.Second)
	}
	if a, ok := inner.Get("max"); ok {
		p.Max = wait(a, ok, time.Second)
	}
	if a, ok := inner.Get("exp_base"); ok {
		p.Multiplier, _ = literal(a, ok)
	}
	p.Unlimited, p.Attempts = false, 0
}

var urllib3Retry = regexp.MustCompile(`\b(?:urllib3\.(?:util\.)?)?Retry\s*\(`)

// urllib3: backoff_factor is 0 and backoff_jitter 0 by default; the jitter is
// added before the cut at backoff_max (120 s).
func urllib3(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(urllib3Retry) {
		factor, hasFactor := c.Get("backoff_factor")
		jitter, hasJitter := c.Get("backoff_jitter")
		limit, hasLimit := c.Get("backoff_max")
		total, hasTotal := c.Get("total")
		if !hasTotal {
			total, hasTotal = c.Pos(0)
		}
		p := &Policy{
			System: "urllib3", Layer: LayerClient, Attempts: 11, Shape: Immediate, CanJitter: true, Multiplier: 2,
			Max: 120 * time.Second, DelayAt: at(factor, hasFactor), JitterAt: at(jitter, hasJitter), AttemptsAt: at(total, hasTotal),
			Advice: "backoff_factor=0.5, backoff_jitter=1.0",
		}
		if v, ok := literal(total, hasTotal); ok {
			p.Attempts = int(v) + 1
		} else if hasTotal && total.Value == "False" {
			p.Attempts = 1
		}
		if hasLimit {
			p.Max = wait(limit, true, time.Second)
		}
		v, known := literal(factor, hasFactor)
		switch {
		case hasFactor && !known:
			p.Shape = Unknown
		case v > 0:
			p.Shape, p.Delay = Exponential, wait(factor, true, time.Second)
		}
		if v, known := literal(jitter, hasJitter); hasJitter && (!known || v > 0) {
			p.Jitter, p.JitterLow, p.Clipped = Jittered, 1, true
			if p.Shape == Immediate {
				p.Shape = Random
			}
		}
		add(c, "urllib3 Retry", p)
	}
}
