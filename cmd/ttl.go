package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

const ttlHelp = `Look at the expiries of a cache as it is now and say which keys will die
together, when, how many in one second, which TTL and which birth that means,
and what jitter would make of it.

SOURCE is a Redis or Valkey (redis://host:port/db, rediss://, unix:///path), a
memcached (memcached://host:port), or a file, recognised by its content: an RDB
file, the saved output of memcached's "lru_crawler metadump all", a list of keys
and expiries (TSV, CSV, NDJSON), or a summary written by --save; "-" is standard
input. Without one, REDIS_URL is used, else redis://127.0.0.1:6379. Without a
database number all databases that hold keys are read.

A password never goes on the command line, where other users can see it: put the
URL into REDIS_URL or into a file for --url-file, or the password into
REDISCLI_AUTH.

herdscan only reads: SCAN and the expiries of the keys it names. By default it
takes at most half of the server's time, asks for few keys at once, and backs off
when the server slows down. --explain-access lists the commands and the ACL line
that permits them.`

const ttlExample = `  herdscan ttl
  herdscan ttl redis://cache-1:6379/0
  herdscan ttl --target 50 --lang python
  redis-cli --rdb - | herdscan ttl -
  herdscan ttl --save cache-1.hs && herdscan ttl cache-1.hs cache-2.hs
  REDIS_URL=rediss://scan:secret@cache-1:6380 herdscan ttl --format json`

// What --input takes.
const (
	inputAuto = "auto"
	inputKeys = "keys"
)

type ttlOptions struct {
	scan    scan.Options
	urlFile string
	input   string

	group    string
	prefixes []string
	kinds    []string

	save    string
	samples bool

	target, budget float64
	secondLook     time.Duration
	now, tz        string
	top            int
	lang           string
	explainAccess  bool

	out *output
}

func newTTL(env Env) *cobra.Command {
	o := &ttlOptions{}
	c := &cobra.Command{
		Use: "ttl [SOURCE...]", Short: "Find cache keys that will expire together",
		Long: ttlHelp, Example: ttlExample,
		RunE: func(c *cobra.Command, args []string) error { return runTTL(c.Context(), env, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.input, "input", inputAuto, "what a FILE is: `KIND` auto (by its content), or keys, a list of keys and expiries")
	o.addConnection(f)

	f.BoolVar(&o.scan.Fast, "fast", false, "1,000 keys at once and no rests: quicker, and the server feels it")
	f.Float64Var(&o.scan.Duty, "duty", 0.5, "`share` of the server's time that the scan may take, 0-1")
	f.IntVar(&o.scan.Rate, "rate", 0, "at most so many `keys` a second; 0: no limit")

	f.BoolVar(&o.scan.Replica, "replica", false, "read a replica of the server instead, and nothing if there is none")
	f.Var((*share)(&o.scan.Sample), "sample", "read only this `share` of the keys, such as 1%")
	f.Uint64Var(&o.scan.MaxKeys, "max-keys", 0, "sample so that about so many `keys` are read; 0: all")

	o.addGrouping(f)

	f.StringVar(&o.save, "save", "", "write a summary to `FILE`, to be read again by ttl, many together")
	f.BoolVar(&o.samples, "samples", false, "let --save keep a few whole keys of each pattern")

	f.Float64Var(&o.target, "target", 0, "find the smallest jitter for at most so many `keys` a second (default: a tenth of the busiest second)")
	f.Float64Var(&o.budget, "budget", 0, "`keys` a second whose expiry the store or database can take (HS408); 0: not judged")
	f.DurationVar(&o.secondLook, "second-look", 0, "read some keys again after this `time`: those written meanwhile tell their TTL")
	f.StringVar(&o.now, "now", "", "judge as of this `time` instead of the source's own")
	f.StringVar(&o.tz, "tz", "Local", "time `zone` in which a midnight is a midnight")
	f.IntVar(&o.top, "top", 10, "show so many `patterns`")
	f.StringVar(&o.lang, "lang", "", "`language` of code snippets: "+strings.Join(report.Langs(), ", "))
	f.BoolVar(&o.explainAccess, "explain-access", false, "list the commands sent and the ACL line that permits them, then stop")
	_ = c.RegisterFlagCompletionFunc("input", cobra.FixedCompletions([]string{inputAuto, inputKeys}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(report.Langs(), cobra.ShellCompDirectiveNoFileComp))
	o.out = addOutput(c, env)
	return c
}

func runTTL(ctx context.Context, env Env, o *ttlOptions, args []string) error {
	if o.explainAccess {
		_, err := io.WriteString(env.Stdout, scan.ExplainAccess())
		return err
	}
	analysis, err := o.analysis()
	if err != nil {
		return err
	}
	grouping, err := o.grouping()
	if err != nil {
		return err
	}
	sources, err := o.sources(env, args)
	if err != nil {
		return err
	}
	defer frugal()()
	run := &ttlRun{env: env, opts: o, now: analysis.Now, grouping: grouping, summary: &ttlhist.Summary{Grouping: grouping}}
	run.readAll(ctx, sources)
	if o.save != "" {
		if err := writeFile(o.save, func(w io.Writer) error { return run.summary.Save(w, o.samples) }); err != nil {
			return fmt.Errorf("--save %s: %w", o.save, err)
		}
	}
	found := ttlhist.Analyse(run.summary, analysis)
	if found.FieldTTL > 0 {
		run.notes = append(run.notes, fmt.Sprintf("hashes of which a field expires: %s of %s without a TTL; HS406 does not count them",
			report.Int(found.FieldTTL), report.Count(found.NoTTL, "keys")))
	}
	r := &report.TTL{
		Version: version, Analysis: found,
		Coverage: run.coverage, Notes: run.notes, Top: o.top, Lang: o.lang,
	}
	return o.out.deliver(ctx, r.Document)
}

// analysis checks the options that the analysis takes.
func (o *ttlOptions) analysis() (ttlhist.Options, error) {
	var a ttlhist.Options
	if err := o.out.check(); err != nil {
		return a, err
	}
	if o.input != "" && o.input != inputAuto && o.input != inputKeys {
		return a, fmt.Errorf("--input %s: there are auto and keys", o.input)
	}
	zone, err := time.LoadLocation(o.tz)
	if err != nil {
		return a, fmt.Errorf("--tz %s: no such time zone", o.tz)
	}
	a = ttlhist.Options{Target: o.target, Budget: o.budget, Location: zone}
	if a.Now, _, err = window(o.now, "", zone); err != nil {
		return a, fmt.Errorf("--now %s: not a time (RFC 3339, 2026-11-03 10:00, or Unix seconds)", o.now)
	}
	if !(o.target >= 0) || !(o.budget >= 0) || o.secondLook < 0 || o.top < 0 { // NaN is neither
		return a, errors.New("--target, --budget, --second-look and --top can't be negative")
	}
	if o.scan.Timeout <= 0 {
		return a, fmt.Errorf("--timeout %s: it must be longer than 0", o.scan.Timeout)
	}
	for _, text := range o.kinds {
		k, err := parseKind(text)
		if err != nil {
			return a, err
		}
		a.Kinds = append(a.Kinds, k)
	}
	if o.lang != "" && !slices.Contains(report.Langs(), o.lang) {
		return a, fmt.Errorf("--lang %s: there are %s", o.lang, strings.Join(report.Langs(), ", "))
	}
	return a, nil
}

func parseKind(text string) (ttlhist.KindRule, error) {
	name, pattern, ok := strings.Cut(text, "=")
	if !ok {
		return ttlhist.KindRule{}, fmt.Errorf("--kind %s: write KIND=REGEXP, such as lock=^mutex", text)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return ttlhist.KindRule{}, fmt.Errorf("--kind %s: %w", text, err)
	}
	for _, k := range []ttlhist.Kind{ttlhist.Data, ttlhist.Cache, ttlhist.Session, ttlhist.Counter, ttlhist.LockKey, ttlhist.Queue} {
		if k.String() == name {
			return ttlhist.KindRule{Kind: k, Match: re}, nil
		}
	}
	return ttlhist.KindRule{}, fmt.Errorf("--kind %s: there are cache, session, lock, queue, counter and data", text)
}

func (o *ttlOptions) grouping() (ttlhist.Grouping, error) {
	g := ttlhist.Grouping{Prefixes: o.prefixes}
	if o.group != "" {
		re, err := regexp.Compile(o.group)
		if err != nil {
			return g, fmt.Errorf("--group: %w", err)
		}
		g.Match = re
	}
	return g, nil
}
