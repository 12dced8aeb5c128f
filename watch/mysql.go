package watch

import (
	"context"
	"errors"
	"time"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/querylog/live"
)

const (
	mysqlLimit = "mysql"
	// chunk is what is dropped at once when it is older than keepQueries.
	chunk       = 30 * time.Second
	keepQueries = 15 * time.Minute
	// looksAnAnalysis is how many looks are taken between two analyses.
	looksAnAnalysis = 5
)

// queryWindow holds what a database ran in the last minutes.
type queryWindow struct {
	chunks []queryChunk
}

type queryChunk struct {
	from time.Time
	sum  *querylog.Summary
}

// add puts what was seen since the last add into the newest chunk.
func (q *queryWindow) add(now time.Time, sum *querylog.Summary) {
	if n := len(q.chunks); n > 0 && now.Sub(q.chunks[n-1].from) < chunk {
		q.chunks[n-1].sum.Merge(sum)
		return
	}
	q.chunks = append(q.chunks, queryChunk{now, sum})
	for len(q.chunks) > 0 && now.Sub(q.chunks[0].from) > keepQueries {
		q.chunks = q.chunks[1:]
	}
}

func (q *queryWindow) all() *querylog.Summary {
	sum := &querylog.Summary{}
	for _, c := range q.chunks {
		sum.Merge(c.sum)
	}
	return sum
}

// mysqlLoop samples the database, and connects again whenever it is lost.
func (w *Watcher) mysqlLoop(ctx context.Context) {
	pause := backoff{first: firstPause, limit: longestPause / 2}
	window := &queryWindow{}
	lost := false
	for ctx.Err() == nil {
		s, err := live.Open(ctx, *w.opts.MySQL)
		if err == nil {
			if lost {
				back := &querylog.Summary{}
				back.Restarted(w.now())
				window.add(w.now(), back)
			}
			w.limit(mysqlLimit, nil)
			if !s.CanCountAll() {
				w.limit("performance_schema", errors.New("is off: only statements that are caught running are seen"))
			}
			pause.reset()
			err = w.queryLoop(ctx, s.NewLooker(), window)
			s.Close()
		}
		if ctx.Err() != nil {
			return
		}
		lost = true
		w.limit(mysqlLimit, err)
		sleep(ctx, pause.next())
	}
}

// queryLoop looks at the database until it is lost.
func (w *Watcher) queryLoop(ctx context.Context, l *live.Looker, window *queryWindow) error {
	for n := 1; ; n++ {
		running, err := l.Look(ctx)
		if err != nil {
			window.add(w.now(), l.Take())
			return err
		}
		w.tell(w.engine.ObserveRunning(w.now(), running))
		if n%looksAnAnalysis == 0 {
			window.add(w.now(), l.Take())
			w.tell(w.engine.ObserveQueries(w.now(), querylog.Analyse(window.all(), querylog.AnalyseOptions{})))
		}
		if !sleep(ctx, w.opts.Pulse) {
			return ctx.Err()
		}
	}
}
