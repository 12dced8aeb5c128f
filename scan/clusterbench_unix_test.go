//go:build unix

package scan_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/herdscan/herdscan/scan"
	"github.com/herdscan/herdscan/scan/redistest"
)

const benchShardKeys = 150_000

// BenchmarkCluster reads three shards at once in turns with a server of its own that holds as many keys as one of
// them. The target is 1.3 times its time where there is a core for each server and one for the client; where there is
// not, only the paced scan, which leaves cores idle, can show it. server-cpu is what the servers used.
func BenchmarkCluster(b *testing.B) {
	alone := redistest.Start(b)
	fillShard(b, alone, "{alone}")
	shards := redistest.StartCluster(b, 3, 0)
	for i, tag := range shardTags(len(shards.Primaries)) {
		fillShard(b, shards.Primaries[i], tag)
	}
	for _, c := range []struct {
		name string
		scan.Options
	}{{"paced", scan.Options{Rate: 100_000}}, {"default", scan.Options{}}, {"fast", scan.Options{Fast: true}}} {
		b.Run(c.name, func(b *testing.B) {
			before, beforeCluster := serverCPU(b, alone), clusterCPU(b, shards)
			inTurns(b,
				&way{name: "alone", do: func(t testing.TB) { checkCount(t, c.Options, "redis://"+alone.Addr, benchShardKeys) }},
				&way{name: "cluster", do: func(t testing.TB) {
					checkCount(t, c.Options, "redis-cluster://"+shards.Primaries[0].Addr, len(shards.Primaries)*benchShardKeys)
				}})
			all := float64(rounds * b.N)
			b.ReportMetric((serverCPU(b, alone)-before).Seconds()*1000/all, "alone-server-cpu-ms")
			b.ReportMetric((clusterCPU(b, shards)-beforeCluster).Seconds()*1000/all, "cluster-server-cpu-ms")
		})
	}
}

func checkCount(t testing.TB, o scan.Options, url string, want int) {
	o.URL = url
	if n := count(t, o); n != want {
		t.Fatalf("%d keys, want %d", n, want)
	}
}

func clusterCPU(t testing.TB, c *redistest.Cluster) (sum time.Duration) {
	for _, s := range c.Primaries {
		sum += serverCPU(t, s)
	}
	return sum
}

// shardTags returns hash tags, one for each of the shards that share the slots out evenly.
func shardTags(shards int) []string {
	tags := make([]string, shards)
	for i, missing := 0, shards; missing > 0; i++ {
		tag := fmt.Sprintf("{%d}", i)
		shard := int(scan.KeySlot([]byte(tag))) * shards / 16384
		if tags[shard] == "" {
			tags[shard] = tag
			missing--
		}
	}
	return tags
}

func fillShard(b *testing.B, s *redistest.Server, tag string) {
	b.Helper()
	s.Pipe(b, func(do func(...string)) {
		for i := range benchShardKeys {
			do("SET", fmt.Sprintf("product:%s:%d:view", tag, i), "v", "PXAT", strconv.FormatInt(farFuture+int64(i), 10))
		}
	})
}
