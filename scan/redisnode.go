package scan

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// silence stops go-redis from printing to stderr. The client has no setting of its own for that.
var silence = sync.OnceFunc(func() { redis.SetLogger(new(logging.VoidLogger)) })

// A node is one server. Its connections are made when they are needed.
type node struct {
	network, addr string
	name          string // for humans: the address with its scheme, or the shard's address
	username      string
	password      string
	tls           *tls.Config
	readOnly      bool // ask a replica of a cluster to serve reads
	opts          *Options

	only string // says that the rest of the cluster is out of sight, and why; "" if it is not

	info        Info
	clockOffset time.Duration // server's clock less ours when info was loaded
	rtt         time.Duration // round trip of a PING right after another
}

func newNode(t *target, addr string, tlsConfig *tls.Config, opts *Options) *node {
	silence()
	return &node{
		network: t.network, addr: addr, name: addr,
		username: t.username, password: t.password,
		tls: tlsConfig, opts: opts,
	}
}

// client returns a new client with one database selected. The caller closes it. If wait is not nil, the time spent
// waiting for answers is added to it.
func (n *node) client(db int, wait *waitMeter) *redis.Client {
	o := &redis.Options{
		Network: n.network, Addr: n.addr, Username: n.username, Password: n.password, DB: db,
		// RESP2 has every reply that a scan needs, and no push messages in between.
		Protocol: 2,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := n.dial(ctx, network, addr)
			if wait == nil || err != nil {
				return conn, err
			}
			return &meteredConn{conn, wait}, nil
		},
		DisableIdentity: true,
		MaxRetries:      -1, DialerRetries: 1,
		DialTimeout: 2 * n.opts.ConnectTimeout, ReadTimeout: n.opts.Timeout, WriteTimeout: n.opts.Timeout,
		ContextTimeoutEnabled: true,
		PoolSize:              10, PipelinePoolSize: -1,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if n.readOnly {
		o.OnConnect = func(ctx context.Context, c *redis.Conn) error { return c.ReadOnly(ctx).Err() }
	}
	return redis.NewClient(o)
}

// A waitMeter adds up the time spent waiting for the server, without the work of the client.
type waitMeter struct{ total time.Duration }

type meteredConn struct {
	net.Conn
	wait *waitMeter
}

// Read implements net.Conn.
func (c *meteredConn) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := c.Conn.Read(p)
	c.wait.total += time.Since(began)
	return n, err
}

// use runs do with a client that is closed afterwards, or as soon as ctx ends: that unblocks a pending read.
func (n *node) use(ctx context.Context, db int, do func(context.Context, *redis.Client) error) error {
	c := n.client(db, nil)
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	err := do(ctx, c)
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return n.explain(err)
}

func (n *node) explain(err error) error { return serverError(n.name, err) }

// dial connects and, where asked, shakes hands for TLS, all within ConnectTimeout: a plain server may never answer a
// handshake.
func (n *node) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.opts.ConnectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, addr)
	if err != nil || n.tls == nil {
		return conn, err
	}
	config := n.tls
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		if problemOf(err) == ProblemCertificate {
			return nil, err
		}
		return nil, &ServerError{Addr: n.name, Problem: ProblemNoTLS}
	}
	return secure, nil
}

const (
	firstPings    = 20
	firstPingTime = 300 * time.Millisecond
)

// connect checks that the server answers within ConnectTimeout and measures its round trip.
func (n *node) connect(ctx context.Context) error {
	err := n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		// As much for the answer as dial takes at most for the connection.
		first, cancel := context.WithTimeout(ctx, 2*n.opts.ConnectTimeout)
		defer cancel()
		if err := n.ping(first, c); err != nil {
			return err
		}
		var times []time.Duration
		for begin := time.Now(); len(times) < firstPings && time.Since(begin) < firstPingTime; {
			sent := time.Now()
			if err := n.ping(ctx, c); err != nil {
				return err
			}
			times = append(times, time.Since(sent))
		}
		// The lower quartile, because a busy client only ever makes it longer.
		n.rtt = quantile(times, 0.25)
		return nil
	})
	var failed *ServerError
	if !errors.As(err, &failed) || failed.Problem != ProblemClosed {
		return err
	}
	if n.tls != nil { // TLS 1.3: only the first answer tells whether our certificate was enough
		return &ServerError{
			Addr: n.name, Problem: ProblemCertificate,
			Err: fmt.Errorf("the server closed the connection after the handshake, as one does that wants a client's certificate: %w", failed.Err),
		}
	}
	return n.whyClosed(ctx, failed)
}

// whyClosed finds out why a server closed the connection at once: it turned us away, with an error right after the
// connection was made, or it speaks TLS.
func (n *node) whyClosed(ctx context.Context, failed *ServerError) error {
	ctx, cancel := context.WithTimeout(ctx, n.opts.ConnectTimeout)
	defer cancel()
	conn, err := n.dial(ctx, n.network, n.addr)
	if err != nil {
		return failed
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(rejectionTime))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	switch text, rejected := strings.CutPrefix(strings.TrimSpace(line), "-"); {
	case rejected:
		text, _, _ = strings.Cut(text, ". ") // what follows are a page of instructions for the server
		return &ServerError{Addr: n.name, Problem: ProblemRejected, Err: replyError(text)}
	case n.speaksTLS(ctx):
		return &ServerError{Addr: n.name, Problem: ProblemNeedsTLS}
	}
	return failed
}

// rejectionTime is how long to listen for an error that comes without a question.
const rejectionTime = 200 * time.Millisecond

// speaksTLS finds out whether a server that we could not talk to without TLS talks with it.
func (n *node) speaksTLS(ctx context.Context) bool {
	if n.network != "tcp" {
		return false
	}
	// Nothing is sent over this connection, so any certificate will do.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec
	conn, err := d.DialContext(ctx, n.network, n.addr)
	if err == nil {
		conn.Close()
	}
	var alert tls.AlertError
	return err == nil || errors.As(err, &alert)
}

// ping takes a refusal of PING for an answer: whoever refuses is alive.
func (n *node) ping(ctx context.Context, c *redis.Client) error {
	err := c.Ping(ctx).Err()
	if _, ok := commandError(n.name, "ping", err); ok {
		return nil
	}
	return err
}

// open connects and loads what the server tells about itself.
func (n *node) open(ctx context.Context) error {
	if err := n.connect(ctx); err != nil {
		return err
	}
	if err := n.loadInfo(ctx); err != nil {
		return err
	}
	if n.info.Mode == "sentinel" {
		return &ServerError{Addr: n.name, Problem: ProblemSentinel}
	}
	if n.info.Role == "master" && n.info.Replicas > 0 {
		n.info.Warnings = append(n.info.Warnings, fmt.Sprintf(
			"%s is a primary with replicas (%d): SCAN deletes expired keys that it meets there; a replica only hides them",
			n.name, n.info.Replicas))
	}
	return nil
}

// loadInfo reads what the server tells about itself. That it may not be told is no error: Info.Missing says so.
func (n *node) loadInfo(ctx context.Context) error {
	return n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		text, err := c.Info(ctx).Result()
		if missing, ok := commandError(n.name, "info", err); ok {
			n.info = Info{Missing: []string{missing.Error()}, DBs: make(map[int]DBInfo)}
		} else if err != nil && !isErrorReply(err) {
			return err
		} else {
			n.info = parseInfo(text)
		}
		if n.info.Now.IsZero() { // INFO has it since Redis 6.2
			if err := n.askTime(ctx, c); err != nil {
				return err
			}
		}
		n.clockOffset = time.Until(n.info.Now)
		return nil
	})
}

// askTime reads the server's clock, or ours if it refuses.
func (n *node) askTime(ctx context.Context, c *redis.Client) error {
	now, err := c.Time(ctx).Result()
	switch {
	case err == nil:
		n.info.Now = now.UTC()
	case isErrorReply(err):
		n.info.Now = time.Now().UTC()
		n.info.Missing = append(n.info.Missing, n.name+": the server's clock, so this machine's is used")
	default:
		return err
	}
	return nil
}

func isErrorReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// size asks for the number of keys in one database.
func (n *node) size(ctx context.Context, db int) (size uint64, err error) {
	err = n.use(ctx, db, func(ctx context.Context, c *redis.Client) error {
		count, err := c.DBSize(ctx).Result()
		size = uint64(max(count, 0))
		return err
	})
	return size, err
}
