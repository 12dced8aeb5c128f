package scan

import (
	"net"
	"strconv"
	"strings"
	"time"
)

// infoFields splits the reply to INFO into its name:value lines. Unknown names cost nothing: products and versions
// differ widely.
func infoFields(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.SplitSeq(text, "\n") {
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\r"), ":")
		if found && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}

func parseInfo(text string) Info {
	f := infoFields(text)
	info := Info{
		Role:       f["role"],
		Mode:       f["redis_mode"],
		Replicas:   int(number(f["connected_slaves"])),
		Policy:     f["maxmemory_policy"],
		MaxMemory:  number(f["maxmemory"]),
		UsedMemory: number(f["used_memory"]),
		Hits:       number(f["keyspace_hits"]),
		Misses:     number(f["keyspace_misses"]),
		Evicted:    number(f["evicted_keys"]),
		Expired:    number(f["expired_keys"]),
		DBs:        make(map[int]DBInfo),
	}
	info.Kind, info.Version = product(f)
	if f["cluster_enabled"] == "1" {
		info.Mode = "cluster"
	}
	if us := number(f["server_time_usec"]); us > 0 {
		info.Now = time.UnixMicro(int64(us)).UTC()
	}
	for i := 0; f["slave"+strconv.Itoa(i)] != ""; i++ {
		if addr := replicaAddr(f["slave"+strconv.Itoa(i)]); addr != "" {
			info.replicas = append(info.replicas, addr)
		}
	}
	for name, value := range f {
		if db, ok := databaseName(name); ok {
			info.DBs[db] = parseDBInfo(value)
		}
	}
	return info
}

// replicaAddr reads "ip=10.0.0.2,port=6379,state=online,offset=1,lag=0" and returns the address of a replica in step.
func replicaAddr(value string) string {
	f := make(map[string]string)
	for pair := range strings.SplitSeq(value, ",") {
		name, v, _ := strings.Cut(pair, "=")
		f[name] = v
	}
	if f["state"] != "online" || f["ip"] == "" {
		return ""
	}
	return net.JoinHostPort(f["ip"], f["port"])
}

// product tells the servers that speak the protocol of Redis apart.
func product(f map[string]string) (kind, version string) {
	for _, p := range [...]struct{ kind, field string }{
		{"dragonfly", "dragonfly_version"},
		{"garnet", "garnet_version"},
		{"kvrocks", "kvrocks_version"},
		{"valkey", "valkey_version"},
	} {
		if v := f[p.field]; v != "" {
			return p.kind, strings.TrimPrefix(v, "df-")
		}
	}
	version = f["redis_version"]
	switch {
	case strings.Contains(f["executable"], "keydb") || f["mvcc_depth"] != "" || f["storage_provider"] != "":
		return "keydb", version
	case f["server_name"] != "":
		return f["server_name"], version
	case version != "":
		return "redis", version
	}
	return "", ""
}

func databaseName(field string) (int, bool) {
	digits, found := strings.CutPrefix(field, "db")
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

// parseDBInfo reads "keys=12,expires=3,avg_ttl=0,subexpiry=0" by name: the list grows with each version.
func parseDBInfo(value string) DBInfo {
	var d DBInfo
	for pair := range strings.SplitSeq(value, ",") {
		name, n, _ := strings.Cut(pair, "=")
		switch name {
		case "keys":
			d.Keys = number(n)
		case "expires":
			d.Expires = number(n)
		case "subexpiry", "keys_with_volatile_items": // Redis, Valkey
			d.FieldExpires = number(n)
		}
	}
	return d
}

// number is 0 for what is no number.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// commandUsage sums the calls of the given commands and the microseconds they took, from INFO commandstats.
func commandUsage(text string, commands ...string) (calls, usec uint64) {
	f := infoFields(text)
	for _, command := range commands {
		for pair := range strings.SplitSeq(f["cmdstat_"+command], ",") {
			name, value, _ := strings.Cut(pair, "=")
			switch name {
			case "calls":
				calls += number(value)
			case "usec":
				usec += number(value)
			}
		}
	}
	return calls, usec
}
