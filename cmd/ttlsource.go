package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

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

// addConnection adds the flags that say how a server is reached.
func (o *ttlOptions) addConnection(f *pflag.FlagSet) {
	f.StringVar(&o.urlFile, "url-file", "", "read the URL of the server from the first line of `FILE`")
	f.StringVar(&o.scan.Username, "user", "", "user `name`; the password comes from REDISCLI_AUTH or the URL")
	f.StringVar(&o.scan.TLS.CA, "tls-ca", "", "`FILE` of the certificates to trust instead of the system's")
	f.StringVar(&o.scan.TLS.Cert, "tls-cert", "", "`FILE` of the client's certificate")
	f.StringVar(&o.scan.TLS.Key, "tls-key", "", "`FILE` of the client's key")
	f.BoolVar(&o.scan.TLS.Insecure, "tls-insecure", false, "accept any certificate of the server")
	f.DurationVar(&o.scan.Timeout, "timeout", 5*time.Second, "give up after this `time` without an answer")
}

// addGrouping adds the flags that say what keys belong together, and what for.
func (o *ttlOptions) addGrouping(f *pflag.FlagSet) {
	f.StringVar(&o.group, "group", "", "group keys by the capture groups of this `regexp` instead of by pattern")
	f.StringArrayVar(&o.prefixes, "prefix", nil, "put keys that begin with `PREFIX` into one group; may be given several times")
	f.StringArrayVar(&o.kinds, "kind", nil, "what keys are for: `KIND=REGEXP` on the pattern, KIND one of cache, session, lock, queue, counter, data")
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
	for i, arg := range args {
		if arg == "-" && slices.Contains(args[:i], arg) {
			return nil, errors.New("standard input (-) can be read only once")
		}
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
	case scan.IsRedisURL(arg), scan.IsMemcachedURL(arg):
		return ttlSource{url: arg}, nil
	case strings.Contains(arg, "://"):
		return ttlSource{}, fmt.Errorf("%s: unknown kind of address; there are redis://, rediss://, unix://, redis-cluster://, redis-sentinel:// and memcached://", scan.Redact(arg))
	default:
		return ttlSource{path: arg}, nil
	}
}

// A keySource is an opened source that can tell how much of it was read.
type keySource interface {
	scan.Source
	scan.Coverer
}

// open connects to a server or opens a file.
func (o *ttlOptions) open(ctx context.Context, env Env, s ttlSource, now time.Time, progress func(read, total uint64)) (keySource, error) {
	switch {
	case scan.IsMemcachedURL(s.url):
		return scan.OpenMemcached(ctx, scan.MemcachedOptions{URL: s.url, Timeout: o.scan.Timeout})
	case s.url != "":
		opts, err := o.redis(env, s.url)
		if err != nil {
			return nil, err
		}
		opts.Progress = progress
		return scan.OpenRedis(ctx, opts)
	default:
		return scan.OpenFile(ctx, s.path, scan.FileOptions{Now: now, Stdin: env.Stdin, List: o.input == inputKeys})
	}
}

// redis are the options for one Redis, its password included.
func (o *ttlOptions) redis(env Env, url string) (scan.Options, error) {
	opts := o.scan
	opts.URL, opts.ConnectTimeout = url, opts.Timeout
	opts.Password = env.Getenv("REDISCLI_AUTH")
	if opts.Username != "" && opts.Password == "" {
		return opts, errors.New("--user needs the password in REDISCLI_AUTH")
	}
	return opts, nil
}
