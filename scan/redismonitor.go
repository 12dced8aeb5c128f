package scan

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// monitorArgs and monitorBytes bound what is kept of one command: the name, keys and options. Values are cut.
	monitorArgs  = 32
	monitorBytes = 1024
	// monitorLine is the longest line that is read whole; of a longer one the rest is skipped.
	monitorLine = 64 << 10
)

// A Command is one line of MONITOR. It is valid until the next call of yield.
type Command struct {
	At     time.Time // by the server's clock
	DB     int
	Client string // address of the client, or "lua"
	// Args are the words of the command, its name first, each cut after 1024 bytes; of more than 32 the rest is left
	// out and More is set.
	Args [][]byte
	More bool
}

// Monitor yields the commands that the servers carry out, until ctx ends, which is no error. It is expensive: the
// server writes each command once more, which costs it about 40 % more time for small ones. Keep it short. yield is
// called from one goroutine for each server.
func (l *Live) Monitor(ctx context.Context, yield func(*Command)) error {
	err := l.each(func(_ int, s *liveServer) error { return s.node.monitor(ctx, yield) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (n *node) monitor(ctx context.Context, yield func(*Command)) error {
	conn, err := n.dial(ctx, n.network, n.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	lines := bufio.NewReaderSize(conn, monitorLine)
	if err := n.startMonitor(conn, lines); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{}) // ctx ends it
	var c Command
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if c.parse(line) {
				c.More = true
				yield(&c)
			}
			if err := skipLine(lines); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if c.parse(line) {
			yield(&c)
		}
	}
}

// startMonitor sends AUTH and MONITOR and reads their answers.
func (n *node) startMonitor(conn net.Conn, lines *bufio.Reader) error {
	_ = conn.SetDeadline(time.Now().Add(n.opts.Timeout))
	var commands [][]string
	switch {
	case n.password != "" && n.username != "":
		commands = append(commands, []string{"AUTH", n.username, n.password})
	case n.password != "":
		commands = append(commands, []string{"AUTH", n.password})
	}
	for _, words := range append(commands, []string{"MONITOR"}) {
		var b bytes.Buffer
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
		if _, err := conn.Write(b.Bytes()); err != nil {
			return err
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if text, failed := strings.CutPrefix(strings.TrimSpace(line), "-"); failed {
			if missing, ok := commandError(n.name, words[0], replyError(text)); ok {
				return missing
			}
			return replyError(text)
		}
	}
	return nil
}

func skipLine(lines *bufio.Reader) error {
	for {
		_, err := lines.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// parse reads +1339518083.107412 [0 127.0.0.1:60866] "set" "key" "value" and reports whether it is such a line.
func (c *Command) parse(line []byte) bool {
	line, ok := bytes.CutPrefix(line, []byte("+"))
	if !ok {
		return false
	}
	stamp, line, ok := bytes.Cut(line, []byte(" ["))
	if !ok {
		return false
	}
	if c.At, ok = parseStamp(string(stamp)); !ok {
		return false
	}
	end := bytes.Index(line, []byte(`] "`)) // an IPv6 address has a ] of its own
	if end < 0 {
		return false
	}
	source, line := line[:end], line[end+2:]
	db, client, _ := bytes.Cut(source, []byte(" "))
	n, err := strconv.Atoi(string(db))
	if err != nil {
		return false
	}
	c.DB, c.Client, c.More = n, string(client), false
	c.parseArgs(line)
	return len(c.Args) > 0
}

// parseStamp reads seconds with six decimals.
func parseStamp(text string) (time.Time, bool) {
	s, us, _ := strings.Cut(text, ".")
	seconds, err1 := strconv.ParseInt(s, 10, 64)
	micros, err2 := strconv.ParseInt(us, 10, 64)
	return time.Unix(seconds, micros*1000), err1 == nil && err2 == nil
}

// parseArgs reads quoted words, escaped as the server does it (sdscatrepr).
func (c *Command) parseArgs(line []byte) {
	args := c.Args[:0]
	for {
		at := bytes.IndexByte(line, '"')
		if at < 0 {
			break
		}
		if len(args) == monitorArgs {
			c.More = true
			break
		}
		if cap(args) > len(args) {
			args = args[:len(args)+1]
		} else {
			args = append(args, nil)
		}
		last := &args[len(args)-1]
		*last, line = unquoteWord((*last)[:0], line[at+1:])
	}
	c.Args = args
}

// unquoteWord appends the word that ends at the next free quote, and returns what follows it.
func unquoteWord(dst, text []byte) (word, rest []byte) {
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case b == '"':
			return dst, text[i+1:]
		case b == '\\' && i+1 < len(text):
			i++
			var used int
			b, used = unescape(text[i:])
			i += used - 1
		}
		if len(dst) < monitorBytes {
			dst = append(dst, b)
		}
	}
	return dst, nil
}

// unescape reads what follows a backslash, at least one byte, and says how many bytes that took.
func unescape(text []byte) (b byte, used int) {
	switch text[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'a':
		return '\a', 1
	case 'b':
		return '\b', 1
	case 'x':
		if len(text) >= 3 {
			if n, err := strconv.ParseUint(string(text[1:3]), 16, 8); err == nil {
				return byte(n), 3
			}
		}
	}
	return text[0], 1
}
