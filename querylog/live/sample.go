package live

import (
	"context"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/herdscan/herdscan/querylog"
)

// SampleOptions steer Sample.
type SampleOptions struct {
	For time.Duration // how long; 0 means until the context ends
	// Every is the pause between two looks at the counters, at least 200 ms;
	// 0 means 1 s.
	Every time.Duration
	// Processes is the pause between two looks at the process list, at least
	// 20 ms; 0 means 100 ms.
	Processes time.Duration
	// Progress, if set, is told after each look at the counters how many
	// statements were counted.
	Progress func(statements uint64)
}

// lookShare is how much of the time each kind of look may take: when they get
// slow, they get rare.
const lookShare = 0.1

// Pauses before the server is asked for again, doubled each time.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// Sample watches a running server without any log. Once a second it takes how
// often every statement ran from performance_schema, and ten times a second what
// runs from the process list: texts, clients and starts of those that it
// catches. Each kind of look takes at most a tenth of the time. Without
// performance_schema only statements that are caught running are counted. A
// server that is lost is asked for again until the end. What could not be
// seen, and when, is in the coverage's notes.
//
// When the context ends, what was seen so far is returned with a nil error.
func (s *Server) Sample(ctx context.Context, o SampleOptions) (*querylog.Summary, error) {
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	r := &recording{
		w: newSampler(s), o: o, began: time.Now().UTC(), seesAll: s.seesAll(ctx), ahead: s.ahead,
		counts: pace{every: orAtLeast(o.Every, time.Second, 200*time.Millisecond), share: lookShare},
		list:   pace{every: orAtLeast(o.Processes, 100*time.Millisecond, 20*time.Millisecond), share: lookShare},
	}
	return r.run(ctx)
}

func orAtLeast(d, usual, least time.Duration) time.Duration {
	if d <= 0 {
		return usual
	}
	return max(d, least)
}

// recording is the state of one Sample.
type recording struct {
	w            *sampler
	o            SampleOptions
	began        time.Time
	counts, list pace
	gaps         gaps
	executed     executions
	seesAll      bool          // the account may see what others run
	ahead        time.Duration // the server's clock from ours
}

// run looks until the context ends.
func (r *recording) run(ctx context.Context) (*querylog.Summary, error) {
	for ctx.Err() == nil {
		err := r.look(ctx)
		if err != nil && ctx.Err() == nil {
			err = r.lost(ctx, err)
		}
		if err != nil && ctx.Err() == nil {
			r.finish(err)
			return r.w.out, err
		}
		if !waitUntil(ctx, r.nextLook()) {
			break
		}
	}
	r.finish(nil)
	return r.w.out, nil
}

// nextLook is when the next look of either kind is due.
func (r *recording) nextLook() time.Time {
	if r.list.next.Before(r.counts.next) {
		return r.list.next
	}
	return r.counts.next
}

// look takes the look that is due.
func (r *recording) look(ctx context.Context) error {
	begin := time.Now()
	if !r.counts.due(begin) {
		err := r.w.lookProcesses(ctx)
		r.list.took(begin, time.Now())
		return err
	}
	err := r.w.lookDigests(ctx)
	if err == nil && r.w.counting {
		err = r.executed.look(ctx, r.w.s)
	}
	end := time.Now()
	r.counts.took(begin, end)
	r.list.next = maxTime(r.list.next, end) // it was looked at as well
	if err == nil && r.o.Progress != nil {
		r.o.Progress(r.w.out.Statements())
	}
	return err
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lost waits for a server that does not answer. It returns an error that no
// waiting will mend, or that of the context.
func (r *recording) lost(ctx context.Context, err error) error {
	var said *mysql.MySQLError
	if errors.As(err, &said) && !ending(said) {
		return err
	}
	from, id := time.Now().UTC(), r.w.s.connection
	r.w.forget()
	r.executed.forget()
	r.gaps.open(from, err)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if !waitUntil(ctx, time.Now().Add(pause)) {
			return ctx.Err()
		}
		if r.w.s.reconnect(ctx) == nil {
			break
		}
	}
	now := time.Now().UTC()
	r.gaps.close(now)
	if r.w.s.connection <= id { // they are numbered from the server's start
		r.gaps.restarts++
		r.w.out.Restarted(now)
	}
	r.w.resume()
	return nil
}

// ending says whether a server's error ends the connection, and not only the statement.
func ending(err *mysql.MySQLError) bool {
	switch err.Number {
	case 1053, // shutdown in progress
		1040, 1203, 1226, // too many connections
		1317,             // interrupted
		1927, 3024, 1969, // killed; took too long
		1152, 1158, 1159, 1160, 1161: // broken while talking
		return true
	}
	return false
}

// isDenied says whether an error is that of a missing privilege.
func isDenied(err error) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && (said.Number == 1142 || said.Number == 1044 || said.Number == 1227 || said.Number == 1143)
}

// waitUntil waits for a time; it returns false when the context ends before.
func waitUntil(ctx context.Context, at time.Time) bool {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// finish closes what is open and states what was not seen.
func (r *recording) finish(err error) {
	w := r.w
	w.end()
	end := time.Now().UTC()
	if r.gaps.isOpen() {
		w.cov.Complete, w.cov.Stopped = false, r.gaps.stopped()
		r.gaps.close(end)
	}
	if err != nil {
		w.cov.Complete, w.cov.Stopped = false, err.Error()
	}
	w.cov.Notes = r.notes(end)
	w.out.Cover(w.cov)
}
