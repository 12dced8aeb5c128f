package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
	"github.com/herdscan/herdscan/watch/spread"
)

const spreadHelp = `Disarm a loaded herd: give the keys of one pattern that will expire together
new expiries, so that they die one after the other, before the tooth falls.

Nothing is written without --yes: until then spread only reads, and says which
keys it would change, what that does to the busiest second, and the ACL line
that writing needs.

PATTERN is a name in the table of "herdscan ttl", such as 'session:*'. Only keys
in the teeth ahead are touched, and their lives are only ever shortened, unless
--allow-longer is given: whether a value may be served longer is for its owner
to say. Keys without a TTL, locks, queues and counters are never touched.

--jitter gives each tooth the time from 15 % (say) of the TTL before it;
--target makes the smallest change that keeps every second at so many keys.

Each key is compared before it is set, in one step on the server: a key that was
rewritten since it was read is left alone. All old expiries are in the log before
the first key is touched. Ctrl-C stops between two batches; --resume goes on with
the same expiries, --undo puts back what still has the expiry that was written.

SOURCE is as for "herdscan ttl", but only a live Redis or Valkey: its primary.

Exit codes: 0 done, or nothing to do, or the dry run would reach what was asked;
1 it would not, or did not: some seconds stay above the target; 2 usage error,
refused, or keys that could not be reached; 130 interrupted.`

const spreadExample = `  herdscan spread --pattern 'session:*' --jitter 15%
  herdscan spread --pattern 'page:*' --target 50/s redis://cache-1:6379/0
  herdscan spread --pattern 'page:*' --target 50/s --yes --log page.ndjson
  herdscan spread --resume page.ndjson --yes
  herdscan spread --undo page.ndjson --yes`

type spreadOptions struct {
	ttlOptions
	pattern      string
	jitter       share
	targetText   string
	allowLonger  bool
	margin       time.Duration
	yes          bool
	log          string
	resume, undo string
}

func newSpread(env Env) *cobra.Command {
	o := &spreadOptions{}
	c := &cobra.Command{
		Use: "spread [SOURCE]", Short: "Spread the expiries of a loaded herd before it dies",
		Long: spreadHelp, Example: spreadExample, Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runSpread(c.Context(), env, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.pattern, "pattern", "", "spread the keys of this `PATTERN`, as herdscan ttl prints it")
	f.Var(&o.jitter, "jitter", "keys may die earlier by up to this `share` of their TTL (default 15%)")
	f.StringVar(&o.targetText, "target", "", "at most so many `keys` in one second, such as 50/s, by the smallest change")
	f.BoolVar(&o.allowLonger, "allow-longer", false, "keys may also live longer than their writer said")
	f.DurationVar(&o.margin, "margin", 10*time.Second, "no key gets less `time` to live than this, and the time that writing takes")
	f.BoolVar(&o.yes, "yes", false, "write; without it nothing is")
	f.StringVar(&o.log, "log", "", "log of every change, a new `FILE` (default herdscan-spread-TIME.ndjson)")
	f.StringVar(&o.resume, "resume", "", "go on with the plan in the log `FILE`")
	f.StringVar(&o.undo, "undo", "", "put back the expiries in the log `FILE`, where they still are as written")
	f.StringArrayVar(&o.kinds, "kind", nil, "what keys are for: `KIND=REGEXP` on the pattern, as for herdscan ttl")

	o.addConnection(f)
	f.Float64Var(&o.scan.Duty, "duty", 0.5, "`share` of the server's time that reading and writing may take, 0-1")
	f.IntVar(&o.scan.Rate, "rate", 0, "read and write at most so many `keys` a second; 0: no limit")
	f.BoolVar(&o.explainAccess, "explain-access", false, "list the commands sent and the ACL line that permits them, then stop")
	o.out = addOutput(c, env)
	return c
}

func runSpread(ctx context.Context, env Env, o *spreadOptions, args []string) error {
	if o.explainAccess {
		_, err := io.WriteString(env.Stdout, scan.ExplainWriteAccess(scan.KeyGlob(cmp.Or(o.pattern, "*"))))
		return err
	}
	plan, err := o.options()
	if err != nil {
		return err
	}
	s := &spreadRun{env: env, opts: o}
	switch {
	case o.undo != "":
		return s.undo(ctx, args)
	case o.resume != "":
		return s.resume(ctx, args)
	default:
		return s.spread(ctx, args, plan)
	}
}

// options checks the flags.
func (o *spreadOptions) options() (spread.Options, error) {
	p := spread.Options{Pattern: o.pattern, Jitter: float64(o.jitter), AllowLonger: o.allowLonger, Margin: o.margin, Rate: float64(o.scan.Rate), Seed: rand.Uint64()}
	a, err := o.analysis()
	if err != nil {
		return p, err
	}
	p.Kinds = a.Kinds
	given := 0
	for _, text := range []string{o.pattern, o.resume, o.undo} {
		if text != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return p, errors.New("say what to spread: --pattern 'session:*', a pattern in the table of herdscan ttl")
	case given > 1:
		return p, errors.New("give one of --pattern, --resume and --undo")
	case o.pattern == "" && (o.jitter != 0 || o.targetText != "" || o.allowLonger || o.log != ""):
		return p, errors.New("--resume and --undo take everything from the log: --jitter, --target, --allow-longer and --log go with --pattern")
	case o.jitter != 0 && o.targetText != "":
		return p, errors.New("give --jitter or --target, not both")
	case o.margin < 0:
		return p, fmt.Errorf("--margin %s can't be negative", o.margin)
	case o.log != "" && !o.yes:
		return p, errors.New("--log goes with --yes: a dry run changes nothing")
	}
	if o.targetText != "" {
		p.Target, err = strconv.ParseFloat(strings.TrimSuffix(o.targetText, "/s"), 64)
		if err != nil || !(p.Target >= 1) || p.Target > 1e9 {
			return p, fmt.Errorf("--target %s: write a number of keys a second of at least 1, such as 50/s", o.targetText)
		}
	} else if p.Jitter == 0 {
		p.Jitter = 0.15
	}
	return p, nil
}

// analysis checks the options that spread shares with ttl.
func (o *spreadOptions) analysis() (ttlhist.Options, error) {
	o.tz = "UTC"
	return o.ttlOptions.analysis()
}

// server is the one Redis to work on; logged is what a log says about it.
func (o *spreadOptions) server(env Env, args []string, logged string) (ttlSource, error) {
	if len(args) == 0 && o.urlFile == "" && env.Getenv("REDIS_URL") == "" && logged != "" {
		return ttlSource{url: logged}, nil
	}
	list, err := o.sources(env, args)
	if err != nil {
		return ttlSource{}, err
	}
	switch s := list[0]; {
	case scan.IsMemcachedURL(s.url):
		return s, errors.New("memcached can't compare an expiry before it is set: spread works on Redis and Valkey only")
	case s.url == "":
		return s, fmt.Errorf("%s: spread changes keys on a live server: give its URL, redis://host:port", report.Clean(s.path))
	default:
		return s, nil
	}
}
