package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A ttlRun reads sources into one summary.
type ttlRun struct {
	env      Env
	opts     *ttlOptions
	grouping ttlhist.Grouping
	now      time.Time      // --now; zero: each source's own time
	server   serverSettings // of the server of dumps and lists; zero: not known
	summary  *ttlhist.Summary
	coverage []report.Coverage
	notes    []string
}

// A ttlReading is what one source gave. sum is nil when nothing was read.
type ttlReading struct {
	sum      *ttlhist.Summary
	coverage []report.Coverage
	notes    []string
}

// readAll reads the sources side by side and adds them in their order.
func (r *ttlRun) readAll(ctx context.Context, sources []ttlSource) {
	readings := r.readEach(ctx, sources)
	for i, reading := range readings {
		switch {
		case reading.sum == nil:
		case len(readings) == 1 && reading.sum.Grouping.String() == r.grouping.String():
			r.summary = reading.sum // the same without a copy
		default:
			if err := r.summary.Merge(reading.sum); err != nil {
				reading = unread(sources[i], err)
			}
		}
		r.coverage = append(r.coverage, reading.coverage...)
		for _, note := range reading.notes {
			if !slices.Contains(r.notes, note) { // several dumps lack the same
				r.notes = append(r.notes, note)
			}
		}
	}
	r.notes = append(r.notes, readTwice(r.summary.Sources())...)
}

// readEach reads the sources side by side.
func (r *ttlRun) readEach(ctx context.Context, sources []ttlSource) []*ttlReading {
	readings := make([]*ttlReading, len(sources))
	var g errgroup.Group
	g.SetLimit(max(runtime.GOMAXPROCS(0), 2))
	for i, s := range sources {
		g.Go(func() error {
			bar := &progress{off: true} // one bar can't show several sources
			if len(sources) == 1 {
				bar = newProgress(r.env, "keys")
			}
			defer bar.done()
			readings[i] = r.read(ctx, s, bar)
			return nil
		})
	}
	_ = g.Wait() // what went wrong is in the coverage
	return readings
}

// readTwice says which servers are in the summary more than once, as when each
// node of one cluster is saved by itself: each of them leads to all others.
func readTwice(sources []ttlhist.Source) []string {
	times := make(map[string]int)
	var notes []string
	for _, s := range sources {
		if times[s.Kind+s.Name]++; times[s.Kind+s.Name] == 2 {
			notes = append(notes, fmt.Sprintf("%s was read more than once: if it is one and the same, its keys are counted as often", report.Clean(s.Name)))
		}
	}
	return notes
}

// read reads one source: a server, a file, or a saved summary.
func (r *ttlRun) read(ctx context.Context, s ttlSource, bar *progress) *ttlReading {
	if r.opts.input != inputKeys && isRegular(s.path) {
		sum, err := loadSummary(s.path)
		if err == nil {
			return saved(s, sum)
		}
		if !errors.Is(err, ttlhist.ErrKind) {
			return unread(s, err)
		}
	}
	src, err := r.opts.open(ctx, r.env, s, r.now, bar.set)
	if err != nil {
		return unread(s, err)
	}
	about, info, err := describeSource(ctx, src)
	if err != nil {
		return unread(s, err)
	}
	if about.Policy == "" {
		about.Policy, about.MaxMemory = r.server.policy, r.server.maxMemory
	}
	sum := &ttlhist.Summary{Grouping: r.grouping}
	sum.Begin(about)
	start := r.env.Now()
	feed := sum.Feed()
	err = src.Keys(ctx, func(k *scan.Key) error { feed.Add(k); return nil })
	feed.Close()
	took := r.env.Now().Sub(start)
	bar.done()
	about.From, about.To = about.Now, about.Now
	redis, live := src.(*scan.Redis)
	if live {
		about.To = about.Now.Add(took)
	}
	coverage, parts := describe(src, about, err, took)
	sum.End(parts...)
	out := &ttlReading{sum: sum, coverage: []report.Coverage{coverage}, notes: serverNotes(info)}
	if about.Kind == "rdb" && about.Policy == "" {
		out.notes = append(out.notes, "a dump does not tell its server's maxmemory-policy: whether locks and queues may be evicted (HS403) is not judged")
	}
	if live {
		for _, line := range impactLines(redis.Impact()) {
			if !slices.Contains(out.notes, line) { // of a server that Info has named
				out.notes = append(out.notes, line)
			}
		}
		out.notes = append(out.notes, r.look(ctx, redis, sum, info)...)
	}
	return out
}

// unread is the reading of a source of which nothing was read.
func unread(s ttlSource, err error) *ttlReading {
	why := plainError(err)
	if _, _, address := net.SplitHostPort(s.path); address == nil && errors.Is(err, fs.ErrNotExist) {
		why += fmt.Sprintf(" (of a server, give the URL: redis://%[1]s or memcached://%[1]s)", s.name())
	}
	return &ttlReading{coverage: []report.Coverage{{
		Source: s.name(), Kind: "unknown", Unit: "keys", Errors: []string{why}, Text: "nothing read",
	}}}
}

// describeSource asks a source about itself before it is read.
func describeSource(ctx context.Context, src keySource) (ttlhist.Source, scan.Info, error) {
	about := ttlhist.Source{Name: src.String(), Resolution: time.Millisecond}
	var info scan.Info
	switch src := src.(type) {
	case *scan.Redis:
		var err error
		if info, err = src.Info(ctx); err != nil {
			return about, info, err
		}
		about.Kind, about.Now = info.Kind, info.Now
	case *scan.Memcached:
		info = src.Info()
		about.Kind, about.Resolution = src.Kind(), src.Resolution()
		about.Now, _ = src.Now()
	case *scan.FileSource:
		about.Kind, about.Resolution = src.Kind(), src.Resolution()
		about.Now, _ = src.Now()
	}
	about.Version, about.Role, about.Policy, about.MaxMemory = info.Version, info.Role, info.Policy, info.MaxMemory
	return about, info, nil
}

// describe turns the coverage of a scan into the report's and the summary's.
func describe(src keySource, about ttlhist.Source, failed error, took time.Duration) (report.Coverage, []ttlhist.Source) {
	c := report.Coverage{Source: about.Name, Kind: about.Kind, Unit: "keys", Complete: failed == nil, Errors: []string{}}
	var parts []ttlhist.Source
	for _, p := range src.Coverage() {
		part := about
		part.Name = p.Name
		part.Total, part.Read, part.Vanished, part.Duplicates = p.Total, p.Read, p.Vanished, p.Duplicates
		part.Expired, part.Skipped, part.Denied, part.Sampled = p.Expired, p.Skipped, p.Denied, p.Sampled
		part.Partial, part.Notes = !p.Complete, p.Notes
		for _, e := range p.Errors {
			part.Errors = append(part.Errors, plainError(e))
		}
		parts = append(parts, part)
		c.Read, c.Total, c.Skipped = c.Read+p.Read, c.Total+p.Total, c.Skipped+p.Skipped
		c.Errors = append(c.Errors, part.Errors...)
		for _, note := range p.Notes {
			if !slices.Contains(c.Notes, note) { // several shards have the same to say
				c.Notes = append(c.Notes, note)
			}
		}
	}
	if slices.ContainsFunc(parts, func(p ttlhist.Source) bool { return p.Denied > 0 }) {
		c.Complete = false
	}
	if failed != nil && len(c.Errors) == 0 {
		c.Errors = append(c.Errors, plainError(failed))
	}
	if errors.Is(failed, context.Canceled) {
		c.Errors = []string{"interrupted: what follows is about the keys read so far"}
	}
	c.Text = readText(c, parts, took)
	return c, parts
}

// readText is the first line of the report.
func readText(c report.Coverage, parts []ttlhist.Source, took time.Duration) string {
	var vanished, denied, expired uint64
	for _, p := range parts {
		vanished, denied, expired = vanished+p.Vanished, denied+p.Denied, expired+p.Expired
	}
	text := report.Count(c.Read, "keys")
	if c.Total > 0 {
		text = fmt.Sprintf("%s of %s", report.Int(c.Read), report.Count(max(c.Total, c.Read), "keys"))
	}
	text += " read in " + report.Dur(max(took.Round(time.Millisecond), time.Millisecond))
	skipped := "records not understood"
	if c.Skipped == 1 {
		skipped = "record not understood"
	}
	for _, x := range []struct {
		n    uint64
		what string
	}{{vanished, "vanished meanwhile"}, {denied, "whose expiry the server does not tell"}, {expired, "expired already"}, {c.Skipped, skipped}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %s %s", report.Int(x.n), x.what)
		}
	}
	if !c.Complete {
		text += ", partial"
	}
	return text
}

// serverNotes are what the server's own account means for the reader.
func serverNotes(info scan.Info) []string {
	lines := slices.Clone(info.Warnings)
	for _, m := range info.Missing {
		lines = append(lines, "not known: "+report.Clean(m))
	}
	return lines
}

// impactLines say what the scan cost the server.
func impactLines(i scan.Impact) []string {
	if i.Pages == 0 {
		return nil
	}
	line := fmt.Sprintf("load: %s of server time a page of about %s, %s", report.Dur(i.ServerPerPage), report.Count(i.PageKeys, "keys"), report.Count(i.Pages, "pages"))
	if i.RestShare > 0 {
		line += fmt.Sprintf(", at rest %s of the time", report.Percent(i.RestShare))
	}
	if i.PingIdle > 0 && i.PingScan > 0 {
		line += fmt.Sprintf("; PING %s before, %s during the scan", report.Dur(i.PingIdle), report.Dur(i.PingScan))
	}
	if i.HitsAdded > 0 {
		line += fmt.Sprintf("; %s keyspace hits added to the server's count", report.Int(i.HitsAdded))
	}
	return append([]string{line}, i.Warnings...)
}

// saved is the reading of a summary that --save wrote.
func saved(s ttlSource, sum *ttlhist.Summary) *ttlReading {
	out := &ttlReading{sum: sum}
	for _, src := range sum.Sources() {
		c := report.Coverage{
			Source: sourceName(s.path), Kind: src.Kind, Unit: "keys", Read: src.Read, Total: src.Total, Skipped: src.Skipped,
			Complete: !src.Partial, Errors: append([]string{}, src.Errors...), Notes: src.Notes,
		}
		c.Text = fmt.Sprintf("%s: %s of %s, saved as of %s", report.Clean(src.Name), report.Int(src.Read), report.Count(max(src.Total, src.Read), "keys"), src.Now.UTC().Format(time.RFC3339))
		out.coverage = append(out.coverage, c)
	}
	return out
}

// isRegular tells a file that can be read again from a stream, such as the
// named pipe of <(zcat dump.rdb.gz), of which every byte comes once.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// loadSummary reads a saved summary. The error wraps ttlhist.ErrKind when the
// file is none.
func loadSummary(path string) (*ttlhist.Summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ttlhist.Load(f)
}
