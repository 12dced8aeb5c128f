package scan

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// defaultDatabases is how many databases a server has unless it is configured otherwise.
const defaultDatabases = 16

// databases returns the size of each database to read: the one of the address, or all that hold keys. Database 0 is
// always among the latter, so that an empty server has a part to report on.
func (r *Redis) databases(ctx context.Context, n *node) (map[int]uint64, error) {
	if r.topo.target.hasDB || n.info.Mode == "cluster" {
		size, err := n.size(ctx, r.topo.target.db)
		if _, missing := commandError(n.name, "dbsize", err); missing {
			err = nil
		}
		return map[int]uint64{r.topo.target.db: size}, err
	}
	var text string
	err := n.use(ctx, 0, func(ctx context.Context, c *redis.Client) (err error) {
		text, err = c.Info(ctx, "keyspace").Result()
		return unlessReply(err)
	})
	if err != nil {
		return nil, err
	}
	if !strings.Contains(text, "# Keyspace") {
		return n.countDatabases(ctx)
	}
	dbs := map[int]uint64{0: 0}
	for db, d := range parseInfo(text).DBs {
		dbs[db] = d.Keys
	}
	return dbs, nil
}

// countDatabases asks each database for its size: the way of a server that does not tell INFO. It ends at the first
// database that does not exist or may not be selected.
func (n *node) countDatabases(ctx context.Context) (map[int]uint64, error) {
	dbs := map[int]uint64{0: 0}
	err := n.use(ctx, 0, func(ctx context.Context, c *redis.Client) error {
		conn := c.Conn()
		defer conn.Close()
		for db := range defaultDatabases {
			if err := conn.Select(ctx, db).Err(); err != nil && db > 0 {
				return unlessReply(err)
			}
			size, err := conn.DBSize(ctx).Result()
			if err != nil {
				return unlessReply(err)
			}
			if size > 0 {
				dbs[db] = uint64(size)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the databases: %w", err)
	}
	return dbs, nil
}
