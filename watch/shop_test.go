package watch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

// A conn is one client connection of the test application.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

// do sends commands in one write and returns their replies; a missing value
// is "".
func (c *conn) do(commands ...[]string) ([]string, error) {
	var b strings.Builder
	for _, words := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		return nil, err
	}
	replies := make([]string, len(commands))
	for i := range replies {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		replies[i] = strings.TrimRight(line, "\r\n")
		if n, err := strconv.Atoi(replies[i][1:]); replies[i][0] == '$' && err == nil {
			replies[i] = ""
			if n >= 0 {
				value := make([]byte, n+2)
				if _, err := io.ReadFull(c.r, value); err != nil {
					return nil, err
				}
				replies[i] = string(value[:n])
			}
		}
	}
	return replies, nil
}

// A shop is a small application with a cache: until its context ends its
// workers go on, connecting again when the server is lost.
type shop struct {
	addr string
	wg   sync.WaitGroup
	stop context.CancelFunc
	ctx  context.Context
}

func newShop(t *testing.T, s *redistest.Server) *shop {
	ctx, stop := context.WithCancel(context.Background())
	shop := &shop{addr: s.Addr, ctx: ctx, stop: stop}
	t.Cleanup(func() {
		stop()
		shop.wg.Wait()
	})
	return shop
}

// workers runs n of them, each with a connection of its own.
func (s *shop) workers(n int, work func(i int, c *conn) error) {
	for i := range n {
		s.wg.Go(func() {
			for s.ctx.Err() == nil {
				c, err := dial(s.addr)
				if err != nil {
					s.pause(50 * time.Millisecond)
					continue
				}
				for s.ctx.Err() == nil && err == nil {
					err = work(i, c)
				}
				c.Close()
			}
		})
	}
}

func (s *shop) pause(d time.Duration) { sleep(s.ctx, d) }

// catalogue reads all products again and again, and writes those that are not
// there, with the TTL that ttl gives.
func (s *shop) catalogue(clients, products int, ttl func() time.Duration) {
	s.workers(clients, func(i int, c *conn) error {
		var gets [][]string
		for p := range products {
			if p%clients == i {
				gets = append(gets, []string{"GET", fmt.Sprintf("product:%d", p)})
			}
		}
		values, err := c.do(gets...)
		if err != nil {
			return err
		}
		var sets [][]string
		for k, v := range values {
			if v == "" {
				sets = append(sets, []string{"SET", gets[k][1], "value", "PX", fmt.Sprint(ttl().Milliseconds())})
			}
		}
		_, err = c.do(sets...)
		s.pause(200 * time.Millisecond)
		return err
	})
}

func fixed(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// jittered is a TTL that is random by half of it.
func jittered(d time.Duration) func() time.Duration {
	return func() time.Duration { return d/2 + rand.N(d) }
}

// hotKey is read by all clients many times a second and takes long to compute.
func (s *shop) hotKey(clients int, key string, ttl, compute time.Duration, locked bool) {
	s.workers(clients, func(_ int, c *conn) error {
		defer s.pause(20*time.Millisecond + rand.N(20*time.Millisecond))
		v, err := c.do([]string{"GET", key})
		if err != nil || v[0] != "" {
			return err
		}
		if locked {
			got, err := c.do([]string{"SET", "lock:" + key, "me", "NX", "PX", "10000"})
			if err != nil || got[0] != "+OK" {
				return err // the old value is served, from elsewhere
			}
		}
		s.pause(compute)
		commands := [][]string{{"SET", key, "value", "PX", fmt.Sprint(ttl.Milliseconds())}}
		if locked {
			commands = append(commands, []string{"DEL", "lock:" + key})
		}
		_, err = c.do(commands...)
		return err
	})
}

// A log keeps what a Watcher tells.
type log struct {
	mu     sync.Mutex
	events []Event
}

func (l *log) tell(events []Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, events...)
}

func (l *log) all() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Event(nil), l.events...)
}

// find returns the events about a subject, by rule and stage.
func (l *log) find(rule, subject string, s Stage) (found []Event) {
	for _, e := range l.all() {
		if e.Rule == rule && e.Subject == subject && e.Stage == s {
			found = append(found, e)
		}
	}
	return found
}

func (l *log) String() string {
	var b strings.Builder
	for _, e := range l.all() {
		fmt.Fprintf(&b, "%s %s %s %s %s: %s\n", e.At.Format("05.000"), e.Stage, e.Rule, e.Severity, e.Subject, e.Text)
	}
	return b.String()
}

// await waits until there are n events of a kind.
func (l *log) await(t *testing.T, n int, rule, subject string, s Stage) []Event {
	t.Helper()
	const patience = 90 * time.Second // only waited for when something is wrong
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found := l.find(rule, subject, s); len(found) >= n {
			return found
		}
	}
	t.Fatalf("no %d × %s %s of %s; told:\n%s", n, rule, s, subject, l)
	return nil
}

// watching runs a Watcher until the end of the test.
func watching(t *testing.T, s *redistest.Server, o Options) (*Watcher, *log) {
	t.Helper()
	l := &log{}
	if o.Redis.URL == "" {
		o.Redis.URL = "redis://" + s.Addr
	}
	if o.Pulse == 0 {
		o.Pulse = 200 * time.Millisecond
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	o.Tell = l.tell
	w := New(o)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return w, l
}

// alarms are the events that would wake somebody.
func (l *log) alarms() (out []Event) {
	for _, e := range l.all() {
		if e.Stage != Notice && e.Severity >= rule.Warning {
			out = append(out, e)
		}
	}
	return out
}

// redisOptions are those of a user.
func redisOptions(s *redistest.Server, user, password string) scan.Options {
	return scan.Options{URL: "redis://" + s.Addr, Username: user, Password: password, Timeout: 2 * time.Second}
}
