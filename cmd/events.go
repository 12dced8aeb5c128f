package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/comb"
	"github.com/herdscan/herdscan/querylog/eventlog"
	"github.com/herdscan/herdscan/report"
)

const eventsHelp = `Read event times and say whether they come as a herd: a comb of narrow teeth at
one period, or a one-off tooth.

Input is one time a line, CSV or TSV (columns time, key, host, with or without
a header), NDJSON with such fields, or a Common or Combined access log; gzip and
zstd are read as they are. Times are Unix seconds, milliseconds, microseconds or
nanoseconds, RFC 3339, or dates in --tz. The layout is recognised by content.

Times alone can't tell a harmful comb from a harmless one of the same height:
events judges by height. querylog knows texts and hosts and judges harm.`

const eventsExample = `  herdscan events times.txt
  herdscan events --by key access.log.gz
  cut -f1 events.tsv | herdscan events --from 2026-11-03T00:00:00Z --to 2026-11-04T00:00:00Z -`

// maxSeries bounds the series of --by. Further keys are judged in one series
// together, and the coverage says so.
const maxSeries = 20_000

type eventsOptions struct {
	from, to, by, tz string
	out              *output
}

func newEvents(env Env) *cobra.Command {
	o := &eventsOptions{}
	c := &cobra.Command{
		Use: "events FILE... | -", Short: "Find combs and one-off teeth in a list of event times",
		Long: eventsHelp, Example: eventsExample,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runEvents(c.Context(), env, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "use events from this `time` on, and take it as where the record begins (RFC 3339, local time, or Unix seconds)")
	f.StringVar(&o.to, "to", "", "use events before this `time`, and take it as where the record ends")
	f.StringVar(&o.by, "by", "", "judge each `key` or host by itself, and families of them")
	f.StringVar(&o.tz, "tz", "Local", "time `zone` of times without one, and of the wall clock that schedules follow")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"key", "host"}, cobra.ShellCompDirectiveNoFileComp))
	o.out = addOutput(c, env)
	return c
}

func runEvents(ctx context.Context, env Env, o *eventsOptions, args []string) error {
	if err := o.out.check(); err != nil {
		return err
	}
	if o.by != "" && o.by != "key" && o.by != "host" {
		return fmt.Errorf("--by %s: there are key and host", o.by)
	}
	zone, err := time.LoadLocation(o.tz)
	if err != nil {
		return fmt.Errorf("--tz %s: no such time zone", o.tz)
	}
	from, to, err := window(o.from, o.to, zone)
	if err != nil {
		return err
	}
	in := newEventCounter(o.by, from, to)
	var coverage []report.Coverage
	for _, path := range args {
		coverage = append(coverage, in.read(ctx, env, path, zone))
	}
	e := in.judge(zone)
	e.Coverage = append(coverage, in.foldCoverage()...)
	return o.out.deliver(ctx, e.Document)
}

// window parses --from and --to; an end that is not given is zero.
func window(from, to string, zone *time.Location) (a, b time.Time, err error) {
	if from != "" {
		if a, err = eventlog.ParseTime(from, zone); err != nil {
			return a, b, fmt.Errorf("--from %s: %w (RFC 3339, 2026-11-03 10:00, or Unix seconds)", from, err)
		}
	}
	if to != "" {
		if b, err = eventlog.ParseTime(to, zone); err != nil {
			return a, b, fmt.Errorf("--to %s: %w (RFC 3339, 2026-11-03 10:00, or Unix seconds)", to, err)
		}
	}
	if !a.IsZero() && !b.IsZero() && !a.Before(b) {
		return a, b, fmt.Errorf("--from %s is not before --to %s", from, to)
	}
	return a, b, nil
}

// eventCounter counts events into series as they are read.
type eventCounter struct {
	by         string
	from, to   time.Time
	total      *comb.Series
	series     map[string]*comb.Series
	folded     uint64 // events of keys beyond maxSeries
	resolution time.Duration
}

func newEventCounter(by string, from, to time.Time) *eventCounter {
	return &eventCounter{
		by: by, from: from, to: to,
		total: comb.NewSeries(comb.FineBin), series: map[string]*comb.Series{}, resolution: time.Second,
	}
}

// maxListed is the most skipped lines that a coverage lists.
const maxListed = 5

func (in *eventCounter) read(ctx context.Context, env Env, path string, zone *time.Location) report.Coverage {
	c := report.Coverage{Source: sourceName(path), Kind: "events", Unit: "events", Errors: []string{}}
	f, err := eventlog.Open(path, env.Stdin)
	if err != nil {
		c.Errors, c.Text = append(c.Errors, plainError(err)), "nothing read"
		return c
	}
	defer f.Close()
	r := eventlog.NewReader(f, zone)
	var outside uint64
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for ctx.Err() == nil {
		ev, err := r.Read()
		var bad *eventlog.ParseError
		if errors.As(err, &bad) {
			if c.Skipped++; c.Skipped <= maxListed {
				c.Notes = append(c.Notes, "skipped "+bad.Error())
			}
			continue
		}
		if errors.Is(err, io.EOF) {
			c.Complete = true
			break
		}
		if err != nil {
			c.Errors = append(c.Errors, plainError(err))
			break
		}
		c.Read++
		first, last = min(first, ev.UnixNano), max(last, ev.UnixNano)
		if !in.add(ev) {
			outside++
		}
	}
	in.resolution = min(in.resolution, r.Resolution())
	if c.Read > 0 {
		from, to := time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
		c.From, c.To = &from, &to
	}
	c.Total = c.Read + c.Skipped
	in.describe(&c, r.Layout(), outside)
	return c
}

// add counts an event, unless it lies outside --from and --to.
func (in *eventCounter) add(ev *eventlog.Event) bool {
	if !in.from.IsZero() && ev.UnixNano < in.from.UnixNano() || !in.to.IsZero() && ev.UnixNano >= in.to.UnixNano() {
		return false
	}
	in.total.Add(ev.UnixNano, 1)
	key := ev.Key
	if in.by == "host" {
		key = ev.Host
	}
	if in.by == "" {
		return true
	}
	s := in.series[string(key)]
	if s == nil {
		if len(in.series) >= maxSeries {
			in.folded++
			return true
		}
		s = comb.NewSeries(comb.FineBin)
		in.series[string(key)] = s
	}
	s.Add(ev.UnixNano, 1)
	return true
}

func (in *eventCounter) describe(c *report.Coverage, layout string, outside uint64) {
	if c.Skipped > c.Read { // more is unread than read: the layout is another one
		c.Errors = append(c.Errors, fmt.Sprintf("no time understood in %s of %s: give one time a line, CSV, TSV or NDJSON with a time column, or an access log",
			report.Int(c.Skipped), report.Count(c.Total, "lines")))
		c.Complete = false
	}
	c.Text = report.Count(c.Read, "events")
	if layout != "" {
		c.Text += " (" + layout + ")"
	}
	if c.Skipped > 0 {
		c.Text += fmt.Sprintf(", %s not understood", report.Count(c.Skipped, "lines"))
		if c.Skipped > maxListed {
			c.Notes = append(c.Notes, fmt.Sprintf("and %s more lines like these", report.Int(c.Skipped-maxListed)))
		}
	}
	if outside > 0 {
		c.Text += fmt.Sprintf(", %s of them outside --from and --to", report.Int(outside))
	}
}

func (in *eventCounter) foldCoverage() []report.Coverage {
	if in.folded == 0 {
		return nil
	}
	return []report.Coverage{{
		Source: "--by " + in.by, Kind: "events", Unit: "events", Complete: true, Errors: []string{},
		Text: fmt.Sprintf("more than %s different values: %s of further ones were judged only in the sum", report.Int(maxSeries), report.Count(in.folded, "events")),
	}}
}

// judge runs the detector over what was counted.
func (in *eventCounter) judge(zone *time.Location) *report.Events {
	in.coarsen()
	e := &report.Events{Version: version, Total: in.total, Zone: zone, From: in.from, To: in.to}
	if first, last := in.total.Span(); in.total.Total() > 0 {
		if e.From.IsZero() {
			e.From = time.Unix(0, first).UTC()
		}
		if e.To.IsZero() {
			e.To = time.Unix(0, last).UTC().Add(in.resolution)
		}
	}
	opts := comb.Options{From: e.From, To: e.To, Resolution: in.resolution, Tried: 1, Zone: zone}
	if in.by == "" {
		e.Names, e.Each = []string{""}, []comb.Result{comb.Detect(in.total, opts)}
		return e
	}
	named := make([]comb.Named, 0, len(in.series))
	for name, s := range in.series {
		named = append(named, comb.Named{Name: name, Series: s})
	}
	slices.SortFunc(named, func(a, b comb.Named) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	opts.Tried = max(len(named), 1)
	e.Each, e.Families = comb.DetectFamilies(named, opts)
	for _, n := range named {
		name := n.Name
		if name == "" {
			name = "(no " + in.by + ")"
		}
		e.Names = append(e.Names, name)
	}
	return e
}

// coarsen goes to bins of one second where no time was finer: empty bins
// between whole seconds are no silence.
func (in *eventCounter) coarsen() {
	if in.resolution < time.Second {
		return
	}
	whole := func(s *comb.Series) *comb.Series {
		out := comb.NewSeries(time.Second)
		for b := range s.Bins() {
			out.Add(b.At, b.N)
		}
		return out
	}
	in.total = whole(in.total)
	for name, s := range in.series {
		in.series[name] = whole(s)
	}
}

func sourceName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return report.Clean(path)
}

// plainError leaves out of a file error what the source's name says already,
// and puts joined errors on one line.
func plainError(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return report.Clean(strings.ReplaceAll(err.Error(), "\n", "; "))
}
