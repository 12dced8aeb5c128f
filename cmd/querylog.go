package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
	"github.com/herdscan/herdscan/report"
)

const querylogHelp = `Read query logs of MySQL, MariaDB or Percona Server and say which queries came as
a herd: how often, when, from how many clients, with which identical texts, what
fits as the cause, and what would mend it.

FILE is a slow log or a general log of any version (5.0-8.4, MariaDB, Percona,
RDS and Aurora, exports of the log tables), plain, gzip or zstd, recognised by
content; several rotated files are put into the order of their times; of a folder
every query log in it is read. "-" is standard input. Summaries written by --save
are read like logs.

Without FILE the log tables of a server are read once: its DSN comes from
HERDSCAN_DSN (user:password@tcp(host:3306)/), or from --defaults-file or ~/.my.cnf.
--live samples a running server that writes no log at all. herdscan never writes
to the server; --explain-access lists what it asks and the privileges needed.`

const querylogExample = `  herdscan querylog slow.log.1.gz slow.log
  herdscan querylog --tz America/New_York general.log
  herdscan querylog --at 2026-11-03T14:05:07Z slow.log
  herdscan querylog --live --for 10m --defaults-file ~/.my.cnf
  herdscan querylog --save db-1.hs slow.log && herdscan querylog db-1.hs db-2.hs`

type querylogOptions struct {
	from, to, at, tz, server string
	foldDigits               bool
	rate                     float64
	query, host              string
	top                      int
	errors                   bool
	save                     string
	samples                  bool
	lang                     string
	live                     bool
	liveFor                  time.Duration
	defaultsFile             string
	explainAccess            bool
	out                      *output
}

func newQueryLog(env Env) *cobra.Command {
	o := &querylogOptions{}
	c := &cobra.Command{
		Use: "querylog [FILE... | DIR | -]", Short: "Find herds in MySQL, MariaDB and Percona query logs",
		Long: querylogHelp, Example: querylogExample,
		RunE: func(c *cobra.Command, args []string) error { return runQueryLog(c.Context(), env, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "use statements that start from this `time` on (RFC 3339, time in --tz, or Unix seconds)")
	f.StringVar(&o.to, "to", "", "use statements that start before this `time`")
	f.StringVar(&o.at, "at", "", "show what ran in the tooth at this `time`: texts, clients, durations")
	f.StringVar(&o.tz, "tz", "Local", "time `zone` of log times that name none, and of the wall clock that jobs follow")
	f.StringVar(&o.server, "server", "", "who wrote the log, if it does not say: `mysql` (Percona too), mariadb or tidb")
	f.BoolVar(&o.foldDigits, "fold-digits", false, "take tables that differ in digits only for one (orders_20260101)")
	f.Float64Var(&o.rate, "sample-rate", 0, "one of so `many` statements was logged, whatever the log says (1: all)")
	f.StringVar(&o.query, "query", "", "show only findings about statements that match this `regexp`")
	f.StringVar(&o.host, "host", "", "show only findings with this `client`")
	f.IntVar(&o.top, "top", 10, "show so many `rows` in the table")
	f.BoolVar(&o.errors, "errors", false, "list what was not understood, with line numbers")
	f.StringVar(&o.save, "save", "", "write a summary to `FILE`, to be read again by querylog, many together")
	f.BoolVar(&o.samples, "samples", false, "let --save keep a sample text of each statement")
	f.StringVar(&o.lang, "lang", "", "`language` of code snippets: "+strings.Join(report.Langs(), ", "))
	f.BoolVar(&o.live, "live", false, "sample a running server instead of reading a log")
	f.DurationVar(&o.liveFor, "for", 10*time.Minute, "with --live: for how `long`; 0: until Ctrl-C")
	f.StringVar(&o.defaultsFile, "defaults-file", "", "option `FILE` of the mysql client with host, user and password")
	f.BoolVar(&o.explainAccess, "explain-access", false, "list the statements sent and the privileges they need, then stop")
	_ = c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(report.Langs(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("server", cobra.FixedCompletions([]string{"mysql", "mariadb", "tidb"}, cobra.ShellCompDirectiveNoFileComp))
	o.out = addOutput(c, env)
	return c
}

// queryRun is one run of querylog with its flags parsed.
type queryRun struct {
	env   Env
	o     *querylogOptions
	zone  *time.Location
	read  querylog.Options
	match *regexp.Regexp
	at    time.Time // zero without --at
}

func runQueryLog(ctx context.Context, env Env, o *querylogOptions, args []string) error {
	if o.explainAccess {
		return explainQueryAccess(env.Stdout)
	}
	if err := o.checkLive(args); err != nil {
		return err
	}
	r, err := o.parse(env)
	if err != nil {
		return err
	}
	if err := r.checkAt(args); err != nil {
		return err
	}
	defer frugal()()
	sum, err := r.summary(ctx, args)
	if err != nil {
		return err
	}
	saved, shown := r.save(sum), r.show(ctx, args, sum)
	if saved != nil {
		return saved
	}
	return shown
}

// save writes the summary that --save asks for. Its error does not keep the
// report back, which may have taken hours to read.
func (r *queryRun) save(sum *querylog.Summary) error {
	if r.o.save == "" {
		return nil
	}
	if err := writeFile(r.o.save, func(w io.Writer) error { return sum.Save(w, r.o.samples) }); err != nil {
		return fmt.Errorf("--save %s: %w", r.o.save, err)
	}
	return nil
}

// show writes the report, or the tooth that --at asks for.
func (r *queryRun) show(ctx context.Context, args []string, sum *querylog.Summary) error {
	o := r.o
	a := querylog.Analyse(sum, querylog.AnalyseOptions{Zone: r.zone, SampleRate: o.rate})
	if a.Statements == 0 && !(r.read.From.IsZero() && r.read.To.IsZero()) &&
		slices.ContainsFunc(a.Coverage, func(c querylog.Coverage) bool { return c.Read > 0 }) {
		a.Undecided = "no statement started in the span of --from and --to; the first line says what the log covers"
	}
	if !r.at.IsZero() {
		return r.showTooth(ctx, args, a)
	}
	doc := &report.QueryLog{
		Version: version, Summary: sum, Analysis: a, Zone: r.zone,
		Top: o.top, Errors: o.errors, Lang: o.lang, Hidden: r.filter(a), NoFiles: len(args) == 0,
	}
	return o.out.deliver(ctx, doc.Document)
}

func (o *querylogOptions) parse(env Env) (*queryRun, error) {
	if err := o.out.check(); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(o.tz)
	if err != nil {
		return nil, fmt.Errorf("--tz %s: no such time zone", o.tz)
	}
	from, to, err := window(o.from, o.to, zone)
	if err != nil {
		return nil, err
	}
	if o.lang != "" && !slices.Contains(report.Langs(), o.lang) {
		return nil, fmt.Errorf("--lang %s: there are %s", o.lang, strings.Join(report.Langs(), ", "))
	}
	if o.rate != 0 && !(o.rate >= 1 && o.rate <= 1e9) {
		return nil, errors.New("--sample-rate N: one of N statements was logged, so N is 1 or more")
	}
	r := &queryRun{env: env, o: o, zone: zone}
	r.read = querylog.Options{Zone: zone, From: from, To: to, FoldDigits: o.foldDigits}
	if r.read.Server, err = serverOf(o.server); err != nil {
		return nil, err
	}
	if o.query != "" {
		if r.match, err = regexp.Compile(o.query); err != nil {
			return nil, fmt.Errorf("--query: %w", err)
		}
	}
	return r, nil
}

// checkLive refuses what would be left aside silently: logs and a server at once.
func (o *querylogOptions) checkLive(args []string) error {
	switch {
	case len(args) > 0 && o.live:
		return errors.New("--live samples a running server: give it without FILE")
	case len(args) > 0 && o.defaultsFile != "":
		return errors.New("--defaults-file names a server, which is read without FILE")
	case o.samples && o.save == "":
		return errors.New("--samples belongs to --save")
	case o.top < 0:
		return errors.New("--top N: N is not negative")
	case o.liveFor < 0:
		return errors.New("--for: a time that is not negative; 0 samples until Ctrl-C")
	}
	return nil
}

func serverOf(name string) (querylog.Server, error) {
	if name == "" {
		return querylog.ServerUnknown, nil
	}
	for _, s := range []querylog.Server{querylog.ServerMySQL, querylog.ServerMariaDB, querylog.ServerTiDB} {
		if strings.EqualFold(s.String(), name) {
			return s, nil
		}
	}
	return querylog.ServerUnknown, fmt.Errorf("--server %s: there are mysql (Percona too), mariadb and tidb", name)
}

// summary reads what the arguments name: logs and saved summaries, or a
// server. What can't be read is in the summary's coverage.
func (r *queryRun) summary(ctx context.Context, args []string) (*querylog.Summary, error) {
	if len(args) == 0 {
		return r.server(ctx)
	}
	var logs []string
	var saved []*querylog.Summary
	for _, arg := range args {
		one, err := loadQuerySummary(arg)
		switch {
		case err == nil:
			saved = append(saved, one)
		case errors.Is(err, querylog.ErrNotSummary):
			logs = append(logs, arg)
		default:
			return nil, fmt.Errorf("%s: %w", report.Clean(arg), err)
		}
	}
	out := &querylog.Summary{}
	if len(logs) > 0 {
		absent := &querylog.Summary{}
		sources := r.logSources(ctx, logs, absent)
		out, _ = querylog.Summarise(ctx, sources, r.progress()) // the errors are in its coverage
		out.Merge(absent)
	}
	for _, one := range saved {
		out.Merge(one)
	}
	return out, nil
}

// logSources opens logs and folders in the order of their times. What is not
// there is added to the coverage of out.
func (r *queryRun) logSources(ctx context.Context, logs []string, out *querylog.Summary) []querylog.Source {
	var sources []querylog.Source
	for _, arg := range logs {
		if arg == "-" {
			sources = append(sources, querylog.ReaderSource("standard input", r.env.Stdin))
			continue
		}
		found, err := querylog.Files(arg)
		if err != nil {
			out.Cover(querylog.Coverage{Source: arg, Stopped: plainError(err)})
			continue
		}
		sources = append(sources, found...)
	}
	if slices.ContainsFunc(logs, readOnce) {
		return sources // what can be read once can't be looked at for its order
	}
	sources = r.distinct(sources)
	return querylog.Order(ctx, sources, r.read)
}

// distinct leaves out files that came before, by whatever name: their
// statements would count twice, and look like copies.
func (r *queryRun) distinct(sources []querylog.Source) []querylog.Source {
	var seen []os.FileInfo
	return slices.DeleteFunc(sources, func(s querylog.Source) bool {
		info, err := os.Stat(s.Name)
		if err != nil || !info.Mode().IsRegular() {
			return false // its reader says what is wrong with it
		}
		if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
			fmt.Fprintf(r.env.Stderr, "herdscan: %s was given before: read once\n", report.Clean(s.Name))
			return true
		}
		seen = append(seen, info)
		return false
	})
}

// readOnce tells standard input and named pipes, also those of <(command).
func readOnce(path string) bool {
	if path == "-" {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

func (r *queryRun) progress() querylog.Options {
	o := r.read
	bar := newProgress(r.env, "bytes")
	o.Progress = func(n int64) { bar.set(uint64(n), 0) }
	return o
}

// loadQuerySummary reads a file of --save; the error wraps ErrNotSummary when the
// file is none. What can be read once only is taken for a log.
func loadQuerySummary(path string) (*querylog.Summary, error) {
	if !isRegular(path) {
		return nil, querylog.ErrNotSummary // its reader says what is wrong with it
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, querylog.ErrNotSummary
	}
	defer f.Close()
	return querylog.Load(f)
}

// server reads the log tables of a server, or samples it.
func (r *queryRun) server(ctx context.Context) (*querylog.Summary, error) {
	s, err := live.Open(ctx, live.Config{DSN: r.env.Getenv("HERDSCAN_DSN"), DefaultsFile: r.o.defaultsFile})
	if errors.Is(err, live.ErrNoServer) {
		return nil, errors.New("nothing to read: give a log file, or a server by HERDSCAN_DSN, --defaults-file or ~/.my.cnf")
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if r.o.live {
		bar := newProgress(r.env, "statements")
		sum, _ := s.Sample(ctx, live.SampleOptions{For: r.o.liveFor, Progress: func(n uint64) { bar.set(n, 0) }}) // the error is in its coverage
		bar.done()
		return sum, nil
	}
	sum, err := s.ReadTables(ctx)
	switch {
	case sum == nil || errors.Is(err, live.ErrNoTable):
		return nil, fmt.Errorf("%s: %w; --live samples a server without a log", s, err)
	case err != nil && !slices.ContainsFunc(sum.Coverage(), func(c querylog.Coverage) bool { return c.Stopped != "" }):
		return nil, fmt.Errorf("%s: %w (--explain-access lists the privileges needed)", s, err)
	}
	return sum, nil // an error is in its coverage
}

// filter keeps the findings that --query and --host ask for, and returns how
// many it left out.
func (r *queryRun) filter(a *querylog.Analysis) int {
	if r.match == nil && r.o.host == "" {
		return 0
	}
	all := len(a.Findings)
	a.Findings = slices.DeleteFunc(a.Findings, func(f querylog.Finding) bool {
		return !r.wants(&f)
	})
	return all - len(a.Findings)
}

func (r *queryRun) wants(f *querylog.Finding) bool {
	if r.match != nil && !r.match.MatchString(f.Subject) &&
		!slices.ContainsFunc(f.Members, func(c querylog.Class) bool { return r.match.MatchString(c.Shape) || r.match.Match(c.Sample) }) {
		return false
	}
	return r.o.host == "" || slices.ContainsFunc(f.Hosts, func(h querylog.Host) bool { return h.Name == r.o.host })
}

func explainQueryAccess(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Statements sent to MySQL or MariaDB. The session is read-only; nothing is ever set or written.\n")
	for _, a := range live.ExplainAccess() {
		fmt.Fprintf(&b, "\n%s\n  why:   %s\n  needs: %s\n", a.SQL, a.Why, a.Needs)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
