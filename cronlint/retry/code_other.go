package retry

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/code"
	"github.com/herdscan/herdscan/cronlint/lint"
)

func spanAt(start int) lint.Span { return lint.Span{Start: start, End: start + 1} }

// mark is a Call of a bare place in the text.
func mark(m []int) code.Call { return code.Call{Span: lint.Span{Start: m[0], End: m[1]}} }

var (
	retryableNew     = regexp.MustCompile(`\bretryablehttp\.NewClient\s*\(\s*\)`)
	retryableBackoff = regexp.MustCompile(`\.Backoff\s*=\s*([\w.]+)`)
)

// retryableHTTP: DefaultBackoff is exponential from 1 s to 30 s without jitter;
// LinearJitterBackoff is the one that has it.
func retryableHTTP(s *code.Source, add func(code.Call, string, *Policy)) {
	if m := retryableBackoff.FindSubmatch(s.Text); m != nil && string(m[1]) != "retryablehttp.DefaultBackoff" {
		return
	}
	for _, m := range retryableNew.FindAllIndex(s.Text, -1) {
		add(mark(m), "retryablehttp client", &Policy{
			System: "go-retryablehttp", Layer: LayerClient, Attempts: 5, Shape: Exponential, Delay: time.Second, Multiplier: 2,
			Max: 30 * time.Second, CanJitter: true,
			Advice: "client.Backoff = retryablehttp.LinearJitterBackoff\nclient.RetryWaitMin = 500 * time.Millisecond\nclient.RetryWaitMax = 1500 * time.Millisecond",
		})
	}
}

var (
	cenkaltiConstant = regexp.MustCompile(`\bbackoff\.NewConstantBackOff\s*\(`)
	cenkaltiZero     = regexp.MustCompile(`\bRandomizationFactor\s*[:=]\s*0(?:\.0*)?\s*[,\n}]`)
)

// cenkalti: exponential waits are ±50 % unless RandomizationFactor is 0.
func cenkalti(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(cenkaltiConstant) {
		p := &Policy{
			System: "cenkalti/backoff", Layer: LayerClient, Shape: Fixed, CanJitter: true, Advice: "backoff.NewExponentialBackOff()",
		}
		if a, ok := c.Pos(0); ok {
			p.Delay, _ = goLiteral(a.Value)
		}
		add(c, "ConstantBackOff", p)
	}
	for _, m := range cenkaltiZero.FindAllIndex(s.Text, -1) {
		m[1] = m[0] + len(strings.TrimRight(string(s.Text[m[0]:m[1]]), ",\n} "))
		add(mark(m), "ExponentialBackOff", &Policy{
			System: "cenkalti/backoff", Layer: LayerClient, Shape: Exponential, Delay: 500 * time.Millisecond, Multiplier: 1.5,
			CanJitter: true, Jitter: JitterOff, Advice: "RandomizationFactor: 0.5",
		})
	}
}

var (
	retryableCall = regexp.MustCompile(`@Retryable\s*\(`)
	retryable     = regexp.MustCompile(`@Retryable\b\s*(\()?`)
	backoffAn     = regexp.MustCompile(`\b@?Backoff\s*\(`)
)

// springRetryable: @Retryable without @Backoff waits 1 s; delay with maxDelay
// and no multiplier is drawn between them; random counts only with a multiplier.
func springRetryable(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, m := range retryable.FindAllSubmatchIndex(s.Text, -1) {
		if m[2] >= 0 {
			continue // with arguments: below
		}
		add(mark(m[:2]), "@Retryable", springBackoff(&code.Call{}))
	}
	for _, c := range s.Calls(retryableCall) {
		p := springPolicy(s, &c)
		if p == nil {
			continue
		}
		for _, key := range []string{"maxAttempts", "maxRetries"} {
			a, has := c.Get(key)
			if v, known := literal(a, has); known {
				p.Attempts = int(min(v, 1e6))
				if key == "maxRetries" {
					p.Attempts++
				}
			}
		}
		add(c, "@Retryable", p)
	}
}

// springPolicy reads the arguments of @Retryable: a @Backoff (Spring Retry), or
// delay, multiplier and jitter of its own (Spring Framework 7). It is nil when
// something else decides.
func springPolicy(s *code.Source, c *code.Call) *Policy {
	for _, key := range []string{"interceptor", "jitter", "jitterString", "delayString"} {
		if _, ok := c.Get(key); ok {
			return nil
		}
	}
	backoff, ok := c.Get("backoff")
	if !ok {
		own := springBackoff(&code.Call{Args: keyed(c.Args)})
		if a, has := c.Get("delay"); has {
			own.DelayAt = a.Span
		}
		return own
	}
	m := backoffAn.FindStringIndex(backoff.Value)
	if m == nil || strings.Contains(backoff.Value, "Expression") {
		return nil
	}
	inner, found := s.Object(code.Arg{Value: backoff.Value[m[1]-1:], Span: backoff.Span})
	if !found {
		return nil
	}
	p := springBackoff(&inner)
	p.DelayAt = backoff.Span
	return p
}

// keyed leaves out the positional arguments and "value", which name exceptions
// in @Retryable.
func keyed(args []code.Arg) []code.Arg {
	return slices.DeleteFunc(slices.Clone(args), func(a code.Arg) bool { return a.Key == "" || a.Key == "value" })
}

func springBackoff(c *code.Call) *Policy {
	p := &Policy{
		System: "Spring Retry", Layer: LayerClient, Attempts: 3, Shape: Fixed, Delay: time.Second, CanJitter: true,
		Advice: "@Backoff(delay = 1000, multiplier = 2, maxDelay = 30000, random = true)",
	}
	for i, key := range []string{"value", "delay"} {
		a, ok := c.Get(key)
		if !ok && i == 0 {
			a, ok = c.Pos(0)
		}
		if ok {
			p.Delay = wait(a, ok, time.Millisecond)
			if v, known := literal(a, ok); known && v == 0 {
				p.Shape = Immediate
			}
		}
	}
	limit, hasLimit := c.Get("maxDelay")
	p.Max = wait(limit, hasLimit, time.Millisecond)
	multiplier, hasMultiplier := c.Get("multiplier")
	p.Multiplier, _ = literal(multiplier, hasMultiplier)
	rnd, hasRandom := c.Get("random")
	p.JitterAt = at(rnd, hasRandom)
	on, _ := truth(rnd, hasRandom)
	switch {
	case p.Multiplier > 0:
		p.Shape = Exponential
		if on {
			p.Jitter, p.JitterLow, p.Clipped = Jittered, 1, p.Max > 0
		}
	case hasMultiplier:
		p.Shape = Unknown
	case p.Max > p.Delay:
		p.Shape, p.Jitter = Random, Jittered
	case on:
		p.Dead = append(p.Dead, Dead{At: rnd.Span, Jitter: true, Why: "random has no effect without a multiplier"})
	}
	return p
}

var (
	r4jBuilder = regexp.MustCompile(`(?s)\bRetryConfig\s*\.\s*(?:<[^>]*>\s*)?(?:custom|ofDefaults)\s*\(\s*\)(.{0,1000}?)(?:\.\s*build\s*\(\s*\)|;)`)
	r4jWait    = regexp.MustCompile(`\bwaitDuration\s*\(\s*(?:\w+\.)*Duration\.of(Millis|Seconds|Minutes)\(\s*(\d+)`)
	r4jTries   = regexp.MustCompile(`\bmaxAttempts\s*\(\s*(\d+)\s*\)`)
)

// resilience4jCode: the builder waits a fixed 500 ms unless it gets an
// interval function, and only those with Random in their name are random.
func resilience4jCode(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, m := range r4jBuilder.FindAllSubmatchIndex(s.Text, -1) {
		text := string(s.Text[m[2]:m[3]])
		p := &Policy{
			System: "Resilience4j", Layer: LayerClient, Attempts: 3, Shape: Fixed, Delay: 500 * time.Millisecond, Multiplier: 1.5,
			CanJitter: true, Advice: ".intervalFunction(IntervalFunction.ofExponentialRandomBackoff(Duration.ofMillis(500), 2, 0.5))",
		}
		if t := r4jTries.FindStringSubmatch(text); t != nil {
			v, _ := literal(code.Arg{Value: t[1]}, true)
			p.Attempts = int(min(v, 1e6))
		}
		if w := r4jWait.FindStringSubmatch(text); w != nil {
			unit := map[string]time.Duration{"Millis": time.Millisecond, "Seconds": time.Second, "Minutes": time.Minute}[w[1]]
			p.Delay = wait(code.Arg{Value: w[2]}, true, unit)
		}
		if strings.Contains(text, "interval") {
			switch {
			case strings.Contains(text, "Random"):
				p.Shape, p.Jitter = Exponential, Jittered
			case strings.Contains(text, "ofExponentialBackoff"):
				p.Shape, p.Delay = Exponential, 0
			default:
				continue // a function of the application's own
			}
		}
		c := mark(m[:2])
		c.Span.End = m[2] // the head alone
		add(c, "RetryConfig", p)
	}
}

var laravelBackoff = regexp.MustCompile(`(?:public|protected)\s+(?:int\s+|array\s+)?\$backoff\s*=\s*(\d[\d_]*|\[[\d\s,_]*\])\s*;`)

// laravelJob: the waits of a job's $backoff are exact, and the core has no
// jitter for them.
func laravelJob(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, m := range laravelBackoff.FindAllSubmatchIndex(s.Text, -1) {
		p := &Policy{
			System: "Laravel's queue", Layer: LayerJob, Shape: Fixed,
			Advice: "public function backoff(): array { return [random_int(5, 15), random_int(30, 90)]; }",
		}
		text := string(s.Text[m[2]:m[3]])
		if text[0] == '[' {
			p.Shape = Steps
		} else {
			p.Delay = wait(code.Arg{Value: text}, true, time.Second)
		}
		add(mark(m[:2]), "$backoff", p)
	}
}

var (
	retryOn    = regexp.MustCompile(`(?m)^[ \t]*retry_on[ \t]+([^\n]*)$`)
	jitterZero = regexp.MustCompile(`\bjitter:\s*0(?:\.0+)?\b`)
)

// activeJob: jitter is 15 % with the framework's defaults; only a jitter of 0
// is to be seen in the file.
func activeJob(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, m := range retryOn.FindAllSubmatchIndex(s.Text, -1) {
		z := jitterZero.FindIndex(s.Text[m[2]:m[3]])
		if z == nil {
			continue
		}
		c := code.Call{Span: lint.Span{Start: m[2] + z[0], End: m[2] + z[1]}}
		add(c, "retry_on", &Policy{
			System: "Active Job", Layer: LayerJob, Shape: Unknown, CanJitter: true, Jitter: JitterOff, Advice: "jitter: 0.15",
		})
	}
}

var pollyOptions = regexp.MustCompile(`new\s+(Http)?RetryStrategyOptions(?:<[^>]*>)?\s*(?:\(\s*\)\s*)?\{`)

// polly: RetryStrategyOptions is a constant 2 s without jitter by default;
// HttpRetryStrategyOptions is exponential with jitter.
func polly(s *code.Source, add func(code.Call, string, *Policy)) {
	for _, c := range s.Calls(pollyOptions) {
		http := c.Head[1] != ""
		p := &Policy{
			System: "Polly", Layer: LayerClient, Attempts: 4, Shape: Fixed, Delay: 2 * time.Second, Multiplier: 2, CanJitter: true,
			Advice: "BackoffType = DelayBackoffType.Exponential,\nUseJitter = true",
		}
		if http {
			p.Shape, p.Jitter = Exponential, Jittered
		}
		if _, custom := c.Get("DelayGenerator"); custom {
			continue
		}
		if a, ok := c.Get("BackoffType"); ok {
			p.DelayAt = a.Span
			switch {
			case strings.HasSuffix(a.Value, ".Constant"):
				p.Shape = Fixed
			case strings.HasSuffix(a.Value, ".Linear"):
				p.Shape = Linear
			case strings.HasSuffix(a.Value, ".Exponential"):
				p.Shape = Exponential
			}
		}
		if a, ok := c.Get("UseJitter"); ok {
			p.JitterAt, p.Jitter = a.Span, Jittered
			if v, known := truth(a, ok); known && !v {
				p.Jitter = JitterOff
			}
		}
		if a, ok := c.Get("Delay"); ok {
			p.Delay = csharpDuration(a.Value)
		}
		if a, ok := c.Get("MaxRetryAttempts"); ok {
			if v, known := literal(a, ok); known {
				p.Attempts = int(v) + 1
			}
			p.Unlimited = a.Value == "int.MaxValue"
		}
		add(c, "Polly retry", p)
	}
}

var csharpSpan = regexp.MustCompile(`^TimeSpan\.From(Milliseconds|Seconds|Minutes)\((\d+(?:\.\d+)?)\)$`)

// csharpDuration reads TimeSpan.FromSeconds(2); 0 when it is no literal.
func csharpDuration(text string) time.Duration {
	m := csharpSpan.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	unit := map[string]time.Duration{"Milliseconds": time.Millisecond, "Seconds": time.Second, "Minutes": time.Minute}[m[1]]
	return wait(code.Arg{Value: m[2]}, true, unit)
}
