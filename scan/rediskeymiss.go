package scan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	keyMissPattern = "__keyevent@*__:keymiss"
	// subscribeQuiet is how long a subscription may be silent before a PING asks whether the server is still there.
	subscribeQuiet = 10 * time.Second
)

// A KeyMiss says that somebody asked for a key that is not there. The event does not say who.
type KeyMiss struct {
	Server string
	DB     int
	Key    string
}

// KeyMisses subscribes to the keymiss events of all servers and yields them until ctx ends or a server is lost. Only
// servers with notify-keyspace-events "Em" send any. yield is called from several goroutines and must not wait: a
// slow reader makes the server keep the events in its memory, and drop the connection in the end. subscribed, if not
// nil, is called when all servers have accepted.
func (l *Live) KeyMisses(ctx context.Context, subscribed func(), yield func(KeyMiss)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan struct{}, len(l.servers))
	go func() {
		for range l.servers {
			select {
			case <-ready:
			case <-ctx.Done():
				return
			}
		}
		if subscribed != nil {
			subscribed()
		}
	}()
	err := l.each(func(_ int, s *liveServer) error {
		defer cancel() // one lost server ends all: the caller looks up the primaries again
		return s.keyMisses(ctx, ready, yield)
	})
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

func (s *liveServer) keyMisses(ctx context.Context, ready chan<- struct{}, yield func(KeyMiss)) error {
	sub := s.client.PSubscribe(ctx, keyMissPattern)
	defer sub.Close()
	stop := context.AfterFunc(ctx, func() { sub.Close() })
	defer stop()
	asked := false
	for {
		msg, err := sub.ReceiveTimeout(ctx, subscribeQuiet)
		var quiet net.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &quiet) && quiet.Timeout() && !asked:
			if err := sub.Ping(ctx); err != nil {
				return err
			}
			asked = true
			continue
		case isErrorReply(err):
			if missing, ok := commandError(s.node.name, "psubscribe", err); ok {
				return missing
			}
			return &CommandError{Addr: s.node.name, Command: "PSUBSCRIBE", Denied: true, Text: err.Error()}
		case err != nil:
			return err
		}
		asked = false
		switch m := msg.(type) {
		case *redis.Subscription:
			ready <- struct{}{}
		case *redis.Message:
			if m.Payload != probeKey {
				yield(KeyMiss{Server: s.node.name, DB: eventDB(m.Channel), Key: m.Payload})
			}
		}
	}
}

// eventDB reads the number in __keyevent@3__:keymiss.
func eventDB(channel string) int {
	_, rest, _ := strings.Cut(channel, "@")
	digits, _, _ := strings.Cut(rest, "__")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// String names the key with its database.
func (m KeyMiss) String() string { return fmt.Sprintf("%q in database %d", m.Key, m.DB) }
