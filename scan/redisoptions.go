package scan

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// Options says which Redis is read and how gently. The zero value of every field but URL is a good choice for a
// production server.
type Options struct {
	// URL is the address: redis://, rediss://, unix://, redis-cluster:// or redis-sentinel://. Without a database
	// number all databases that hold keys are read.
	URL string
	// Username and Password replace those of the URL when Password is not empty.
	Username, Password string
	TLS                TLSOptions
	// SentinelUsername and SentinelPassword are for the sentinels themselves. Without, they are asked without a
	// password, and if they want one, with that of the servers.
	SentinelUsername, SentinelPassword string

	// ConnectTimeout bounds dialing, the TLS handshake and the first PING; 5 s if 0.
	ConnectTimeout time.Duration
	// Timeout bounds each answer of the server; 5 s if 0.
	Timeout time.Duration

	// Fast asks for 1000 keys at once and never rests. The server stays responsive, but each page keeps it busy for
	// some 2 ms.
	Fast bool
	// Duty is the share of the server's time that the scan may take, 0-1; 0.5 if 0. Fast ignores it.
	Duty float64
	// Rate limits the scan to so many keys a second on each server; no limit if 0.
	Rate int
	// PageKeys fixes the COUNT of SCAN; adapted to the server's speed if 0.
	PageKeys int
	// Chains fixes the number of cursors that walk one database in parallel (1, 2, 4 or 8); chosen by the round trip
	// if 0.
	Chains int
	// Servers is the number of shards of a cluster that are read at once; 4 if 0.
	Servers int
	// Replica reads a replica of the server at URL, if it is a primary that has one in step. In a cluster and behind
	// Sentinel that is so without asking.
	Replica bool
	// Primary reads primaries of a cluster or behind Sentinel even where a replica could be read.
	Primary bool

	// Sample reads only about this share of the keys, 0-1; all if 0 or more than half. Coverage has the exact share.
	Sample float64
	// Seed makes the choice of a sample repeatable; random if 0.
	Seed uint64
	// MaxKeys lowers Sample so that about so many keys are read; no limit if 0.
	MaxKeys uint64

	// PTTL reads expiries with PTTL and TIME even where PEXPIRETIME exists.
	PTTL bool

	// Progress is called now and then during Keys, from its goroutine, with the keys read and those expected.
	Progress func(read, total uint64)
	// Counted is called after each page, from the goroutine of Keys, with what the page has added to the server's
	// counts of keyspace hits and misses.
	Counted func(hits, misses uint64)
}

const (
	defaultTimeout = 5 * time.Second
	defaultDuty    = 0.5
	defaultServers = 4
	fastPageKeys   = 1000
)

func (o Options) withDefaults() (Options, error) {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultTimeout
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Duty == 0 {
		o.Duty = defaultDuty
	}
	if o.Servers == 0 {
		o.Servers = defaultServers
	}
	switch {
	case !(o.Duty > 0 && o.Duty <= 1): // NaN too
		return o, fmt.Errorf("duty %g is not above 0 and at most 1", o.Duty)
	case o.Sample < 0 || o.Sample > 1:
		return o, fmt.Errorf("sample %g is not between 0 and 1", o.Sample)
	case o.Rate < 0 || o.PageKeys < 0 || o.Servers < 0:
		return o, errors.New("rate, page size and number of servers must not be negative")
	case o.Chains < 0 || o.Chains > maxChains || o.Chains&(o.Chains-1) != 0:
		return o, fmt.Errorf("%d chains: want 1, 2, 4 or %d", o.Chains, maxChains)
	}
	return o, nil
}

// TLSOptions names the files of a TLS connection. They matter only for rediss:// and its kin.
type TLSOptions struct {
	CA         string // file of certificates to trust instead of the system's
	Cert, Key  string // files of the client's certificate and key
	ServerName string // name to expect in the server's certificate instead of the host's
	Insecure   bool   // accept any certificate
}

// config returns nil without TLS.
func (o TLSOptions) config(t *target) (*tls.Config, error) {
	if !t.tls {
		if o != (TLSOptions{}) {
			return nil, errors.New("TLS options are given, but the address is not rediss://")
		}
		return nil, nil
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: o.ServerName,
		// The user asked for it, to reach servers with self-signed certificates.
		InsecureSkipVerify: o.Insecure, //nolint:gosec
	}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("read the CA certificates: %v", err) // not wrapped: the name of this file matters, not that of the source
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no PEM certificate", o.CA)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("a client's certificate and its key go together: one of them is missing")
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate and key: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
