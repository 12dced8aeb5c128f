package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/herdscan/herdscan/scan"
)

const defaultRedis = "redis://127.0.0.1:6379"

// A ttlSource is one thing to read: a server by its URL, or a file.
type ttlSource struct {
	url  string // of a server; it may hold a password
	path string // of a file, or "-"
}

// name is safe to print.
func (s ttlSource) name() string {
	if s.url != "" {
		return scan.Redact(s.url)
	}
	return sourceName(s.path)
}

// sources decides what to read: the arguments, else --url-file, else
// REDIS_URL, else the Redis of this machine.
func (o *ttlOptions) sources(env Env, args []string) ([]ttlSource, error) {
	if o.urlFile != "" {
		if len(args) > 0 {
			return nil, errors.New("give a SOURCE or --url-file, not both")
		}
		url, err := readSecret(o.urlFile)
		if err != nil {
			return nil, fmt.Errorf("--url-file: %w", err)
		}
		return []ttlSource{{url: url}}, nil
	}
	if len(args) == 0 {
		if url := env.Getenv("REDIS_URL"); url != "" {
			return []ttlSource{{url: url}}, nil
		}
		return []ttlSource{{url: defaultRedis}}, nil
	}
	var out []ttlSource
	for _, arg := range args {
		s, err := sourceOf(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func sourceOf(arg string) (ttlSource, error) {
	switch {
	case scan.HasSecret(arg):
		return ttlSource{}, fmt.Errorf("%s: the address holds a password, which every user of this machine can read in the list of processes; put the URL into REDIS_URL or a file for --url-file, or the password into REDISCLI_AUTH", scan.Redact(arg))
	case scan.IsRedisURL(arg):
		return ttlSource{url: arg}, nil
	case strings.Contains(arg, "://"):
		return ttlSource{}, fmt.Errorf("%s: unknown kind of address; there are redis://, rediss:// and unix://", scan.Redact(arg))
	default:
		return ttlSource{path: arg}, nil
	}
}

// open connects to a server.
func (o *ttlOptions) open(ctx context.Context, env Env, url string, progress func(read, total uint64)) (*scan.Redis, error) {
	opts := o.scan
	opts.URL, opts.Progress = url, progress
	opts.ConnectTimeout = opts.Timeout
	opts.Password = env.Getenv("REDISCLI_AUTH")
	if opts.Username != "" && opts.Password == "" {
		return nil, errors.New("--user needs the password in REDISCLI_AUTH")
	}
	if o.db != "" && o.db != "all" {
		if _, err := strconv.Atoi(o.db); err != nil {
			return nil, fmt.Errorf("--db %s: give a number or all", o.db)
		}
	}
	opts.DB = o.db
	return scan.OpenRedis(ctx, opts)
}

// isSummary tells a summary of --save by its first bytes: it is gzip, and so
// may be other files, which is why the caller tries to load it.
func isGzip(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [2]byte
	n, _ := f.Read(head[:])
	return n == 2 && head == [2]byte{0x1f, 0x8b}, nil
}
