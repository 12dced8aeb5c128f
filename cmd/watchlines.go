package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/watch"
)

// statusEvery is how often a pipe gets a line though nothing happens.
const statusEvery = 10 * time.Second

func newWatchView(env Env, o *watchOptions, w *watch.Watcher) watchView {
	out := env.Stdout
	if o.out.format != "text" {
		out = env.Stderr // the report alone goes to standard output
	}
	lines := &watchLines{out: out, clock: env.style(out, "never").Clock, now: env.Now, w: w}
	if o.out.format == "text" && !o.once && terminal(env.Stdout) && env.Getenv("TERM") != "dumb" {
		return newWatchScreen(env, o, lines)
	}
	return lines
}

// watchLines prints one line for each event, and now and then one about the
// state.
type watchLines struct {
	mu    sync.Mutex
	out   io.Writer
	clock report.Clock
	now   func() time.Time
	w     *watch.Watcher
}

func (l *watchLines) tell(events []watch.Event) {
	for _, e := range events {
		l.print(e.At, eventLine(e))
	}
}

func (l *watchLines) print(at time.Time, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s  %s\n", l.clock.Time(at), text)
}

func (l *watchLines) run(ctx context.Context) {
	select {
	case <-l.w.FirstLook():
	case <-ctx.Done():
		return
	}
	const counters = 1500 * time.Millisecond // rates need two looks
	first := time.After(counters)
	select {
	case <-first:
	case <-ctx.Done():
	}
	for {
		now := l.now()
		s := l.w.State()
		l.print(now, "state    "+strings.Join(append([]string{rateLine(&s, now)}, forecastLines(&s, now, 1)...), "   "))
		select {
		case <-ctx.Done():
			return
		case <-time.After(statusEvery):
		}
	}
}

// eventLine writes an event, without its time.
func eventLine(e watch.Event) string {
	subject, text := report.Clean(e.Subject), report.Clean(e.Text)
	if e.Stage == watch.Notice {
		return fmt.Sprintf("%-7s  %s: %s", e.Stage, subject, text)
	}
	return fmt.Sprintf("%-7s  %s: %s %s [%s]", e.Stage, e.Severity, subject, text, e.Rule)
}

// staleAfter is how old counters may be to be shown as what goes on now.
const staleAfter = 10 * time.Second

// rateLine is what goes on now.
func rateLine(s *watch.State, now time.Time) string {
	r := &s.Rates
	if age := now.Sub(r.At); !r.Known || age > max(staleAfter, 3*r.Over) {
		if r.At.IsZero() {
			return "counters not known yet"
		}
		return fmt.Sprintf("counters not known, last asked %s ago", watch.Span(age))
	}
	line := fmt.Sprintf("hits %s/s  misses %s/s", report.Float(r.Hits), report.Float(r.Misses))
	if all := r.Hits + r.Misses; all > 0 {
		line += "  hit ratio " + report.Percent(r.Hits/all)
	}
	return line + fmt.Sprintf("  evicted %s/s  keys %s  server CPU %s", report.Float(r.Evicted), report.Int(r.Keys), report.Percent(r.CPU))
}

// forecastLines say which teeth are due, the next first.
func forecastLines(s *watch.State, now time.Time, most int) []string {
	var lines []string
	for i := range s.Forecast {
		t := &s.Forecast[i]
		if t.From.Before(now) || len(lines) == most {
			continue
		}
		about := ""
		if t.Estimated {
			about = "about "
		}
		lines = append(lines, fmt.Sprintf("in %s: %s%s of %s", watch.Span(t.From.Sub(now)), about, report.Count(t.Keys, "keys"), report.Clean(t.Subject)))
	}
	for _, k := range s.Hot {
		if in := k.Expire.Sub(now); in > 0 && len(lines) < most {
			lines = append(lines, fmt.Sprintf("in %s: hot key %s", watch.Span(in), report.Clean(k.Key)))
		}
	}
	return lines
}
