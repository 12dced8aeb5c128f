package scan

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// A Problem is the reason why a server cannot be read.
type Problem int

const (
	ProblemUnknown       Problem = iota
	ProblemRefused               // nothing listens at the address
	ProblemUnknownHost           // the name has no address
	ProblemTimeout               // no answer in time
	ProblemClosed                // the server closed the connection
	ProblemRejected              // the server turned the connection away: protected mode, too many clients
	ProblemPassword              // wrong user or password
	ProblemNeedsPassword         // the server wants a password
	ProblemNeedsTLS              // the server speaks TLS, we did not
	ProblemNoTLS                 // we spoke TLS, the server does not
	ProblemCertificate           // the server's certificate is not trusted, or it wants one of ours
	ProblemNotRedis              // something else answers there
	ProblemLoading               // the server is still loading its data
	ProblemDatabase              // the database does not exist
	ProblemMaster                // the sentinel knows no such master
	ProblemNoCluster             // the server is not part of a cluster
	ProblemSentinel              // the server is a Sentinel, which has no keys
)

// problemText has the sentence for each problem and the way out.
var problemText = map[Problem][2]string{
	ProblemUnknown:       {"cannot be read", ""},
	ProblemRefused:       {"connection refused", "is the server running, and is the address right?"},
	ProblemUnknownHost:   {"unknown host", "is the name right, and does it resolve on this machine?"},
	ProblemTimeout:       {"no answer in time", "is a firewall in between, or is the port one that speaks TLS (rediss://) or not Redis at all?"},
	ProblemClosed:        {"the server closed the connection", "if the port speaks TLS, use rediss://; else see the server's log"},
	ProblemRejected:      {"the server turned the connection away", "see its protected-mode, bind and maxclients settings"},
	ProblemPassword:      {"wrong user or password", "set REDIS_URL or REDISCLI_AUTH; a user other than default goes into the URL"},
	ProblemNeedsPassword: {"the server wants a password", "set REDIS_URL or REDISCLI_AUTH"},
	ProblemNeedsTLS:      {"the server speaks TLS", "use rediss:// instead of redis://"},
	ProblemNoTLS:         {"the server does not speak TLS on this port", "use redis:// instead of rediss://, or the server's TLS port"},
	ProblemCertificate:   {"TLS certificate not accepted", "give the CA, a client certificate and key, or accept any certificate"},
	ProblemNotRedis:      {"not a Redis server", "is the port right?"},
	ProblemLoading:       {"the server is loading its data", "try again when it is done"},
	ProblemMaster:        {"the sentinel knows no master of that name", "redis-sentinel://host:port/NAME: see sentinel monitor NAME in its configuration"},
	ProblemNoCluster:     {"the server is not part of a cluster", "use redis:// instead of redis-cluster://"},
	ProblemSentinel:      {"this is a Sentinel, which has no keys", "use redis-sentinel://host:port/NAME"},
	ProblemDatabase:      {"the database does not exist", "choose another number after the / of the address"},
}

// A ServerError says that a server cannot be read, why, and what to do about it.
type ServerError struct {
	Addr    string
	Problem Problem
	Err     error // what was seen; nil if Problem says it all
}

func (e *ServerError) Error() string {
	text := problemText[e.Problem]
	msg := e.Addr + ": " + text[0]
	if e.Err != nil {
		msg += fmt.Sprintf(" (%v)", e.Err)
	}
	if text[1] != "" {
		msg += ": " + text[1]
	}
	return msg
}

// Unwrap returns what was seen.
func (e *ServerError) Unwrap() error { return e.Err }

// A CommandError says that a command that the scan needs is forbidden to the user, or unknown to the server because
// it was renamed, blocked or never existed.
type CommandError struct {
	Addr    string
	Command string // in upper case, for example SCAN
	Denied  bool   // the user lacks the permission; else the server does not know the command
	Text    string // the server's words
}

func (e *CommandError) Error() string {
	if e.Denied {
		return fmt.Sprintf("%s: the user may not use %s (%s): allow it with ACL SETUSER ... +%s",
			e.Addr, e.Command, e.Text, strings.ToLower(e.Command))
	}
	return fmt.Sprintf("%s: the server does not know %s (%s): it was renamed or blocked (rename-command)",
		e.Addr, e.Command, e.Text)
}

// commandError turns an error reply into a CommandError if it is one about the command itself.
func commandError(addr, command string, err error) (*CommandError, bool) {
	var known *CommandError
	if errors.As(err, &known) {
		return known, true
	}
	if err == nil {
		return nil, false
	}
	text := err.Error()
	var reply redis.Error
	if errors.As(err, &reply) {
		text = reply.Error() // without the words that were put in front
	}
	e := &CommandError{Addr: addr, Command: strings.ToUpper(command), Text: text}
	switch {
	case isCommandDenied(text):
		e.Denied = true
	case isUnknownCommand(text):
	default:
		return nil, false
	}
	return e, true
}

// isCommandDenied tells a forbidden command from a forbidden key (which concerns one key only). The texts are those
// of Redis 6.0 to 8, Valkey and Dragonfly.
func isCommandDenied(text string) bool {
	if !strings.HasPrefix(text, "NOPERM") {
		return false
	}
	return strings.Contains(text, "command") && !isKeyDenied(text)
}

func isKeyDenied(text string) bool {
	return strings.HasPrefix(text, "NOPERM") && strings.Contains(text, "key")
}

// isTransient reports whether the server asks to be asked again in a moment.
func isTransient(err error) bool {
	var reply replyError
	if !errors.As(err, &reply) {
		return false
	}
	code, _, _ := strings.Cut(string(reply), " ")
	switch code {
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY":
		return true
	}
	return false
}

func isUnknownCommand(text string) bool {
	if !strings.HasPrefix(text, "ERR") && !strings.HasPrefix(text, "unknown") {
		return false
	}
	text = strings.ToLower(text)
	return strings.Contains(text, "unknown command") || strings.Contains(text, "unknown subcommand") ||
		strings.Contains(text, "unsupported command") || strings.Contains(text, "command is not available") ||
		strings.Contains(text, "not allowed") || strings.Contains(text, "is disabled")
}

// serverError explains a failure to talk to addr.
func serverError(addr string, err error) error {
	var known *ServerError
	var command *CommandError
	if err == nil || errors.As(err, &known) || errors.As(err, &command) || errors.Is(err, context.Canceled) {
		return err
	}
	problem := problemOf(err)
	e := &ServerError{Addr: addr, Problem: problem, Err: err}
	switch problem {
	case ProblemRefused, ProblemUnknownHost, ProblemNoTLS, ProblemNeedsTLS, ProblemNotRedis, ProblemTimeout,
		ProblemNeedsPassword, ProblemNoCluster:
		e.Err = nil
	}
	return e
}

func problemOf(err error) Problem {
	if p := problemOfReply(err.Error()); p != ProblemUnknown {
		return p
	}
	var (
		dns      *net.DNSError
		record   tls.RecordHeaderError
		unknown  x509.UnknownAuthorityError
		verify   *tls.CertificateVerificationError
		alert    tls.AlertError
		netError net.Error
	)
	switch {
	case errors.As(err, &record):
		return ProblemNoTLS
	case errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &alert),
		strings.Contains(err.Error(), "remote error: tls: "): // an alert of the server, which has no type of its own
		return ProblemCertificate
	case errors.As(err, &dns):
		return ProblemUnknownHost
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return ProblemRefused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &netError) && netError.Timeout():
		return ProblemTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return ProblemClosed
	case strings.Contains(err.Error(), "can't parse"), strings.Contains(err.Error(), "redis: invalid reply"), errors.Is(err, errReply):
		return ProblemNotRedis
	}
	return ProblemUnknown
}

// problemOfReply looks at error replies, which the client passes on as text, perhaps with words in front.
func problemOfReply(text string) Problem {
	switch {
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "invalid password"),
		strings.Contains(text, "AUTH <password> called without any password"):
		return ProblemPassword
	case strings.Contains(text, "NOAUTH"):
		return ProblemNeedsPassword
	case strings.Contains(text, "LOADING "):
		return ProblemLoading
	case strings.Contains(text, "DB index is out of range"), strings.Contains(text, "invalid DB index"):
		return ProblemDatabase
	case strings.Contains(text, "cluster support disabled"):
		return ProblemNoCluster
	case strings.Contains(text, "HTTP/1."):
		return ProblemNotRedis
	}
	return ProblemUnknown
}
