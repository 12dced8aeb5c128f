package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/querylog/live"
	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/watch"
)

const watchHelp = `Watch a Redis, and a MySQL or MariaDB with it, and tell of herds before they
come, while they happen, and when they are over.

On a terminal it shows one screen that redraws; in a pipe it prints one line for
each event, with its time. At the end (Ctrl-C, or --for) the report follows.

What it looks at: the deadlines of the keys, of at most --sample-keys of them,
now and then; INFO each second, its own reads subtracted; keymiss events, if the
server sends them (--enable-keymiss lets it, and puts the setting back at the
end); with --monitor also short samples of MONITOR, which cost the server
something. A database is watched as well if HERDSCAN_DSN or --defaults-file
names one. Whatever may not be asked is named, and the rest goes on.

--notify sends an alert to a webhook when a herd is due, begins, and has ended.
Many watchers may run: with --coordinate they claim each alert in a Redis, and
one of them sends it. An alert is sent anyway when that Redis does not answer;
errors (beyond --budget) are never held back.

A secret never goes on the command line: HERDSCAN_NOTIFY or --notify-file has
the webhook, HERDSCAN_COORDINATE and REDIS_URL have addresses with passwords.`

const watchExample = `  herdscan watch
  herdscan watch redis://cache-1:6379 --enable-keymiss
  herdscan watch --for 10m --format json > watch.json
  HERDSCAN_DSN='app:secret@tcp(db-1:3306)/' herdscan watch redis://cache-1:6379
  herdscan watch --listen 127.0.0.1:9797 --notify-file /etc/herdscan/webhook --coordinate redis://cache-2:6379`

type watchOptions struct {
	ttlOptions

	once          bool
	runFor        time.Duration
	lead, every   time.Duration
	pulse         time.Duration
	sampleKeys    uint64
	enableKeyMiss bool
	monitor       bool
	sampleFor     time.Duration
	dsn           string
	defaultsFile  string
	notify        string
	notifyFile    string
	notifyFrom    string
	window        time.Duration
	coordinate    string
	name          string
	listen        string
}

func newWatch(env Env) *cobra.Command {
	o := &watchOptions{}
	c := &cobra.Command{
		Use: "watch [SOURCE]", Short: "See herds while they happen, and alert once",
		Long: watchHelp, Example: watchExample, Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runWatch(c.Context(), env, o, args) },
	}
	f := c.Flags()
	f.BoolVar(&o.once, "once", false, "look once, report, and stop")
	f.DurationVar(&o.runFor, "for", 0, "stop after this `time`; 0: at Ctrl-C")
	f.DurationVar(&o.lead, "lead", 5*time.Minute, "tell of a tooth this `time` before it, at most")
	f.Float64Var(&o.budget, "budget", 0, "what the store or database can take in one `second`: a herd beyond it is an error; 0: not judged")
	f.DurationVar(&o.pulse, "interval", time.Second, "`time` between two looks at the counters")
	f.DurationVar(&o.every, "every", 0, "`time` between two looks at the keys; 0: so that they take 0.5 % of the server's time")
	f.Uint64Var(&o.sampleKeys, "sample-keys", 100_000, "read at most about so many `keys` in a look: of more, a sample")
	f.BoolVar(&o.enableKeyMiss, "enable-keymiss", false, "let the server tell which keys are missed (notify-keyspace-events Em), until the end")
	f.BoolVar(&o.monitor, "monitor", false, "take short samples of MONITOR: costs the server some 40 % more a command while one runs")
	f.DurationVar(&o.sampleFor, "sample-for", 3*time.Second, "longest `time` that MONITOR runs at once, with --monitor")
	f.StringVar(&o.dsn, "dsn", "", "database to watch as well, `user@tcp(host:port)/`; with a password: HERDSCAN_DSN")
	f.StringVar(&o.defaultsFile, "defaults-file", "", "option `FILE` of the mysql client that names the database")
	f.StringVar(&o.notify, "notify", "", "`URL` of a webhook without a secret; else HERDSCAN_NOTIFY or --notify-file")
	f.StringVar(&o.notifyFile, "notify-file", "", "read the webhook's URL from the first line of `FILE`")
	f.StringVar(&o.notifyFrom, "notify-from", "warning", "send alerts from this `severity` on: note, warning or error")
	f.DurationVar(&o.window, "window", time.Hour, "send the same alert about the same herd once in this `time`")
	f.StringVar(&o.coordinate, "coordinate", "", "`URL` of a Redis in which several watchers claim alerts; with a password: HERDSCAN_COORDINATE")
	f.StringVar(&o.name, "name", "", "`name` of what is watched, in alerts and claims; the same for all watchers of one target")
	f.StringVar(&o.listen, "listen", "", "serve Prometheus metrics and /healthz at `HOST:PORT`")

	o.addConnection(f)
	o.addGrouping(f)
	f.IntVar(&o.top, "top", 10, "show so many `patterns` in the report")
	f.StringVar(&o.lang, "lang", "", "`language` of code snippets: "+strings.Join(report.Langs(), ", "))
	f.BoolVar(&o.explainAccess, "explain-access", false, "list the commands sent and the rights needed, then stop")
	o.out = addOutput(c, env)
	return c
}

// A watchRun is one run of watch with its settings checked.
type watchRun struct {
	env      Env
	opts     *watchOptions
	watcher  *watch.Watcher
	notifier *watch.Notifier
	metrics  *watch.Metrics
	claims   *watch.Claims
	shared   *scan.Claims // nil without --coordinate
	view     watchView
	began    time.Time
}

// A watchView shows what happens: on a screen or line by line.
type watchView interface {
	tell([]watch.Event)
	run(ctx context.Context)
}

func runWatch(ctx context.Context, env Env, o *watchOptions, args []string) error {
	if o.explainAccess {
		if _, err := io.WriteString(env.Stdout, scan.ExplainAccess()+scan.LiveAccess()+"\n"); err != nil {
			return err
		}
		return explainQueryAccess(env.Stdout)
	}
	r, err := o.prepare(env, args)
	if err != nil {
		return err
	}
	if r.shared != nil {
		defer r.shared.Close()
	}
	var listener net.Listener
	if o.listen != "" {
		if listener, err = net.Listen("tcp", o.listen); err != nil {
			return fmt.Errorf("--listen %s: %w", o.listen, err)
		}
		if host, _, _ := net.SplitHostPort(listener.Addr().String()); !net.ParseIP(host).IsLoopback() {
			fmt.Fprintf(env.Stderr, "herdscan: --listen %s: names of keys can be read there by everybody who reaches it, without a password\n", report.Clean(o.listen))
		}
	}
	defer frugal()()
	r.run(ctx, listener)
	return o.out.deliver(ctx, r.document)
}

// run watches until it is time to stop.
func (r *watchRun) run(ctx context.Context, listener net.Listener) {
	r.began = r.env.Now()
	until := ctx
	if r.opts.runFor > 0 {
		var done func()
		until, done = context.WithTimeout(ctx, r.opts.runFor)
		defer done()
	}
	watching, stop := context.WithCancel(until)
	defer stop()
	var wg sync.WaitGroup
	if listener != nil {
		wg.Go(func() {
			if err := watch.Serve(watching, listener, r.metrics); err != nil {
				fmt.Fprintln(r.env.Stderr, "herdscan: --listen: "+report.Clean(err.Error()))
			}
		})
	}
	if r.notifier != nil {
		wg.Go(func() { r.notifier.Run(watching, r.notified) })
	}
	viewing, endView := context.WithCancel(context.WithoutCancel(ctx))
	var view sync.WaitGroup
	view.Go(func() { r.view.run(viewing) })
	if r.opts.once {
		go r.stopAfterLook(watching, stop)
	}
	r.watcher.Run(watching)
	stop()
	wg.Wait()
	endView()
	view.Wait()
}

// stopAfterLook ends a run of --once: when the keys were read and the counters
// were seen twice, or when that can't be.
func (r *watchRun) stopAfterLook(ctx context.Context, stop func()) {
	defer stop()
	select {
	case <-r.watcher.FirstLook():
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(2*r.opts.pulse + r.opts.pulse/2):
	case <-ctx.Done():
	}
}

// tell hands events to whoever wants them.
func (r *watchRun) tell(events []watch.Event) {
	r.view.tell(events)
	if r.notifier == nil {
		return
	}
	for _, e := range events {
		if r.notifier.Wants(e) && !r.notifier.Enqueue(e) {
			r.notified(e, watch.Failed, errors.New("too many alerts wait to be sent"))
		}
	}
}

// notified is told what became of an alert.
func (r *watchRun) notified(e watch.Event, what watch.Outcome, err error) {
	switch what {
	case watch.Sent:
		r.metrics.Alerts.Sent.Add(1)
	case watch.Held:
		r.metrics.Alerts.Held.Add(1)
	default:
		r.metrics.Alerts.Failed.Add(1)
	}
	if err != nil {
		r.view.tell([]watch.Event{{
			At: r.env.Now(), Stage: watch.Notice, Severity: rule.Warning, Subject: "alert",
			Text: fmt.Sprintf("about %s (%s) was not sent: %v", e.Subject, e.Stage, err),
		}})
	}
}

// prepare checks the options and puts the run together.
func (o *watchOptions) prepare(env Env, args []string) (*watchRun, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &watchRun{env: env, opts: o}
	w := watch.Options{
		Name: o.name, Pulse: o.pulse, Every: o.every, MaxKeys: o.sampleKeys, Lead: o.lead, Budget: o.budget,
		EnableKeyMiss: o.enableKeyMiss, Monitor: o.monitor, SampleFor: o.sampleFor, Now: env.Now, Tell: r.tell,
	}
	var err error
	if w.Redis, err = o.target(env, args); err != nil {
		return nil, err
	}
	if w.Grouping, err = o.grouping(); err != nil {
		return nil, err
	}
	for _, text := range o.kinds {
		k, err := parseKind(text)
		if err != nil {
			return nil, err
		}
		w.Kinds = append(w.Kinds, k)
	}
	if w.MySQL, err = o.database(env); err != nil {
		return nil, err
	}
	if r.shared, err = o.coordinator(env); err != nil {
		return nil, err
	}
	var store watch.Store
	if r.shared != nil {
		store, w.Board = r.shared, r.shared
	}
	r.claims = watch.NewClaims(store, holder(), env.Now)
	w.Claims = r.claims
	r.watcher = watch.New(w)
	r.metrics = watch.NewMetrics(r.watcher, report.Clean)
	if r.notifier, err = o.webhook(env, r.claims, r.watcher.Target()); err != nil {
		return nil, err
	}
	r.view = newWatchView(env, o, r.watcher)
	return r, nil
}

func (o *watchOptions) check() error {
	if err := o.out.check(); err != nil {
		return err
	}
	switch {
	case o.lang != "" && !slices.Contains(report.Langs(), o.lang):
		return fmt.Errorf("--lang %s: there are %s", o.lang, strings.Join(report.Langs(), ", "))
	case !(o.budget >= 0) || o.top < 0: // NaN is not either
		return errors.New("--budget and --top can't be negative")
	case o.scan.Timeout <= 0:
		return fmt.Errorf("--timeout %s: it must be longer than 0", o.scan.Timeout)
	case o.pulse < 100*time.Millisecond:
		return fmt.Errorf("--interval %s: at least 100ms", o.pulse)
	case o.every < 0 || o.runFor < 0 || o.lead <= 0 || o.sampleFor <= 0 || o.window <= 0:
		return errors.New("--every and --for can't be negative; --lead, --sample-for and --window must be longer than 0")
	case o.every > 0 && o.every < time.Second:
		return fmt.Errorf("--every %s: at least 1s", o.every)
	case o.once && o.runFor > 0:
		return errors.New("--once or --for, not both")
	}
	if _, err := severityOf(o.notifyFrom); err != nil {
		return fmt.Errorf("--notify-from %s: there are note, warning and error", o.notifyFrom)
	}
	return nil
}

func severityOf(name string) (rule.Severity, error) {
	for _, s := range []rule.Severity{rule.Note, rule.Warning, rule.Error} {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, errors.New("no such severity")
}

// target is the one Redis to watch.
func (o *watchOptions) target(env Env, args []string) (scan.Options, error) {
	sources, err := o.sources(env, args)
	if err != nil {
		return scan.Options{}, err
	}
	s := sources[0]
	if !scan.IsRedisURL(s.url) {
		return scan.Options{}, fmt.Errorf("%s: watch needs a live Redis (redis://host:port); of files and memcached see herdscan ttl", s.name())
	}
	return o.redis(env, s.url)
}

// database is the MySQL to watch as well, nil for none.
func (o *watchOptions) database(env Env) (*live.Config, error) {
	dsn := env.Getenv("HERDSCAN_DSN")
	if o.dsn != "" {
		user, _, hasUser := strings.Cut(o.dsn, "@")
		if hasUser && strings.Contains(user, ":") {
			return nil, errors.New("--dsn: it holds a password, which every user of this machine can read in the list of processes; put it into HERDSCAN_DSN or a file for --defaults-file")
		}
		dsn = o.dsn
	}
	if dsn == "" && o.defaultsFile == "" {
		return nil, nil
	}
	return &live.Config{DSN: dsn, DefaultsFile: o.defaultsFile, Timeout: o.scan.Timeout}, nil
}

// coordinator is the Redis for claims, nil for none.
func (o *watchOptions) coordinator(env Env) (*scan.Claims, error) {
	if scan.HasSecret(o.coordinate) {
		return nil, errors.New("--coordinate: the address holds a password, which every user of this machine can read in the list of processes; put it into HERDSCAN_COORDINATE")
	}
	address := cmp.Or(o.coordinate, env.Getenv("HERDSCAN_COORDINATE"))
	if address == "" {
		return nil, nil
	}
	c, err := scan.NewClaims(scan.Options{URL: address})
	if err != nil {
		return nil, fmt.Errorf("--coordinate: %w", err)
	}
	return c, nil
}

// webhook is where alerts go, nil for nowhere.
func (o *watchOptions) webhook(env Env, claims *watch.Claims, target string) (*watch.Notifier, error) {
	address := cmp.Or(o.notify, env.Getenv("HERDSCAN_NOTIFY"))
	switch {
	case o.notify != "" && hasToken(o.notify):
		return nil, errors.New("--notify: the address looks as if it held a token, which every user of this machine can read in the list of processes; put it into HERDSCAN_NOTIFY or a file for --notify-file")
	case o.notify != "" && o.notifyFile != "":
		return nil, errors.New("give --notify or --notify-file, not both")
	case o.notifyFile != "":
		text, err := readSecret(o.notifyFile)
		if err != nil {
			return nil, fmt.Errorf("--notify-file: %w", err)
		}
		address, _, _ = strings.Cut(text, "\n")
	}
	if address == "" {
		return nil, nil
	}
	least, err := severityOf(o.notifyFrom)
	if err != nil {
		return nil, err
	}
	return watch.NewNotifier(watch.NotifierOptions{
		URL: strings.TrimSpace(address), Target: target, Window: o.window, Least: least, Claims: claims, Clean: report.Clean,
	})
}

// hasToken reports whether a webhook's address looks like a secret: it has a
// user, parameters, or a part of its path that nobody would choose as a name.
func hasToken(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" {
		return true
	}
	const longName = 16
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= longName {
			return true
		}
	}
	return strings.HasPrefix(u.Host, "hooks.")
}

// holder names this process in claims, for people who look at them.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
