package scan

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Live keeps one connection to each primary of a deployment, for looks that come again and again: a new connection
// each second would cost more than the look. Its methods may be called at the same time. When one fails, close the
// Live and open another: the primaries may have changed.
type Live struct {
	redis   *Redis
	servers []*liveServer
}

type liveServer struct {
	node   *node
	client *redis.Client
}

// OpenLive connects to the primaries of the deployment at o.URL, or to the one server if that is a replica itself.
func OpenLive(ctx context.Context, o Options) (*Live, error) {
	o.Primary, o.Replica = true, false
	r, err := OpenRedis(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &Live{redis: r}
	for _, s := range r.shards {
		if s.err == nil {
			l.servers = append(l.servers, &liveServer{node: s.node, client: s.node.client(0, nil)})
		}
	}
	return l, nil
}

// Close ends the connections, and with them every call that waits for an answer.
func (l *Live) Close() {
	for _, s := range l.servers {
		s.client.Close()
	}
}

// String names the deployment without user and password.
func (l *Live) String() string { return l.redis.String() }

// Unreachable says which shards of a cluster have no server that answers, and why.
func (l *Live) Unreachable() []error {
	var errs []error
	for _, s := range l.redis.shards {
		if s.err != nil {
			errs = append(errs, s.err)
		}
	}
	return errs
}

// Vitals are the counters of one server at one moment, all since its start.
type Vitals struct {
	Server string
	Info
	// RunID changes with each start of the server.
	RunID string
	// Commands is the number of commands processed.
	Commands uint64
	// Clients is the number of connected clients.
	Clients uint64
	// CPU is the time that the server's process has used.
	CPU time.Duration
	// Changes counts writes that took effect, since the last save of the data.
	Changes uint64
	// Flushes counts calls of FLUSHALL and FLUSHDB.
	Flushes uint64
	// At is this machine's clock when the answer came.
	At time.Time
}

// Keys is the number of keys in all databases.
func (v *Vitals) Keys() (sum uint64) {
	for _, db := range v.DBs {
		sum += db.Keys
	}
	return sum
}

// Vitals asks each server for its counters: INFO and INFO commandstats. A refusal is in Info.Missing; the error names
// the servers that did not answer.
func (l *Live) Vitals(ctx context.Context) ([]Vitals, error) {
	out := make([]Vitals, len(l.servers))
	err := l.each(func(i int, s *liveServer) (err error) {
		out[i], err = s.vitals(ctx)
		return err
	})
	kept := out[:0]
	for _, v := range out {
		if !v.At.IsZero() {
			kept = append(kept, v)
		}
	}
	return kept, err
}

// each runs do for all servers at once.
func (l *Live) each(do func(i int, s *liveServer) error) error {
	errs := make([]error, len(l.servers))
	var wg sync.WaitGroup
	for i, s := range l.servers {
		wg.Go(func() { errs[i] = s.node.explain(do(i, s)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *liveServer) vitals(ctx context.Context) (Vitals, error) {
	pipe := s.client.Pipeline()
	general, stats := pipe.Info(ctx), pipe.Info(ctx, "commandstats")
	if _, err := pipe.Exec(ctx); err != nil && !isErrorReply(err) {
		return Vitals{}, err
	}
	if err := general.Err(); err != nil {
		missing, ok := commandError(s.node.name, "info", err)
		if !ok {
			return Vitals{}, err // LOADING and its kin: to be asked again
		}
		return Vitals{Server: s.node.name, At: time.Now(), Info: Info{Missing: []string{missing.Error()}}}, nil
	}
	v := parseVitals(general.Val(), stats.Val())
	v.Server, v.At = s.node.name, time.Now()
	return v, nil
}

func parseVitals(general, stats string) Vitals {
	f := infoFields(general)
	v := Vitals{
		Info: parseInfo(general), RunID: f["run_id"],
		Commands: number(f["total_commands_processed"]), Clients: number(f["connected_clients"]),
		CPU: cpuTime(f["used_cpu_sys"]) + cpuTime(f["used_cpu_user"]), Changes: number(f["rdb_changes_since_last_save"]),
	}
	v.Flushes, _ = commandUsage(stats, "flushall", "flushdb")
	return v
}

func cpuTime(seconds string) time.Duration {
	x, err := strconv.ParseFloat(seconds, 64)
	if err != nil || !(x >= 0 && x < 1e9) {
		return 0
	}
	return time.Duration(x * float64(time.Second))
}

// A Setting is a configuration value of one server.
type Setting struct {
	Server, Value string
}

const notifySetting = "notify-keyspace-events"

// NotifyFlags returns the setting notify-keyspace-events of each server.
func (l *Live) NotifyFlags(ctx context.Context) ([]Setting, error) {
	out := make([]Setting, len(l.servers))
	err := l.each(func(i int, s *liveServer) error {
		values, err := s.client.ConfigGet(ctx, notifySetting).Result()
		if missing, ok := commandError(s.node.name, "config|get", err); ok {
			return missing
		}
		out[i] = Setting{Server: s.node.name, Value: values[notifySetting]}
		return err
	})
	return out, err
}

// SetNotifyFlags changes notify-keyspace-events of one server until its next start. It writes nothing to its
// configuration file.
func (l *Live) SetNotifyFlags(ctx context.Context, to Setting) error {
	for _, s := range l.servers {
		if s.node.name != to.Server {
			continue
		}
		err := s.client.ConfigSet(ctx, notifySetting, to.Value).Err()
		if missing, ok := commandError(s.node.name, "config|set", err); ok {
			return missing
		}
		return s.node.explain(err)
	}
	return fmt.Errorf("%s is not one of the servers watched", to.Server)
}

// SendsKeyMisses tells whether notify-keyspace-events has what KeyMisses needs: events by name (E) of misses (m).
func SendsKeyMisses(flags string) bool {
	return strings.Contains(flags, "E") && strings.Contains(flags, "m")
}

// WithKeyMisses adds to notify-keyspace-events what KeyMisses needs.
func WithKeyMisses(flags string) string {
	for _, f := range []string{"E", "m"} {
		if !strings.Contains(flags, f) {
			flags += f
		}
	}
	return flags
}

// Reread asks again when each key expires, as Redis.Reread does.
func (l *Live) Reread(ctx context.Context, keys []KeyRef) ([]int64, error) {
	return l.redis.Reread(ctx, keys)
}

// Inspect asks for type and idle time or access counter of a few keys, as Redis.Inspect does.
func (l *Live) Inspect(ctx context.Context, keys []KeyRef) ([]Detail, error) {
	return l.redis.Inspect(ctx, keys)
}

// LiveAccess lists, for the reader, the commands that watching sends besides those of a scan, and the ACL rules that
// permit them.
func LiveAccess() string {
	return `
Watching sends besides, on one connection kept open:
  INFO                each second: hits, misses, evictions, writes, flushes
  CONFIG GET          notify-keyspace-events: does the server tell misses of keys?
  PSUBSCRIBE          __keyevent@*__:keymiss, where it does
  CONFIG SET          only with --enable-keymiss: notify-keyspace-events, put back at the end
  MONITOR             only with --monitor, for --sample-for at a time
None of them is needed: what a user may not send is named, and the rest goes on.
  +config|get +psubscribe &__keyevent@*__:keymiss      (+config|set)      (+monitor)
A Redis for --coordinate is written to: SET key NX PX, DEL of it if the alert could not be sent,
and GET and SET of what the last look found.
  ACL SETUSER herdscan-claims on >PASSWORD ~herdscan:* -@all +ping +info +time +set +get +del
`
}

// LFU tells whether the server counts accesses of keys.
func (i *Info) LFU() bool { return strings.Contains(i.Policy, "lfu") }
