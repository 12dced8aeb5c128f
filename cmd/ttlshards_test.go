package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/herdscan/herdscan/scan/redistest"
)

// One set of keys gives one report, however it is read: from one server, from
// three at once, from a Cluster, from their dumps, and from saved summaries.
func TestTTLOneKeySetEveryWay(t *testing.T) {
	c := redistest.StartCluster(t, 3, 0)
	tags := make([]string, len(c.Primaries))
	for i := range tags {
		tags[i] = tagOf(t, c, i)
	}
	now := time.Now().UnixMilli()
	fill := func(s *redistest.Server, tag string) {
		s.Pipe(t, func(do func(args ...string)) {
			for i := range 1000 {
				left := func(ms int) string { return strconv.FormatInt(now+int64(ms), 10) }
				do("SET", fmt.Sprintf("product:{%s}:%d:view", tag, i), "x", "PXAT", left(3_000_000+i%900))
				do("SET", fmt.Sprintf("user:{%s}:%d:profile", tag, i), "x", "PXAT", left(600_000+i*3000))
				if i < 30 {
					do("SET", fmt.Sprintf("lock:{%s}:%d", tag, i), "x")
				}
			}
		})
	}
	one := redistest.Start(t)
	dir := t.TempDir()
	var live, dumps, saved []string
	for i, tag := range tags {
		fill(one, tag)
		fill(c.Primaries[i], tag)
		s := redistest.Start(t)
		fill(s, tag)
		live = append(live, "redis://"+s.Addr)
		dump, summary := filepath.Join(dir, fmt.Sprintf("shard-%d.rdb", i)), filepath.Join(dir, fmt.Sprintf("shard-%d.hs", i))
		s.Do(t, "SAVE")
		if err := os.Rename(filepath.Join(s.Dir, "dump.rdb"), dump); err != nil {
			t.Fatal(err)
		}
		dumps = append(dumps, dump)
		runner{}.run("ttl", "redis://"+s.Addr, "--save", summary).want(t, exitFindings)
		saved = append(saved, summary)
	}

	want := verdictsOf(t, "redis://"+one.Addr)
	if len(want) < 2 {
		t.Fatalf("few findings: %v", want)
	}
	for name, sources := range map[string][]string{
		"three servers":   live,
		"cluster":         {"redis-cluster://" + c.Primaries[0].Addr},
		"three dumps":     dumps,
		"three summaries": saved,
		"mixed":           {live[0], dumps[1], saved[2]},
	} {
		if d := cmp.Diff(want, verdictsOf(t, sources...)); d != "" {
			t.Errorf("%s (-one server +%s):\n%s", name, name, d)
		}
	}

	// One shard that can't be read: the others are reported all the same.
	if err := os.Truncate(dumps[1], 2000); err != nil {
		t.Fatal(err)
	}
	runner{}.run(append([]string{"ttl"}, dumps...)...).want(t, exitError, "product:{*}:*:view expires as a herd", "partial")
}

// tagOf returns a hash tag whose slot primary i of n owns. The slots are shared
// out in order; what a member answers while it meets the others is no guide.
func tagOf(t *testing.T, c *redistest.Cluster, i int) string {
	t.Helper()
	const slots = 16384
	n := len(c.Primaries)
	for tag := range 1000 {
		reply := strings.TrimSpace(strings.TrimPrefix(c.Primaries[0].CLI(t, "CLUSTER", "KEYSLOT", strconv.Itoa(tag)), "(integer) "))
		slot, err := strconv.Atoi(reply)
		if err != nil {
			t.Fatalf("CLUSTER KEYSLOT: %q", reply)
		}
		if slot >= slots*i/n && slot < slots*(i+1)/n {
			return strconv.Itoa(tag)
		}
	}
	t.Fatalf("primary %d owns no tag", i)
	return ""
}

// verdictsOf returns rule, subject and sizes of each finding, in order.
func verdictsOf(t *testing.T, sources ...string) []string {
	t.Helper()
	d := runner{}.run(append([]string{"ttl", "--format", "json"}, sources...)...).document(t)
	var all []string
	for _, f := range d.Findings {
		text := fmt.Sprintf("%s %s %s: %d", f.Severity, f.Rule, f.Subject, f.Count)
		if h := f.Herd; h != nil {
			text += fmt.Sprintf(", %d in %d teeth, %d in a second", h.Keys, h.Teeth, h.BusiestSec)
		}
		all = append(all, text)
	}
	return all
}
