package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/eventlog"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/report/attribute"
	"github.com/herdscan/herdscan/ttlhist"
)

const reportHelp = `Put caches, query logs and schedules on one clock, say what each comb of queries
is consistent with, which suspects are cleared and why, and what would mend it.

INPUT is recognised by its content: a summary written by ttl --save or querylog
--save, a query log, an RDB file, the saved output of memcached's "lru_crawler
metadump all", a list of keys and expiries, a crontab or any other file that
herdscan lint knows (source code too, if it is named), a folder of such files, or
the URL of a Redis or memcached; "-" is standard input. Logs and dumps are not
taken from folders: name them.

Summaries of many hosts, shards and days are put together; of several snapshots
of one cache the latest is judged, and the older ones are evidence.

--event tells what else happened, so that a first tooth can be explained:
deploy, flush, restart or outage, with its time.

Secrets stay off the command line: REDIS_URL and HERDSCAN_DSN are used where no
cache and no query log is named, REDISCLI_AUTH holds a password, --defaults-file
names an option file of the mysql client.

--compare OLD NEW says which herds are gone, smaller, unchanged and new between
two reports (their JSON) or two inputs; it exits with 1 when one is new or worse.`

const reportExample = `  herdscan report ttl.hs slow.hs deploy/
  herdscan report slow.log.1.gz slow.log dump.rdb /etc/crontab /etc/cron.d -o report.html
  herdscan report --redis redis://cache-1:6379 --log slow.log --event deploy@2026-11-03T10:00:04Z
  herdscan report summaries/*.hs --format markdown
  herdscan report --compare before.json after.json`

type reportOptions struct {
	redis, memcached []string
	server           ttlOptions // how the caches are reached
	logs             []string
	defaultsFile     string
	events           []string
	tz, logServer    string
	rate             float64
	hosts            int
	stdinName        string
	now              string
	compare          bool
	lang             string
	top              int
	out              *output
}

func newReport(env Env) *cobra.Command {
	o := &reportOptions{}
	c := &cobra.Command{
		Use: "report [INPUT...]", Short: "Name the cause of each herd from caches, logs and schedules together",
		Long: reportHelp, Example: reportExample,
		RunE: func(c *cobra.Command, args []string) error { return runReport(c.Context(), env, o, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.redis, "redis", nil, "also scan the Redis at this `URL`; may be given several times")
	f.StringArrayVar(&o.memcached, "memcached", nil, "also read the memcached at this `HOST[:PORT]`; may be given several times")
	o.server.addConnection(f)
	f.StringArrayVar(&o.logs, "log", nil, "also read this query log `FILE`; may be given several times")
	f.StringVar(&o.defaultsFile, "defaults-file", "", "read the log tables of the MySQL that this option `FILE` names")
	f.StringArrayVar(&o.events, "event", nil, "`KIND@TIME` of a deploy, flush, restart or outage; may be given several times")
	f.StringVar(&o.tz, "tz", "Local", "time `zone` of times that name none, and of the wall clock that jobs follow")
	f.StringVar(&o.logServer, "server", "", "who wrote the logs, if they do not say: `mysql` (Percona too), mariadb or tidb")
	f.Float64Var(&o.rate, "sample-rate", 0, "one of so `many` statements was logged, whatever the log says (1: all)")
	f.StringVar(&o.stdinName, "stdin-filename", "", "the `name` that tells the format of standard input, such as crontab")
	f.IntVar(&o.hosts, "hosts", 0, "`number` of machines that each crontab and timer is installed on; 0: not known")
	f.StringVar(&o.now, "now", "", "judge keys as of this `time` instead of the sources' own")
	f.BoolVar(&o.compare, "compare", false, "compare two inputs, OLD and NEW, instead")
	f.StringVar(&o.lang, "lang", "", "`language` of code snippets: "+strings.Join(report.Langs(), ", "))
	f.IntVar(&o.top, "top", 10, "show so many `rows` in each table")
	_ = c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(report.Langs(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("server", cobra.FixedCompletions([]string{"mysql", "mariadb", "tidb"}, cobra.ShellCompDirectiveNoFileComp))
	o.out = addOutput(c, env, "sarif")
	return c
}

// reportRun is one run of report with its flags parsed.
type reportRun struct {
	env    Env
	o      *reportOptions
	zone   *time.Location
	now    time.Time // of the keys; zero: the sources' own
	query  *queryRun
	events []attribute.Event
}

func runReport(ctx context.Context, env Env, o *reportOptions, args []string) error {
	r, err := o.parse(env)
	if err != nil {
		return err
	}
	defer frugal()()
	if o.compare {
		return r.compare(ctx, args)
	}
	in, err := r.inputs(ctx, args)
	if err != nil {
		return err
	}
	incident, err := r.incident(ctx, in)
	if err != nil {
		return err
	}
	return o.out.deliver(ctx, incident.Document)
}

func (o *reportOptions) parse(env Env) (*reportRun, error) {
	if err := o.out.check(); err != nil {
		return nil, err
	}
	q := &querylogOptions{tz: o.tz, server: o.logServer, rate: o.rate, lang: o.lang, defaultsFile: o.defaultsFile, out: o.out}
	query, err := q.parse(env)
	if err != nil {
		return nil, err
	}
	r := &reportRun{env: env, o: o, zone: query.zone, query: query}
	if r.now, _, err = window(o.now, "", r.zone); err != nil {
		return nil, fmt.Errorf("--now %s: not a time (RFC 3339, 2026-11-03 10:00, or Unix seconds)", o.now)
	}
	if o.server.scan.Timeout <= 0 {
		return nil, fmt.Errorf("--timeout %s: it must be longer than 0", o.server.scan.Timeout)
	}
	if o.hosts < 0 || o.top < 0 {
		return nil, errors.New("--hosts and --top can't be negative")
	}
	for _, text := range o.events {
		e, err := parseEvent(text, r.zone)
		if err != nil {
			return nil, err
		}
		r.events = append(r.events, e)
	}
	slices.SortStableFunc(r.events, func(a, b attribute.Event) int { return a.At.Compare(b.At) })
	return r, nil
}

// parseEvent reads KIND@TIME.
func parseEvent(text string, zone *time.Location) (attribute.Event, error) {
	kind, at, ok := strings.Cut(text, "@")
	kind = strings.ToLower(strings.TrimSpace(kind))
	var kinds []string
	for _, k := range attribute.EventKinds() {
		kinds = append(kinds, string(k))
	}
	if !ok || !slices.Contains(kinds, kind) {
		return attribute.Event{}, fmt.Errorf("--event %s: write KIND@TIME, such as deploy@2026-11-03T10:00:04Z; KIND is %s", text, listOf(kinds, "or"))
	}
	t, err := eventlog.ParseTime(strings.TrimSpace(at), zone)
	if err != nil {
		return attribute.Event{}, fmt.Errorf("--event %s: %w (RFC 3339, a time in --tz, or Unix seconds)", text, err)
	}
	return attribute.Event{Kind: attribute.EventKind(kind), At: t}, nil
}

// inputs sorts what is named, on the command line and by flags. What is not
// named is taken from the environment.
func (r *reportRun) inputs(ctx context.Context, args []string) (*reportInputs, error) {
	in := &reportInputs{stdin: bufio.NewReaderSize(r.env.Stdin, stdinHead), stdinName: r.o.stdinName}
	for i, arg := range args {
		if arg == "-" && slices.Contains(args[:i], "-") {
			return nil, errors.New("standard input (-) can be read only once")
		}
		if err := in.sort(ctx, arg); err != nil {
			return nil, err
		}
	}
	in.logs = append(in.logs, r.o.logs...)
	for _, url := range r.o.redis {
		s, err := sourceOf(url)
		if err == nil && s.url == "" {
			err = fmt.Errorf("--redis %s: not a URL; write redis://host:port", url)
		}
		if err != nil {
			return nil, err
		}
		in.keys = append(in.keys, s)
	}
	for _, host := range r.o.memcached {
		if !strings.Contains(host, "://") {
			host = "memcached://" + host
		}
		s, err := sourceOf(host)
		if err != nil {
			return nil, err
		}
		in.keys = append(in.keys, s)
	}
	if r.o.server.urlFile != "" {
		url, err := readSecret(r.o.server.urlFile)
		if err != nil {
			return nil, fmt.Errorf("--url-file: %w", err)
		}
		in.keys = append(in.keys, ttlSource{url: url})
	}
	if len(in.keys)+len(in.keySummaries) == 0 {
		if url := r.env.Getenv("REDIS_URL"); url != "" {
			in.keys = append(in.keys, ttlSource{url: url})
		}
	}
	if in.empty() && !r.asksMySQL(in) {
		return nil, errors.New("nothing to report on: give summaries, query logs, dumps, folders to lint, --redis or --memcached (see herdscan report --help)")
	}
	return in, nil
}

// asksMySQL says whether the log tables of a server are to be read.
func (r *reportRun) asksMySQL(in *reportInputs) bool {
	return r.o.defaultsFile != "" || r.env.Getenv("HERDSCAN_DSN") != "" && len(in.logs)+len(in.querySummaries) == 0
}

// incident reads the inputs and analyses them.
func (r *reportRun) incident(ctx context.Context, in *reportInputs) (*report.Incident, error) {
	out := &report.Incident{
		Version: version, Zone: r.zone, Events: r.events, Lang: r.o.lang, Coverage: in.coverage,
	}
	if err := r.readQueries(ctx, in, out); err != nil {
		return nil, err
	}
	r.readKeys(ctx, in, out)
	if len(in.lint) > 0 {
		if err := r.readConfig(ctx, in, out); err != nil {
			return nil, err
		}
	}
	out.Attribute()
	return out, nil
}

// readConfig lints the files and folders together: collisions are across files.
func (r *reportRun) readConfig(ctx context.Context, in *reportInputs, out *report.Incident) error {
	o := lint.Options{NamedCode: true, Hosts: r.o.hosts, Now: r.env.Now()}
	if slices.Contains(in.lint, "-") {
		o.Stdin, o.StdinName = in.stdin, in.stdinName
	}
	res, err := lintAll(ctx, in.lint, o)
	if err != nil {
		return err
	}
	out.Lint = &report.Lint{Version: version, Paths: in.lint, Result: res, Now: o.Now, Zone: r.zone, Base: repositoryBase()}
	return nil
}

// analyseKeys judges one set of snapshots.
func (r *reportRun) analyseKeys(sum *ttlhist.Summary) *ttlhist.Analysis {
	return ttlhist.Analyse(sum, ttlhist.Options{Now: r.now, Location: r.zone})
}

// analyseQueries judges the logs.
func (r *reportRun) analyseQueries(sum *querylog.Summary) *querylog.Analysis {
	return querylog.Analyse(sum, querylog.AnalyseOptions{Zone: r.zone, SampleRate: r.o.rate})
}
