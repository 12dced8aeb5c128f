package querylog

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// planted is one statement of a made-up log.
type planted struct {
	at     time.Duration
	took   time.Duration
	query  string
	host   int
	thread int
	sent   int
}

// logStart is when made-up logs begin.
var logStart = time.Date(2026, 3, 24, 6, 0, 7, 0, time.UTC)

// background makes ordinary traffic: rate statements a second of a few shapes.
func background(r *rand.Rand, rate float64, span time.Duration) []planted {
	shapes := []string{
		"SELECT a, b FROM users WHERE id = %d", "SELECT * FROM carts WHERE user_id = %d AND open = 1", "UPDATE users SET seen = %d WHERE id = 5",
		"INSERT INTO views (page, n) VALUES ('p%d', 1)", "SELECT COUNT(*) FROM orders WHERE shop = 'x' AND user_id = %d",
	}
	var out []planted
	for at := 0.0; at < span.Seconds(); at += r.ExpFloat64() / rate {
		out = append(out, planted{
			at: time.Duration(at * 1e9), took: time.Duration(r.ExpFloat64() * 2e6), host: r.IntN(4), thread: 10 + r.IntN(40), sent: 1,
			query: fmt.Sprintf(shapes[r.IntN(len(shapes))], r.IntN(100000)),
		})
	}
	return out
}

// slowLog writes statements as MySQL 8 does, in the order of their ends.
func slowLog(events []planted) string {
	slices.SortStableFunc(events, func(a, b planted) int { return cmp.Compare(a.at+a.took, b.at+b.took) })
	var b strings.Builder
	b.WriteString(bannerMySQL8)
	for _, e := range events {
		end := logStart.Add(e.at + e.took)
		fmt.Fprintf(&b, "# Time: %s\n# User@Host: app[app] @ web-%d [10.0.0.%d]  Id: %5d\n# Query_time: %.6f  Lock_time: 0.000001 Rows_sent: %d  Rows_examined: %d\nSET timestamp=%d;\n%s;\n",
			end.Format("2006-01-02T15:04:05.000000Z"), e.host, e.host+1, e.thread, e.took.Seconds(), e.sent, e.sent*3, logStart.Add(e.at).Unix(), e.query)
	}
	return b.String()
}

// generalLog writes statements as MariaDB does, in the order of their starts.
func generalLog(events []planted) string {
	slices.SortStableFunc(events, func(a, b planted) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	b.WriteString(bannerMaria)
	last := ""
	seen := map[int]bool{}
	for _, e := range events {
		stamp := logStart.Add(e.at).Format("060102 15:04:05")
		lead := "\t"
		if stamp != last {
			lead, last = stamp, stamp
		}
		if !seen[e.thread] {
			seen[e.thread] = true
			fmt.Fprintf(&b, "%s\t%6d Connect\tapp@10.0.0.%d on shop using TCP/IP\n", lead, e.thread, e.host+1)
			lead = "\t"
		}
		fmt.Fprintf(&b, "%s\t%6d Query\t%s\n", lead, e.thread, e.query)
	}
	return b.String()
}

// smallLog is a log with some traffic, a stampede and a fake header in a string.
func smallLog() string {
	r := rand.New(rand.NewPCG(3, 4))
	events := background(r, 4, time.Minute)
	for i := range 60 {
		events = append(events, planted{at: 20*time.Second + time.Duration(i)*5*time.Millisecond, took: time.Second, query: "SELECT * FROM rates WHERE base = 'EUR'", host: i % 4, thread: 100 + i, sent: 1})
	}
	events = append(events, planted{at: 30 * time.Second, took: time.Millisecond, query: "INSERT INTO r VALUES ('x;\n# Time: 200101  0:00:00\n# User@Host: root[root] @ localhost []\n# Query_time: 1  Lock_time: 0\nSELECT 1')", thread: 9})
	return slowLog(events)
}
