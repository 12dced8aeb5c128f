package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/eventlog"
	"github.com/herdscan/herdscan/report"
)

// atMargin is how far from --at a tooth may begin.
const atMargin = 30 * time.Second

// checkAt reads the time of --at and refuses what can't be read a second time,
// before anything is read.
func (r *queryRun) checkAt(args []string) (err error) {
	if r.o.at == "" {
		return nil
	}
	if r.at, err = eventlog.ParseTime(r.o.at, r.zone); err != nil {
		return fmt.Errorf("--at %s: %w (RFC 3339, 2026-11-03 10:00:07, or Unix seconds)", r.o.at, err)
	}
	if len(args) == 0 {
		return errors.New("--at needs log files: it reads them once more")
	}
	for _, arg := range args {
		if readOnce(arg) {
			return fmt.Errorf("--at reads the log twice: give a file instead of %s", streamName(arg))
		}
		if _, err := loadQuerySummary(arg); err == nil {
			return fmt.Errorf("--at needs log files: %s is a summary, which holds no single statements", report.Clean(arg))
		}
	}
	return nil
}

func streamName(arg string) string {
	if arg == "-" {
		return "standard input"
	}
	return report.Clean(arg) + ", a pipe"
}

// showTooth reads the logs once more and shows what ran in the tooth at --at.
func (r *queryRun) showTooth(ctx context.Context, args []string, a *querylog.Analysis) error {
	out := &querylog.Summary{}
	sources := r.logSources(ctx, args, out)
	from, to := toothAt(a, r.at)
	w, err := querylog.ReadWindow(ctx, sources, r.read, from, to)
	if w == nil {
		return err
	}
	doc := &report.ToothView{Version: version, Window: w, Missing: out.Coverage(), Top: r.o.top, At: r.at}
	return r.o.out.deliver(ctx, doc.Document)
}

// toothAt is the span of the tooth nearest to a time, or some seconds around
// it where no tooth is near.
func toothAt(a *querylog.Analysis, at time.Time) (from, to time.Time) {
	best := atMargin
	from, to = at.Add(-2*time.Second), at.Add(5*time.Second)
	for _, f := range a.Findings {
		for _, t := range f.Teeth {
			off := t.At.Sub(at).Abs()
			if !at.Before(t.At) && at.Before(t.At.Add(t.Width)) {
				off = 0
			}
			if off < best {
				best, from, to = off, t.At, t.At.Add(max(t.Width, time.Second))
			}
		}
	}
	return from, to
}
