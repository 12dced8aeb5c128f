package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/ttlhist"
)

// A ttlRun reads sources one after the other into one summary.
type ttlRun struct {
	env      Env
	opts     *ttlOptions
	grouping ttlhist.Grouping
	summary  *ttlhist.Summary
	coverage []report.Coverage
	notes    []string
}

// read adds one source. What can't be read is said in the coverage.
func (r *ttlRun) read(ctx context.Context, s ttlSource) {
	if s.url != "" {
		r.server(ctx, s)
		return
	}
	r.file(s)
}

// unread is the coverage of a source of which nothing was read.
func (r *ttlRun) unread(s ttlSource, err error) {
	r.coverage = append(r.coverage, report.Coverage{
		Source: s.name(), Kind: "redis", Unit: "keys", Errors: []string{report.Clean(err.Error())}, Text: "nothing read",
	})
}

func (r *ttlRun) server(ctx context.Context, s ttlSource) {
	bar := newProgress(r.env, "keys")
	defer bar.done()
	src, err := r.opts.open(ctx, r.env, s.url, bar.set)
	if err != nil {
		r.unread(s, err)
		return
	}
	info := src.Info(ctx)
	sum := &ttlhist.Summary{Grouping: r.grouping}
	about := ttlhist.Source{
		Name: src.String(), Kind: info.Kind, Now: info.Now, Resolution: time.Millisecond,
		Version: info.Version, Role: info.Role, Policy: info.Policy, MaxMemory: info.MaxMemory,
	}
	sum.Begin(about)
	start := r.env.Now()
	err = src.Keys(ctx, func(k *scan.Key) error { sum.Add(k); return nil })
	took := r.env.Now().Sub(start)
	bar.done()
	about.From, about.To = info.Now, info.Now.Add(took)
	parts := r.describe(src, about, err, took)
	sum.End(parts...)
	r.summary.Merge(sum)
	r.notes = append(r.notes, impactLine(src.Impact(), info)...)
}

// describe turns the coverage of a scan into the report's and the summary's.
func (r *ttlRun) describe(src *scan.Redis, about ttlhist.Source, failed error, took time.Duration) []ttlhist.Source {
	c := report.Coverage{Source: about.Name, Kind: about.Kind, Unit: "keys", Complete: failed == nil, Errors: []string{}}
	var parts []ttlhist.Source
	for _, p := range src.Coverage() {
		part := about
		part.Name = p.Name
		part.Total, part.Read, part.Vanished, part.Duplicates = p.Total, p.Read, p.Vanished, p.Duplicates
		part.Expired, part.Skipped, part.Denied, part.Sampled = p.Expired, p.Skipped, p.Denied, p.Sampled
		part.Partial, part.Notes = !p.Complete, p.Notes
		for _, e := range p.Errors {
			part.Errors = append(part.Errors, report.Clean(e.Error()))
		}
		parts = append(parts, part)
		c.Read, c.Total, c.Skipped = c.Read+p.Read, c.Total+p.Total, c.Skipped+p.Skipped
		c.Errors = append(c.Errors, part.Errors...)
		c.Notes = append(c.Notes, p.Notes...)
	}
	if failed != nil && len(c.Errors) == 0 {
		c.Errors = append(c.Errors, report.Clean(failed.Error()))
	}
	if errors.Is(failed, context.Canceled) {
		c.Errors = []string{"interrupted: what follows is about the keys read so far"}
	}
	c.Text = readText(c, parts, took)
	r.coverage = append(r.coverage, c)
	return parts
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
	text += " read in " + report.Dur(took.Round(100*time.Millisecond))
	for _, x := range []struct {
		n    uint64
		what string
	}{{vanished, "vanished meanwhile"}, {denied, "whose expiry the server does not tell"}, {expired, "expired already"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %s %s", report.Int(x.n), x.what)
		}
	}
	if !c.Complete {
		text += ", partial"
	}
	return text
}

// impactLine says what the scan cost the server.
func impactLine(i scan.Impact, info scan.Info) []string {
	lines := slices.Clone(info.Warnings)
	for _, m := range info.Missing {
		lines = append(lines, "not known: "+report.Clean(m))
	}
	if i.Pages == 0 {
		return lines
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
	return append(append(lines, line), i.Warnings...)
}

// file adds a summary that --save wrote.
func (r *ttlRun) file(s ttlSource) {
	sum, err := loadSummary(s.path)
	if err != nil {
		r.unread(s, err)
		return
	}
	r.summary.Merge(sum)
	for _, src := range sum.Sources() {
		c := report.Coverage{
			Source: sourceName(s.path), Kind: src.Kind, Unit: "keys", Read: src.Read, Total: src.Total, Skipped: src.Skipped,
			Complete: !src.Partial, Errors: append([]string{}, src.Errors...), Notes: src.Notes,
		}
		c.Text = fmt.Sprintf("%s: %s of %s, saved as of %s", report.Clean(src.Name), report.Int(src.Read), report.Count(max(src.Total, src.Read), "keys"), src.Now.UTC().Format(time.RFC3339))
		r.coverage = append(r.coverage, c)
	}
}

func loadSummary(path string) (*ttlhist.Summary, error) {
	ok, err := isGzip(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s is neither an address (redis://, rediss://, unix://) nor a summary written by --save", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum, err := ttlhist.Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sum, nil
}
