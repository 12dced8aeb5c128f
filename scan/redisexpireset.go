package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the scripts answer. Below 0 they pass on what PTTL and PEXPIRETIME say: -1 no expiry, -2 no key.
const (
	scriptLate    = 0
	scriptWritten = 1
	scriptChanged = 2
	scriptAgain   = 3
)

// setScript compares the absolute expiry of KEYS[1] with ARGV[1] and sets ARGV[2]. Milliseconds since 1970 are exact
// in Lua's numbers.
const setScript = `local at = redis.call('PEXPIRETIME', KEYS[1])
if at < 0 then return at end
if at == tonumber(ARGV[2]) then return 1 end
if at ~= tonumber(ARGV[1]) then return 2 end
local t = redis.call('TIME')
if tonumber(ARGV[2]) <= t[1] * 1000 + math.floor(t[2] / 1000) then return 0 end
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
return 1`

// setScriptOld is for servers without PEXPIRETIME (before 7.0). PTTL is relative to the server's clock in milliseconds
// at that moment; if TIME says the same millisecond before and after, their sum is exact, else it is asked again. A
// server that stops the clock of PTTL while a script runs can be one or two off: then the script says so (3) and is
// sent again. Reading a clock before a write needs the replication of effects, which servers before 7.0 may have
// switched off.
const setScriptOld = `if redis.replicate_commands then redis.replicate_commands() end
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local old, new, at = tonumber(ARGV[1]), tonumber(ARGV[2])
for try = 1, 100 do
  local before = now()
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then return left end
  if now() == before then
    at = before + left
    break
  end
end
if not at then return 3 end
if at == new then return 1 end
if at ~= old then
  if math.abs(at - old) <= 2 then return 3 end
  return 2
end
if new <= now() then return 0 end
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
return 1`

// chooseSetter finds out how the server compares and sets: by a script, or by WATCH and MULTI where scripts are
// refused.
func (n *node) chooseSetter(ctx context.Context, db int) (how expireSetter, err error) {
	method, _, err := n.chooseExpiry(ctx)
	if err != nil {
		return nil, err
	}
	if method.command == "pttl" && !method.hasClock {
		return nil, &CommandError{Addr: n.name, Command: "TIME", Denied: true, Text: "without PEXPIRETIME, an expiry can only be compared by the server's own clock"}
	}
	err = n.use(ctx, db, func(ctx context.Context, c *redis.Client) error {
		err := c.Do(ctx, "eval", "return 1", 0).Err()
		if err == nil {
			how = scriptSetter{old: method.command == "pttl"}
			return nil
		}
		if _, missing := commandError(n.name, "eval", err); !missing {
			return err
		}
		how = &watchSetter{method: method, group: watchGroup(n)}
		if missing, ok := commandError(n.name, "watch", c.Do(ctx, "watch", probeKey).Err()); ok {
			return fmt.Errorf("%w; EVAL is refused too, and one of them is needed to compare before a write", missing)
		}
		return nil
	})
	return how, err
}

// scriptSetter sends the script once a key, all in one pipeline. It is sent whole: unlike its hash it is never
// forgotten by the server, and needs no further permission.
type scriptSetter struct {
	old bool // the server has no PEXPIRETIME
}

func (s scriptSetter) name() string {
	if s.old {
		return "script (PTTL and TIME)"
	}
	return "script"
}

func (s scriptSetter) text() string {
	if s.old {
		return setScriptOld
	}
	return setScript
}

func (s scriptSetter) set(ctx context.Context, l *expireLink, changes []Change, indexes []int, out []Outcome) error {
	cmds := make([]redis.Cmder, len(indexes))
	for k, i := range indexes {
		cmds[k] = s.command(ctx, &changes[i])
	}
	if err := l.exec(ctx, cmds); err != nil {
		return err
	}
	var failed error
	for k, i := range indexes { // all were sent: each answer counts, whatever the others are
		var err error
		out[i], err = s.outcome(ctx, l, &changes[i], cmds[k].(*redis.Cmd))
		failed = cmp.Or(failed, err)
	}
	return failed
}

func (s scriptSetter) command(ctx context.Context, c *Change) *redis.Cmd {
	return redis.NewCmd(ctx, "eval", s.text(), 1, c.Name, c.Old, c.New)
}

func (s scriptSetter) outcome(ctx context.Context, l *expireLink, c *Change, cmd *redis.Cmd) (Outcome, error) {
	if err := cmd.Err(); err != nil {
		if addr, ok := asked(err); ok {
			return s.ask(ctx, l.node, addr, c)
		}
		return refusal(l.node, err)
	}
	switch v, _ := cmd.Int64(); v {
	case scriptWritten:
		return Written, nil
	case scriptLate:
		return Late, nil
	case scriptChanged:
		return Changed, nil
	case scriptAgain:
		return again, nil
	case NoExpiry:
		return Persistent, nil
	case Gone:
		return Vanished, nil
	default:
		return Unreached, fmt.Errorf("%s: %w: %v", l.node.name, errReply, cmd.Val())
	}
}

// asked returns the address of the server that takes over the slot of a key, if the reply says that the key is there
// already.
func asked(err error) (addr string, ok bool) {
	fields := strings.Fields(err.Error())
	if len(fields) != 3 || fields[0] != "ASK" {
		return "", false
	}
	return fields[2], true
}

// ask sends the script to the server that a slot is moving to.
func (s scriptSetter) ask(ctx context.Context, from *node, addr string, c *Change) (outcome Outcome, err error) {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		host, _, _ = net.SplitHostPort(from.addr)
		addr = net.JoinHostPort(host, port)
	}
	to := *from
	to.addr, to.name = addr, addr
	l := &expireLink{place: place{node: &to, db: c.DB}}
	l.connect()
	defer l.disconnect()
	cmd := s.command(ctx, c)
	if err := l.exec(ctx, []redis.Cmder{redis.NewCmd(ctx, "asking"), cmd}); err != nil {
		return again, nil // it may have moved on: ask the cluster
	}
	if cmd.Err() != nil {
		if _, further := asked(cmd.Err()); further {
			return again, nil
		}
	}
	return s.outcome(ctx, l, c, cmd)
}

// refusal sorts the error reply to one change: to be tried again, a key that may not be written, or the end of the
// work on this server.
func refusal(n *node, err error) (Outcome, error) {
	text := err.Error()
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "BUSY", "READONLY":
		return again, nil
	}
	switch {
	case isKeyDenied(text) || strings.Contains(text, "can't access at least one of the keys"):
		return Refused, nil
	case strings.Contains(text, "can't run this command") || isCommandDenied(text):
		return Unreached, fmt.Errorf("%s: the user lacks a permission (%s): herdscan spread --explain-access has the ACL line", n.name, text)
	}
	return Unreached, fmt.Errorf("%s: %w", n.name, err)
}

// watchSetter works where scripts are refused: WATCH makes EXEC do nothing if one of the keys was touched since.
type watchSetter struct {
	method expiryMethod
	group  int // keys watched at once
}

// watchGroup is how many keys one transaction may hold: in a cluster only those of one slot, so one.
func watchGroup(n *node) int {
	if n.info.Mode == "cluster" {
		return 1
	}
	return 16
}

// watchTries is how often one key alone is tried that is touched again and again.
const watchTries = 3

func (w *watchSetter) name() string { return "WATCH/MULTI" }

func (w *watchSetter) set(ctx context.Context, l *expireLink, changes []Change, indexes []int, out []Outcome) error {
	for len(indexes) > 0 {
		n := min(w.group, len(indexes))
		touched, err := w.transact(ctx, l, changes, indexes[:n], out)
		for try := 0; err == nil && touched && try < watchTries; try++ {
			touched, err = w.each(ctx, l, changes, indexes[:n], out)
		}
		if err != nil {
			return err
		}
		indexes = indexes[n:]
	}
	return nil
}

// each gives every key that is left over a transaction of its own.
func (w *watchSetter) each(ctx context.Context, l *expireLink, changes []Change, indexes []int, out []Outcome) (touched bool, err error) {
	for _, i := range pendingOf(indexes, out) {
		t, err := w.transact(ctx, l, changes, []int{i}, out)
		if err != nil {
			return touched, err
		}
		touched = touched || t
	}
	return touched, nil
}

// transact compares and sets some keys at once. touched tells that one of them was touched meanwhile, so that nothing
// was set; then the outcome of all that were to be set is again.
func (w *watchSetter) transact(ctx context.Context, l *expireLink, changes []Change, indexes []int, out []Outcome) (touched bool, err error) {
	names := make([][]byte, len(indexes))
	watch := make([]any, 0, 1+len(indexes))
	watch = append(watch, "watch")
	for k, i := range indexes {
		names[k] = changes[i].Name
		watch = append(watch, changes[i].Name)
	}
	if err := l.conn.Do(ctx, watch...).Err(); err != nil {
		return false, w.alone(l, indexes, out, err)
	}
	expires, now, errs, err := l.readExact(ctx, w.method, names)
	if err != nil {
		return false, err
	}
	var cmds []redis.Cmder
	var setting []int
	for k, i := range indexes {
		if errs[k] != nil {
			if out[i], err = refusal(l.node, errs[k]); err != nil {
				return false, err
			}
			continue
		}
		if out[i] = compare(&changes[i], expires[k], now); out[i] == again && expires[k] == changes[i].Old {
			setting = append(setting, i)
			cmds = append(cmds, redis.NewCmd(ctx, "pexpireat", changes[i].Name, changes[i].New))
		}
	}
	if len(setting) == 0 {
		return false, unlessReply(l.conn.Do(ctx, "unwatch").Err())
	}
	// Without the consent to MULTI what follows would be set at once, whatever became of the keys.
	if err := l.conn.Do(ctx, "multi").Err(); err != nil {
		return false, w.alone(l, setting, out, err)
	}
	exec := redis.NewSliceCmd(ctx, "exec")
	if err := l.exec(ctx, append(cmds, exec)); err != nil {
		return false, err
	}
	return w.committed(l, cmds, exec, setting, out)
}

// alone sorts an error reply to WATCH or MULTI, which concerns all their keys.
func (w *watchSetter) alone(l *expireLink, indexes []int, out []Outcome, err error) error {
	if !isErrorReply(err) {
		return err
	}
	outcome, err := refusal(l.node, err)
	if outcome == Refused && len(indexes) > 1 {
		outcome = again // one of them: they are tried one by one
	}
	for _, i := range indexes {
		out[i] = outcome
	}
	return err
}

// compare says what is to be done with a key that now expires at at: again if its expiry is to be set.
func compare(c *Change, at, now int64) Outcome {
	switch {
	case at == Gone:
		return Vanished
	case at == NoExpiry:
		return Persistent
	case at == unsure:
		return again
	case at == c.New:
		return Written
	case at != c.Old:
		return Changed
	case c.New <= now:
		return Late
	}
	return again
}

// committed reads the reply to EXEC.
func (w *watchSetter) committed(l *expireLink, queued []redis.Cmder, exec *redis.SliceCmd, setting []int, out []Outcome) (touched bool, err error) {
	for k, i := range setting {
		if err := queued[k].Err(); err != nil { // EXEC is aborted: all are tried again but this one
			if out[i], err = refusal(l.node, err); err != nil {
				return false, err
			}
			return true, nil
		}
	}
	if errors.Is(exec.Err(), redis.Nil) {
		return true, nil
	}
	if exec.Err() != nil {
		_, err := refusal(l.node, exec.Err())
		return false, err
	}
	for k, i := range setting {
		if n, ok := exec.Val()[k].(int64); ok && n == 1 {
			out[i] = Written
		} else {
			out[i] = Vanished
		}
	}
	return false, nil
}

// unsure is the expiry of a key for which the clock ticked at every try.
const unsure int64 = -5

// exactTries is how often an expiry is asked for while the clock ticks in between.
const exactTries = 10

// readExact reads the absolute expiries of keys, exact to the millisecond, and the server's clock. errs has the error
// reply of each key, if any. With PTTL, TIME is asked before and after each key: if both are of the same millisecond,
// the sum is exact.
func (l *expireLink) readExact(ctx context.Context, m expiryMethod, names [][]byte) (expires []int64, now int64, errs []error, err error) {
	expires, errs = make([]int64, len(names)), make([]error, len(names))
	left := make([]int, len(names))
	for i := range left {
		left[i] = i
	}
	for try := 0; try < exactTries && len(left) > 0; try++ {
		if left, now, err = l.readOnce(ctx, m, names, left, expires, errs); err != nil {
			return nil, 0, nil, err
		}
	}
	for _, i := range left {
		expires[i] = unsure
	}
	return expires, now, errs, nil
}

// readOnce asks once for the expiries of names[i] for all i of indexes and returns those that have to be asked again.
func (l *expireLink) readOnce(ctx context.Context, m expiryMethod, names [][]byte, indexes []int, expires []int64, errs []error) (left []int, now int64, err error) {
	relative := m.command == "pttl"
	clocks := []*redis.TimeCmd{redis.NewTimeCmd(ctx, "time")}
	cmds := []redis.Cmder{clocks[0]}
	replies := make([]*redis.IntCmd, len(indexes))
	for k, i := range indexes {
		replies[k] = redis.NewIntCmd(ctx, m.command, names[i])
		cmds = append(cmds, replies[k])
		if relative {
			clock := redis.NewTimeCmd(ctx, "time")
			clocks, cmds = append(clocks, clock), append(cmds, clock)
		}
	}
	if err := l.exec(ctx, cmds); err != nil {
		return nil, 0, err
	}
	for k, i := range indexes {
		errs[i] = replies[k].Err()
		expires[i] = replies[k].Val()
		if !relative || errs[i] != nil || expires[i] < 0 {
			continue
		}
		before, after := clocks[k].Val().UnixMilli(), clocks[k+1].Val().UnixMilli()
		if before != after {
			left = append(left, i)
		}
		expires[i] += before
	}
	now = clocks[len(clocks)-1].Val().UnixMilli()
	if clocks[len(clocks)-1].Err() != nil { // TIME is refused: only with PEXPIRETIME
		now = time.Now().Add(l.node.clockOffset).UnixMilli()
	}
	return left, now, nil
}

// ExactExpiries asks again when each key expires, exact to the millisecond on every server: Unix ms, NoExpiry, or Gone
// for a key that does not exist or can't be told. Only servers without PEXPIRETIME need it: the expiries that Keys
// yields there may be early by some milliseconds.
func (r *Redis) ExactExpiries(ctx context.Context, keys []KeyRef) ([]int64, error) {
	x := &Expirer{redis: r, links: make(map[place]*expireLink), paces: make(map[*node]*expirePace), ctx: ctx, stop: func() {}}
	defer x.Close()
	expires := make([]int64, len(keys))
	changes := make([]Change, len(keys))
	all := make([]int, len(keys))
	for i, k := range keys {
		changes[i].KeyRef, all[i], expires[i] = k, i, Gone
	}
	groups, order := x.group(changes, all)
	var errs []error
	for _, at := range order {
		s := r.shards[at.shard]
		err := s.err
		if err == nil {
			err = x.link(place{s.node, at.db}).read(ctx, keys, groups[at], expires)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return expires, errors.Join(errs...)
}

// read fills in the expiries of keys[i] for all i of indexes.
func (l *expireLink) read(ctx context.Context, keys []KeyRef, indexes []int, expires []int64) error {
	method, _, err := l.node.chooseExpiry(ctx)
	if err != nil {
		return err
	}
	l.connect()
	for len(indexes) > 0 {
		if err := l.pace.pacer.wait(ctx); err != nil {
			return err
		}
		page := indexes[:min(l.pace.pacer.size(), len(indexes))]
		names := make([][]byte, len(page))
		for k, i := range page {
			names[k] = keys[i].Name
		}
		l.wait.total = 0
		found, _, refused, err := l.readExact(ctx, method, names)
		if err != nil {
			return l.node.explain(err)
		}
		l.pace.pacer.done(l.wait.total, len(page))
		for k, i := range page {
			if refused[k] == nil && found[k] != unsure {
				expires[i] = found[k]
			}
		}
		indexes = indexes[len(page):]
	}
	return nil
}

// Exact tells whether the expiries that Keys yields are exact to the millisecond: whether all servers have
// PEXPIRETIME, and allow it.
func (r *Redis) Exact(ctx context.Context) (bool, error) {
	for _, s := range r.shards {
		if s.err != nil {
			continue
		}
		m, _, err := s.node.chooseExpiry(ctx)
		if err != nil || m.command == "pttl" {
			return false, err
		}
	}
	return true, nil
}
