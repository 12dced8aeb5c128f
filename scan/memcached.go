package scan

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// MemcachedOptions says which memcached server is read. The zero value of every field but URL is a good choice.
type MemcachedOptions struct {
	// URL is memcached://host, memcached://host:port, or memcached:///path/of/socket.
	URL string
	// ConnectTimeout bounds dialing; 5 s if 0.
	ConnectTimeout time.Duration
	// Timeout bounds the silence of the server within an answer; 5 s if 0.
	Timeout time.Duration
	// BusyWait bounds the waiting for another client's crawl, as a server runs one at a time; 30 s if 0.
	BusyWait time.Duration
	// Progress is called now and then during Keys, from its goroutine, with the keys read and those expected.
	Progress func(read, total uint64)
}

const (
	memcachedPort   = "11211"
	defaultBusyWait = 30 * time.Second
)

// ErrMemcachedBusy is the cause when another client's crawl did not end in time.
var ErrMemcachedBusy = errors.New("another crawl of the LRU is running, and a server runs one at a time; try again later")

// Memcached is a live memcached server. Keys lists its items with "lru_crawler metadump all", which runs in a thread
// of its own there; no setting of the server is changed. It is a walk of a living cache: an item that moves meanwhile
// may be listed twice or not at all, and items invalidated by flush_all may still be listed.
//
// Expiries are whole seconds by the server's clock. The original time to live is known (Key.TTL) for items that were
// not read since they were written.
type Memcached struct {
	network, addr string
	name          string
	opts          MemcachedOptions
	info          Info
	coverage      Coverage
}

var (
	_ Source  = (*Memcached)(nil)
	_ Coverer = (*Memcached)(nil)
)

// IsMemcachedURL reports whether text begins with the scheme that OpenMemcached understands.
func IsMemcachedURL(text string) bool {
	return len(text) > len("memcached://") && strings.EqualFold(text[:len("memcached://")], "memcached://")
}

// OpenMemcached connects to the server at o.URL and asks it about itself by "stats" and "stats settings". Its errors
// name the server and the reason, such as a refused connection, no answer, or another protocol.
func OpenMemcached(ctx context.Context, o MemcachedOptions) (*Memcached, error) {
	m := &Memcached{opts: o}
	if err := m.parseURL(o.URL); err != nil {
		return nil, err
	}
	m.opts.ConnectTimeout = cmp.Or(o.ConnectTimeout, defaultTimeout)
	m.opts.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	m.opts.BusyWait = cmp.Or(o.BusyWait, defaultBusyWait)
	return m, m.with(ctx, func(c *memcachedConn) error {
		info, err := c.info()
		m.info = info
		return err
	})
}

func (m *Memcached) parseURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("not a URL of memcached: want memcached://host:port") // err may repeat a secret
	case !strings.EqualFold(u.Scheme, "memcached"):
		return errors.New("not a URL of memcached: it does not begin with memcached://")
	case u.User != nil:
		return errors.New("a memcached URL takes no user and password: herdscan can't log in to memcached")
	case u.Host == "" && u.Path != "":
		m.network, m.addr = "unix", u.Path
	case u.Hostname() == "" || strings.Trim(u.Path, "/") != "":
		return errors.New("not a URL of memcached: want memcached://host:port")
	default:
		port := u.Port()
		if port == "" {
			port = memcachedPort
		}
		m.network, m.addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	}
	m.name = "memcached://" + m.addr
	return nil
}

// Keys implements Source.
func (m *Memcached) Keys(ctx context.Context, yield func(*Key) error) error {
	m.coverage = Coverage{Name: m.name, Sampled: 1}
	var stopped error // by yield
	err := m.with(ctx, func(c *memcachedConn) error {
		info, err := c.info()
		if err != nil {
			return err
		}
		m.info = info
		m.coverage.Total = m.items()
		return m.dump(ctx, c, func(k *Key) error {
			stopped = yield(k)
			return stopped
		})
	})
	if stopped != nil {
		return stopped
	}
	if err != nil {
		m.coverage.Errors = append(m.coverage.Errors, err)
	}
	m.coverage.Complete = err == nil
	return err
}

// Size implements Source by the server's count at OpenMemcached or at the last call of Keys. It counts expired items
// that were not yet reclaimed.
func (m *Memcached) Size(context.Context) (uint64, error) { return m.items(), nil }

func (m *Memcached) items() uint64 { return m.info.DBs[0].Keys }

// String names the server.
func (m *Memcached) String() string { return m.name }

// Kind returns "memcached".
func (m *Memcached) Kind() string { return "memcached" }

// Resolution returns a second.
func (m *Memcached) Resolution() time.Duration { return time.Second }

// Now returns the server's clock at the start of the last call of Keys, else at OpenMemcached.
func (m *Memcached) Now() (time.Time, bool) { return m.info.Now, !m.info.Now.IsZero() }

// Info returns what the server told about itself.
func (m *Memcached) Info() Info { return m.info }

// Coverage implements Coverer.
func (m *Memcached) Coverage() []Coverage { return []Coverage{m.coverage} }

// with runs do on a new connection, which ends with ctx.
func (m *Memcached) with(ctx context.Context, do func(*memcachedConn) error) error {
	dialer := net.Dialer{Timeout: m.opts.ConnectTimeout}
	conn, err := dialer.DialContext(ctx, m.network, m.addr)
	if err != nil {
		return m.explain(ctx, m.unreachable(err))
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c := &memcachedConn{Conn: conn, timeout: m.opts.Timeout}
	c.lines = lineReader{r: bufio.NewReaderSize(c, headSize)}
	return m.explain(ctx, do(c))
}

// unreachable puts the usual failures to connect into words.
func (m *Memcached) unreachable(err error) error {
	switch p := problemOf(err); {
	case m.network == "tcp" && (p == ProblemRefused || p == ProblemUnknownHost):
		return errors.New(problemText[p][0] + ": " + problemText[p][1])
	case p == ProblemTimeout:
		return fmt.Errorf("no connection within %v: is the address right, or is a firewall in between?", m.opts.ConnectTimeout)
	}
	return err
}

// explain names the server in an error.
func (m *Memcached) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no answer within %v", m.opts.Timeout)
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// A memcachedConn is a connection whose reads and writes each have a deadline.
type memcachedConn struct {
	net.Conn
	timeout time.Duration
	lines   lineReader
}

func (c *memcachedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// send sends a command.
func (c *memcachedConn) send(command string) error {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := io.WriteString(c.Conn, command+"\r\n")
	return err
}

// stats sends a command that answers with lines "STAT name value" and END.
func (c *memcachedConn) stats(command string) (map[string]string, error) {
	if err := c.send(command); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for len(fields) < maxStats {
		line, err := c.lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				err = errors.New("it closes the connection instead of answering")
			}
			return nil, err
		}
		if string(line) == "END" {
			return fields, nil
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(string(line), "STAT "), " ")
		if !ok || !strings.HasPrefix(string(line), "STAT ") {
			return nil, notMemcached(line)
		}
		fields[name] = value
	}
	return nil, errors.New("not memcached: its answer to stats does not end")
}

// maxStats bounds the answer to stats.
const maxStats = 10_000

// notMemcached explains an answer to stats that is none.
func notMemcached(line []byte) error {
	text := string(line)
	switch {
	case strings.Contains(text, "unauthenticated"):
		return errors.New("it wants a login, which herdscan does not support")
	case strings.HasPrefix(text, "-"):
		return fmt.Errorf("not memcached: it answers like Redis (%q); use redis://", cut(line))
	case strings.HasPrefix(text, "HTTP/"):
		return errors.New("not memcached: it answers in HTTP")
	}
	return fmt.Errorf("not memcached: it answers %q", cut(line))
}

// info asks the server about itself.
func (c *memcachedConn) info() (Info, error) {
	f, err := c.stats("stats")
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Kind: "memcached", Version: f["version"], Mode: "standalone",
		Hits: statNumber(f, "get_hits"), Misses: statNumber(f, "get_misses"),
		Evicted: statNumber(f, "evictions"), Expired: statNumber(f, "reclaimed"),
		UsedMemory: statNumber(f, "bytes"), MaxMemory: statNumber(f, "limit_maxbytes"),
		DBs: map[int]DBInfo{0: {Keys: statNumber(f, "curr_items")}},
	}
	if sec := statNumber(f, "time"); sec > 0 {
		info.Now = time.Unix(int64(sec), 0)
	}
	settings, err := c.stats("stats settings")
	switch {
	case errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded):
		return info, err
	case err != nil:
		info.Missing = append(info.Missing, fmt.Sprintf("stats settings: %v", err))
	case settings["lru_crawler"] == "no":
		info.Missing = append(info.Missing, errCrawlerOff.Error())
	case settings["dump_enabled"] == "no":
		info.Missing = append(info.Missing, errDumpOff.Error())
	}
	return info, nil
}

// statNumber returns a number of stats, 0 if there is none.
func statNumber(f map[string]string, name string) uint64 {
	n, ok := parseInt([]byte(f[name]))
	if !ok || n < 0 {
		return 0
	}
	return uint64(n)
}
