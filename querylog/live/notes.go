package live

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// executions follows how many prepared statements ran.
type executions struct {
	base, n, before uint64
	based           bool
	looks           int
}

// look reads the counter at every tenth look at the digests.
func (x *executions) look(ctx context.Context, s *Server) error {
	if x.looks++; x.looks%10 != 1 {
		return nil
	}
	err := s.query(ctx, sqlExecuted, func(r *sql.Rows) error {
		var n uint64
		err := r.Scan(&n)
		if !x.based || n < x.base {
			x.base, x.based = n, true
		}
		x.n = x.before + n - x.base
		return err
	})
	if isDenied(err) {
		return nil
	}
	return err
}

// forget begins anew at the next look.
func (x *executions) forget() { x.before, x.based, x.looks = x.n, false, 0 }

// seesAll says whether the account may see what others run.
func (s *Server) seesAll(ctx context.Context) bool {
	all := false
	err := s.query(ctx, sqlGrants, func(r *sql.Rows) error {
		var grant string
		err := r.Scan(&grant)
		what, _, _ := strings.Cut(strings.ToUpper(grant), " ON ")
		for _, p := range strings.Split(strings.TrimPrefix(what, "GRANT "), ",") {
			p = strings.TrimSpace(p)
			all = all || p == "PROCESS" || p == "ALL PRIVILEGES" && strings.Contains(grant, " ON *.* ")
		}
		return err
	})
	return all || err != nil // nothing is claimed where grants can't be read
}

// notes says how it was looked, and what that can't see.
func (r *recording) notes(end time.Time) []string {
	w := r.w
	over := max(end.Sub(r.began), 1)
	looks := r.list.mean(over)
	notes := []string{fmt.Sprintf("looked for %v at the process list every %v and at the counters every %v, on average; that took %.1f %% of the time",
		over.Round(time.Second), looks.Round(time.Millisecond), r.counts.mean(over).Round(time.Millisecond), 100*float64(r.list.spent+r.counts.spent)/float64(over))}
	if looks > 2*r.list.every && r.list.looks > 10 {
		notes = append(notes, fmt.Sprintf("looks at the process list were slow, so there were fewer: each kind of look takes at most %.0f %% of the time", 100*lookShare))
	}
	switch {
	case w.counting:
		notes = append(notes, fmt.Sprintf("all statements are counted by digest, placed within a second; %d of %d were caught running, and only they show texts and clients", w.caught-min(w.orphans, w.caught), w.out.Statements()))
		notes = append(notes, fmt.Sprintf("a statement shorter than %v is caught only by luck, so copies of fast statements show as a count and not as identical texts", looks.Round(time.Millisecond)))
	case w.denied:
		notes = append(notes, "performance_schema may not be read (GRANT SELECT ON performance_schema.*): "+r.caughtOnly(looks))
	default:
		notes = append(notes, "performance_schema is off (performance_schema=ON in the server's configuration counts every statement): "+r.caughtOnly(looks))
	}
	notes = append(notes, r.uncounted()...)
	if !r.seesAll && !w.list.others {
		notes = append(notes, "the account's grants show no PROCESS: what other accounts run is not in the process list, so their texts and clients are not seen")
	}
	if r.ahead.Abs() > time.Second {
		notes = append(notes, fmt.Sprintf("times are those of this machine; the server's clock differs by %v", r.ahead.Round(100*time.Millisecond)))
	}
	return append(notes, r.gaps.notes()...)
}

func (r *recording) caughtOnly(looks time.Duration) string {
	return fmt.Sprintf("only statements caught running are counted, so counts are lower bounds, and most of those shorter than %v are missing", looks.Round(time.Millisecond))
}

// uncounted says which statements the digests left out.
func (r *recording) uncounted() (notes []string) {
	w := r.w
	if w.digests.lost > 0 {
		notes = append(notes, fmt.Sprintf("the digest table is full: %d statements were not counted by their shape (raise performance_schema_digests_size, or empty the table)", w.digests.lost))
	} else if w.digests.full {
		notes = append(notes, "the digest table was full before: shapes that are new to the server may not be counted")
	}
	if n := r.executed.n; n > 0 && w.s.MariaDB {
		notes = append(notes, fmt.Sprintf("%d executions of prepared statements: MariaDB keeps no digest of them, so only those caught running are counted", n))
	}
	if w.extra > 0 {
		notes = append(notes, fmt.Sprintf("%d statements caught running are in no digest: they are counted as they were seen, a lower bound", w.extra))
	}
	if w.orphans > 0 {
		notes = append(notes, fmt.Sprintf("%d statements caught running could not be told to a digest: they are counted, but not with their texts and clients", w.orphans))
	}
	return notes
}
