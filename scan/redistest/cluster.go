package redistest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A Cluster is a running Redis Cluster on loopback. Slots are shared out evenly; replica i*Replicas+j follows
// primary i.
type Cluster struct {
	Primaries, Replicas []*Server
	ids                 map[*Server]string
}

const slots = 16384

// StartCluster runs a cluster of some primaries with some replicas each, and returns when all are in step.
func StartCluster(t testing.TB, primaries, replicasEach int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{ids: make(map[*Server]string)}
	for i := range primaries * (1 + replicasEach) {
		// The usual bus port, 10000 above, may not exist.
		s := Start(t, append([]string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(FreePort(t)), "--cluster-node-timeout", "2000",
			"--cluster-config-file", "nodes.conf", "--repl-ping-replica-period", "1", "--cluster-require-full-coverage", "no",
		}, args...)...)
		c.ids[s] = s.Do(t, "CLUSTER", "MYID")
		if i < primaries {
			from, to := slots*i/primaries, slots*(i+1)/primaries-1
			s.Do(t, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to))
			c.Primaries = append(c.Primaries, s)
		} else {
			c.Replicas = append(c.Replicas, s)
		}
	}
	c.meet(t)
	for i, s := range c.Replicas {
		primary := c.Primaries[i/replicasEach]
		c.eventually(t, func() error {
			reply, err := command(s.Addr, "CLUSTER", "REPLICATE", c.ids[primary])
			return expect(reply, err, "+OK")
		})
	}
	for _, s := range c.Replicas {
		c.eventually(t, func() error {
			reply, err := command(s.Addr, "INFO", "replication")
			return expect(reply, err, "master_link_status:up")
		})
	}
	for _, s := range c.All() {
		c.eventually(t, func() error {
			reply, err := command(s.Addr, "CLUSTER", "NODES")
			if n := strings.Count(reply, "slave "); n != len(c.Replicas) {
				return fmt.Errorf("it sees %d replicas", n)
			}
			return expect(reply, err, "connected")
		})
	}
	return c
}

// meet makes all members know each other.
func (c *Cluster) meet(t testing.TB) {
	t.Helper()
	first := c.Primaries[0]
	bus := first.argument("--cluster-port")
	for _, s := range c.All()[1:] {
		s.Do(t, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(first.Port), bus)
	}
	for _, s := range c.All() {
		c.eventually(t, func() error {
			reply, err := command(s.Addr, "CLUSTER", "INFO")
			if err := expect(reply, err, "cluster_state:ok"); err != nil {
				return err
			}
			return expect(reply, nil, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.All())))
		})
	}
}

// All lists primaries, then replicas.
func (c *Cluster) All() []*Server {
	return append(c.Primaries[:len(c.Primaries):len(c.Primaries)], c.Replicas...)
}

// ID is the node ID of a member.
func (c *Cluster) ID(s *Server) string { return c.ids[s] }

// AwaitReplicas returns when all replicas have what their primaries had when it was called.
func (c *Cluster) AwaitReplicas(t testing.TB) {
	t.Helper()
	each := len(c.Replicas) / len(c.Primaries)
	for i, s := range c.Replicas {
		want := c.Primaries[i/each].Do(t, "DBSIZE")
		c.eventually(t, func() error {
			reply, err := command(s.Addr, "DBSIZE")
			return expect(reply, err, want)
		})
	}
	for _, s := range c.All() {
		c.eventually(t, func() error {
			// A replica counts as loading until its offset has made the round.
			if n := strings.Count(s.CLI(t, "CLUSTER", "SHARDS"), "online"); n != len(c.All()) {
				return fmt.Errorf("%s sees %d members online", s.Addr, n)
			}
			return nil
		})
	}
}

func (c *Cluster) eventually(t testing.TB, check func() error) {
	t.Helper()
	if err := Eventually(check); err != nil {
		t.Fatalf("the cluster does not come up: %v", err)
	}
}

func expect(reply string, err error, want string) error {
	if err == nil && !strings.Contains(reply, want) {
		err = errors.New("no " + want + " in " + reply)
	}
	return err
}

func (s *Server) argument(name string) string {
	for i, arg := range s.cmd.Args {
		if arg == name {
			return s.cmd.Args[i+1]
		}
	}
	return ""
}

// StartSentinel runs a sentinel that watches one master by the given name, with further lines of configuration, and
// returns when it knows that its replica is in step. password is the sentinel's own, "" for none.
func StartSentinel(t testing.TB, name string, master *Server, password string, lines ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "sentinel.conf")
	lines = append([]string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", name, master.Port),
		fmt.Sprintf("sentinel down-after-milliseconds %s 1000", name),
		fmt.Sprintf("sentinel failover-timeout %s 2000", name),
	}, lines...)
	if password != "" {
		lines = append(lines, "requirepass "+password)
	}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := launch(t, FreePort(t), []string{config, "--sentinel"}, nil)
	s.await(t, s.Addr)
	err := Eventually(func() error {
		replicas := s.CLI(t, "-a", password, "SENTINEL", "REPLICAS", name)
		return expect(replicas, nil, "master-link-status\nok")
	})
	if err != nil {
		t.Fatalf("the sentinel does not come up: %v", err)
	}
	return s
}
