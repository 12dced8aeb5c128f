package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/report"
)

const simulateHelp = `Play a cache with its readers under several policies, and show side by side how
many queries reach the database in the busiest second and how long readers wait.
Nothing is read but the summaries of --from; nothing is touched.

Policies: fixed (one TTL, each reader that misses rebuilds the value), jitter
(random TTL), coalesce (single-flight: one rebuild a process, the others of the
process wait), lock (one rebuild of all, the others wait), stale (one rebuild of
all, everybody takes the old value meanwhile), xfetch (readers refresh by chance
before the expiry, and wait for that). They combine: jitter+lock,
jitter+coalesce+stale.

Events: deploy@10m restarts all processes into an empty cache, deploy@10m/2m one
process each two minutes; flush@10m empties the cache; fill@10m/30s is a job that
writes all keys within 30 s; none is a cache in steady state.

The same flags and seed give the same figures. With --from, keys, TTL and the
width of a fill come from a summary of herdscan ttl --save; rebuild time,
processes and hot keys from one of herdscan querylog --save. A flag wins over
them, and the report says what was taken and what is assumed.`

const simulateExample = `  herdscan simulate
  herdscan simulate --keys 1 --reads 400 --rebuild 1.2s --ttl 1h --processes 40
  herdscan simulate --policy fixed,jitter,jitter+lock --event flush@5m --ttl 10m
  herdscan simulate --db-concurrency 40 --policy fixed,lock,stale
  herdscan ttl --save ttl.hs && herdscan simulate --from ttl.hs --reads 900`

// allPolicies are shown when none is asked for.
const allPolicies = "fixed,jitter,coalesce,lock,stale,xfetch,jitter+coalesce,jitter+lock,jitter+stale"

type simulateOptions struct {
	m        comb.Mechanism
	jitter   share
	policies []string
	events   []string
	from     []string
	out      *output
}

func newSimulate(env Env) *cobra.Command {
	o := &simulateOptions{jitter: 0.15}
	c := &cobra.Command{
		Use: "simulate", Short: "Show what jitter, locks and the like would do to a cache's herd",
		Long: simulateHelp, Example: simulateExample, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSimulate(c, o) },
	}
	f := c.Flags()
	f.IntVar(&o.m.Keys, "keys", 5000, "`number` of keys")
	f.Float64Var(&o.m.Reads, "reads", 2000, "reads a `second`, over all keys")
	f.Float64Var(&o.m.Zipf, "zipf", 1, "`exponent` of Zipf's law, by which keys are read; 0: equally often")
	f.DurationVar(&o.m.TTL, "ttl", time.Hour, "`time` to live of each key")
	f.DurationVar(&o.m.Rebuild, "rebuild", 300*time.Millisecond, "mean `time` to compute a value")
	f.Float64Var(&o.m.RebuildCV, "rebuild-cv", 0, "standard deviation of that time as a `share` of it (lognormal)")
	f.IntVar(&o.m.Processes, "processes", 8, "`number` of processes that read")
	f.StringSliceVar(&o.policies, "policy", strings.Split(allPolicies, ","), "`policies` to play: fixed, jitter, coalesce, lock, stale, xfetch, or several joined by +")
	f.Var(&o.jitter, "jitter", "`share` x of the jitter: TTL x (1 ± x)")
	f.Float64Var(&o.m.Beta, "beta", 1, "`factor` of xfetch: larger refreshes earlier")
	f.DurationVar(&o.m.Grace, "grace", 0, "stale values are used up to this `time` after the expiry (default: one TTL)")
	f.IntVar(&o.m.Concurrency, "db-concurrency", 0, "`queries` that the database works on at once, more wait in line; 0: any number")
	f.DurationVar(&o.m.Hit, "hit", time.Millisecond, "`time` of a read that finds its value")
	f.StringSliceVar(&o.events, "event", nil, "what happens and `when`: deploy@10m, deploy@10m/2m, flush@10m, fill@10m/30s or none; may be given several times (default deploy@10m)")
	f.DurationVar(&o.m.Length, "for", 0, "`time` to simulate (default: two and a half TTLs after the last event)")
	f.Uint64Var(&o.m.Seed, "seed", 1, "`number` that chance starts from")
	f.StringArrayVar(&o.from, "from", nil, "take numbers from a summary `FILE` of ttl --save or querylog --save; may be given several times")
	o.out = addOutput(c, env)
	return c
}

func runSimulate(c *cobra.Command, o *simulateOptions) error {
	if err := o.out.check(); err != nil {
		return err
	}
	taken, err := takeNumbers(o.from, &o.m, func(flag string) bool { return c.Flags().Changed(flag) })
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := o.addEvents(taken.fill); err != nil {
		return err
	}
	plays, err := o.plays()
	if err != nil {
		return err
	}
	r := &report.Simulate{Version: version, Base: o.m, Coverage: taken.coverage, Notes: taken.notes}
	return o.play(c.Context(), r, plays)
}

func (o *simulateOptions) play(ctx context.Context, r *report.Simulate, plays []play) error {
	for _, p := range plays {
		if ctx.Err() != nil {
			r.Stopped = true
			break
		}
		m := o.m
		m.Policy = p.policy
		if p.jitter {
			m.Jitter.Fraction = float64(o.jitter)
		}
		r.Add(p.name, m, comb.Simulate(m))
	}
	return o.out.deliver(ctx, r.Document)
}

// Bounds of what can be simulated in seconds and some hundred megabytes.
const (
	maxSimKeys      = 1_000_000
	maxSimReads     = 1e7
	maxSimProcesses = 10_000
	maxSimPolicies  = 32
	maxSimTime      = 366 * 24 * time.Hour
)

// check refuses numbers that make no cache, and sets the defaults that depend
// on others.
func (o *simulateOptions) check() error {
	m := &o.m
	switch {
	case m.Keys < 1 || m.Keys > maxSimKeys:
		return fmt.Errorf("--keys %d: from 1 to %s", m.Keys, report.Int(maxSimKeys))
	case !(m.Reads > 0 && m.Reads <= maxSimReads):
		return fmt.Errorf("--reads %g: above 0 and up to %s a second", m.Reads, report.Int(int(maxSimReads)))
	case !(m.Zipf >= 0 && m.Zipf <= 5):
		return fmt.Errorf("--zipf %g: from 0 to 5", m.Zipf)
	case m.TTL < time.Second || m.TTL > maxSimTime:
		return fmt.Errorf("--ttl %s: from 1s to a year", m.TTL)
	case m.Rebuild < time.Microsecond || m.Rebuild > time.Hour:
		return fmt.Errorf("--rebuild %s: from 1µs to 1h", m.Rebuild)
	case !(m.RebuildCV >= 0 && m.RebuildCV <= 5):
		return fmt.Errorf("--rebuild-cv %g: from 0 to 5", m.RebuildCV)
	case m.Processes < 1 || m.Processes > maxSimProcesses:
		return fmt.Errorf("--processes %d: from 1 to %s", m.Processes, report.Int(maxSimProcesses))
	case !(m.Beta > 0 && m.Beta <= 100):
		return fmt.Errorf("--beta %g: above 0 and up to 100", m.Beta)
	case m.Concurrency < 0 || m.Concurrency > 1_000_000:
		return fmt.Errorf("--db-concurrency %d: from 0 (any number) to 1,000,000", m.Concurrency)
	case m.Grace < 0 || m.Hit < 0:
		return errors.New("--grace and --hit can't be negative")
	case m.Length < 0 || m.Length > maxSimTime:
		return fmt.Errorf("--for %s: up to a year", m.Length)
	}
	if m.Grace == 0 {
		m.Grace = m.TTL
	}
	return nil
}

// addEvents parses --event and sets how long is simulated. fill is an event
// that a summary proposes.
func (o *simulateOptions) addEvents(fill string) error {
	events := o.events
	if len(events) == 0 {
		events = []string{"deploy@10m"}
		if fill != "" {
			events = []string{fill}
		}
	}
	last := time.Duration(0)
	for _, text := range events {
		if text == "none" {
			continue
		}
		at, err := o.addEvent(text)
		if err != nil {
			return err
		}
		last = max(last, at)
	}
	if o.m.Length == 0 {
		o.m.Length = min((last + o.m.TTL*5/2).Round(time.Second), maxSimTime)
	}
	if last >= o.m.Length {
		return fmt.Errorf("--event: the last ends at %s, but only %s are simulated (--for)", last, o.m.Length)
	}
	return nil
}

// addEvent adds KIND@TIME or KIND@TIME/SPAN and returns when it is over.
func (o *simulateOptions) addEvent(text string) (time.Duration, error) {
	kind, when, found := strings.Cut(text, "@")
	when, spanText, spread := strings.Cut(when, "/")
	at, err := time.ParseDuration(when)
	var span time.Duration
	if err == nil && spread {
		span, err = time.ParseDuration(spanText)
	}
	if !found || err != nil || at < 0 || span < 0 || at > maxSimTime || span > maxSimTime {
		return 0, fmt.Errorf("--event %s: write KIND@TIME since the start, such as deploy@10m, deploy@10m/2m, flush@1h, fill@10m/30s", text)
	}
	switch m := &o.m; kind {
	case "deploy":
		m.Deploys = append(m.Deploys, comb.Deploy{At: at, Gap: span})
		if float64(span)*float64(m.Processes) > float64(maxSimTime) {
			return 0, fmt.Errorf("--event %s: %d processes take longer than a year", text, m.Processes)
		}
		return at + span*time.Duration(m.Processes-1), nil
	case "fill":
		m.Fills = append(m.Fills, comb.Fill{At: at, Width: span})
		return at + span, nil
	case "flush":
		if spread {
			return 0, fmt.Errorf("--event %s: a flush takes no time", text)
		}
		m.Flushes = append(m.Flushes, at)
		return at, nil
	}
	return 0, fmt.Errorf("--event %s: there are deploy, flush, fill and none", text)
}

// play is one policy to be simulated.
type play struct {
	name   string
	policy comb.Policy
	jitter bool
}

// plays parses --policy. The same policy twice is played once.
func (o *simulateOptions) plays() ([]play, error) {
	var all []play
	for _, text := range o.policies {
		p, err := parsePlay(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	if len(all) == 0 || len(all) > maxSimPolicies {
		return nil, fmt.Errorf("--policy: from 1 to %d policies", maxSimPolicies)
	}
	if m := o.m; float64(m.Keys)*float64(1+len(m.Deploys)) > 4*maxSimKeys {
		return nil, fmt.Errorf("--event: %d deploys of %s keys are too much; at most %s in all", len(m.Deploys), report.Int(m.Keys), report.Int(4*maxSimKeys))
	}
	return all, nil
}

// parsePlay parses protections joined by "+" into the one order in which they
// are named.
func parsePlay(text string) (play, error) {
	var p play
	for part := range strings.SplitSeq(text, "+") {
		if part == "jitter" {
			p.jitter = true
			continue
		}
		if part == "fixed" {
			part = comb.Unprotected.String()
		}
		one, ok := comb.ParsePolicy(part)
		if !ok {
			return p, fmt.Errorf("--policy %s: there are fixed, jitter, coalesce, lock, stale and xfetch, joined by +", text)
		}
		p.policy |= one
	}
	switch {
	case p.policy == comb.Unprotected && p.jitter:
		p.name = "jitter"
	case p.policy == comb.Unprotected:
		p.name = "fixed"
	case p.jitter:
		p.name = "jitter+" + p.policy.String()
	default:
		p.name = p.policy.String()
	}
	return p, nil
}
