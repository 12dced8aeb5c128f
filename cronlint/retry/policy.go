// Package retry reads retry policies and reconnect settings of many systems
// into one form, and holds the rules about them (HS2xx).
//
// A format (grpc.go, resilience4j.go, ...) knows its system: names, defaults,
// what its jitter really does. It says all of it in a Policy; the rules
// (hs201.go, ...) know no system.
package retry

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// A Shape is how the waits between attempts develop.
type Shape int

// The shapes of waits.
const (
	Unknown     Shape = iota // decided elsewhere, in code for instance
	Immediate                // no wait at all
	Fixed                    // always the same
	Linear                   // grows by the same amount
	Exponential              // grows by the same factor
	Steps                    // a list of waits
	Random                   // drawn anew each time
)

// A Jitter says whether waits are random.
type Jitter int

// The kinds of jitter.
const (
	NoJitter  Jitter = iota // not set, and the default is none
	JitterOff               // switched off in so many words
	Jittered                // set, or built in
)

// A Policy is one retry policy in force, defaults filled in. It is the Value
// of a lint.Setting.
type Policy struct {
	System     string // "Resilience4j", "gRPC"
	Layer      Layer
	Attempts   int           // in total, the first included; 0: not known
	Unlimited  bool          // nothing ends it
	Shape      Shape         // of the waits
	Delay      time.Duration // first wait; 0: not known, unless Immediate
	Max        time.Duration // cap of one wait; 0: none
	Multiplier float64       // of Exponential
	Jitter     Jitter
	JitterLow  float64 // least factor that jitter gives a wait: 0.5 for ±50 %
	Clipped    bool    // the cap is applied after the jitter
	CanJitter  bool    // the system offers jitter
	Constant   bool    // the wait never grows although the system is made to let it
	Budget     Budget
	Slow       bool          // a retry is dear to start by itself (a pod): never a storm in milliseconds
	Dead       []Dead        // settings without effect
	Partial    bool          // laid over a policy in another document or file of the same folder
	Spread     time.Duration // width over which Advice spreads the first retry; 0: not known

	DelayAt, JitterAt, AttemptsAt lint.Span  // where they are written; zero: nowhere
	Advice                        string     // what to paste
	Fix                           *lint.Edit // the same as an edit; nil where it takes a human
}

// A Layer is the place in a request's way where a policy sits.
type Layer string

// The layers, outermost first.
const (
	LayerJob    Layer = "job"
	LayerClient Layer = "client library"
	LayerMesh   Layer = "mesh or proxy"
)

// A Budget says whether the share of retries in all traffic is bounded.
type Budget int

// The kinds of budget.
const (
	BudgetNone    Budget = iota // the system has none
	BudgetMissing               // the system offers one, it is not set
	BudgetSet
)

// A Dead is a setting that has no effect.
type Dead struct {
	At     lint.Span
	Jitter bool // it was to give jitter, so that there is none now
	Why    string
}

// Retries says whether the policy retries at all.
func (p *Policy) Retries() bool { return p.Attempts != 1 }

// DeadJitter says whether a jitter setting is without effect.
func (p *Policy) DeadJitter() bool {
	for _, d := range p.Dead {
		if d.Jitter {
			return true
		}
	}
	return false
}

// ClippedFrom returns the first retry (from 1) whose wait is the cap for every
// client, so that the jitter is lost. ok is false when that never happens or
// only behind the last attempt.
func (p *Policy) ClippedFrom() (retry int, ok bool) {
	if p.Jitter != Jittered || !p.Clipped || p.Max <= 0 || p.Delay <= 0 || p.JitterLow <= 0 {
		return 0, false
	}
	least := float64(p.Delay) * p.JitterLow
	switch {
	case least >= float64(p.Max):
		retry = 1
	case p.Shape == Exponential && p.Multiplier > 1:
		steps := math.Log(float64(p.Max)/least) / math.Log(p.Multiplier)
		retry = int(math.Ceil(steps-1e-9)) + 1
	default:
		return 0, false
	}
	return retry, p.Unlimited || p.Attempts == 0 || retry < p.Attempts
}

// tries says the number of attempts for a message.
func (p *Policy) tries() string {
	switch {
	case p.Unlimited:
		return "without an end"
	case p.Attempts == 0:
		return "several times"
	case p.Attempts == 2:
		return "once"
	}
	return strconv.Itoa(p.Attempts-1) + " times"
}

// waits says the delays for a message: "1s, 2s, 4s, ...".
func (p *Policy) waits() string {
	if p.Delay <= 0 {
		return "the same waits"
	}
	if p.Shape != Exponential || p.Multiplier <= 1 {
		return short(p.Delay)
	}
	n := 3
	if p.Attempts > 1 {
		n = min(n, p.Attempts-1)
	}
	var parts []string
	wait := float64(p.Delay)
	for range n {
		if p.Max > 0 {
			wait = min(wait, float64(p.Max))
		}
		if wait >= math.MaxInt64/2 {
			break
		}
		parts = append(parts, short(time.Duration(wait)))
		wait *= p.Multiplier
	}
	text := strings.Join(parts, ", ")
	if p.Attempts == 0 || p.Attempts-1 > n {
		text += ", ..."
	}
	return text
}

// short prints a duration without zero units.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.Round(10 * time.Microsecond).String()
}

// effect says what the advice does, where it can be worked out: the share of
// the clients in the busiest second of their first retry.
func (p *Policy) effect() lint.Effect {
	if p.Spread <= time.Second || p.Delay <= 0 {
		return lint.Effect{}
	}
	after := math.Ceil(100 * float64(time.Second) / float64(p.Spread))
	return lint.Effect{
		Text: fmt.Sprintf("busiest second of the first retry: all clients → %g %% of them", after),
		Unit: "% of clients/s", Before: 100, After: after,
	}
}

// each calls f for every retry policy that retries. A partial policy whose
// whole is in the same folder is left out: what it leaves open is said there.
func each(p *lint.Pass, f func(s *lint.Setting, r *Policy)) {
	type home struct{ dir, format string }
	whole := make(map[home]bool)
	for _, s := range p.Settings {
		if r, ok := s.Value.(*Policy); ok && !r.Partial {
			whole[home{path.Dir(s.File.Path), s.Format}] = true
		}
	}
	for _, s := range p.Settings {
		r, ok := s.Value.(*Policy)
		if ok && r.Retries() && !(r.Partial && whole[home{path.Dir(s.File.Path), s.Format}]) {
			f(s, r)
		}
	}
}

// reportFix reports a problem with the policy's own fix.
func reportFix(p *lint.Pass, r *rule.Rule, s *lint.Setting, x *Policy, message string) {
	problem := s.Problem(r, x.DelayAt, message)
	problem.Advice, problem.Fix, problem.Effect = x.Advice, x.Fix, x.effect()
	p.Report(problem)
}

// report makes and reports a problem about a policy.
func report(p *lint.Pass, r *rule.Rule, s *lint.Setting, at lint.Span, message, advice string) {
	reportAs(p, r, r.Severity, s, at, message, advice)
}

func reportAs(p *lint.Pass, r *rule.Rule, sev rule.Severity, s *lint.Setting, at lint.Span, message, advice string) {
	problem := s.Problem(r, at, message)
	problem.Severity = sev
	problem.Advice = advice
	p.Report(problem)
}
