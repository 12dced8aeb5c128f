package retry

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// pollFormat reads reconnect and poll intervals of clients that document a
// jitter for them: Mosquitto bridges, Salt minions, Kafka clients, Telegraf.
type pollFormat struct{}

func (pollFormat) Name() string { return "client-interval" }

func (pollFormat) Match(name string, head []byte) bool { return pollReader(name, head) != nil }

// pollReader returns the reader for a file, or nil.
func pollReader(name string, head []byte) func(*lint.File) []*lint.Setting {
	base := path.Base(name)
	switch {
	case strings.HasSuffix(base, ".conf") && bytes.Contains(head, []byte("restart_timeout")) &&
		mosquittoBridge.Match(head):
		return mosquitto
	case (base == "minion" || strings.HasSuffix(base, ".conf")) && bytes.Contains(head, []byte("recon_randomize")):
		return saltMinion
	case strings.HasSuffix(base, ".properties") && bytes.Contains(head, []byte("reconnect.backoff")):
		return kafkaClient
	case strings.HasSuffix(base, ".conf") && bytes.Contains(head, []byte("[agent]")) &&
		bytes.Contains(head, []byte("[[outputs.")):
		return telegraf
	}
	return nil
}

func (pollFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	return &lint.Parsed{Settings: pollReader(f.Name, f.Data)(f)}, nil
}

func pollSetting(f *lint.File, identity string, p *Poll) *lint.Setting {
	return &lint.Setting{File: f, Format: "client-interval", Span: p.At, Subject: identity, Identity: identity, Value: p}
}

var (
	mosquittoBridge  = regexp.MustCompile(`(?m)^\s*connection\s+\S`)
	mosquittoRestart = regexp.MustCompile(`^\s*restart_timeout\s+(\d+)\s*$`)
)

// mosquitto: "restart_timeout base cap" is jittered, "restart_timeout n" is
// constant (mosquitto.conf manual).
func mosquitto(f *lint.File) []*lint.Setting {
	var out []*lint.Setting
	bridge := ""
	for n := 1; n <= f.Lines(); n++ {
		span := f.LineSpan(n)
		line := f.Text(span)
		if w := strings.Fields(line); len(w) > 1 && w[0] == "connection" {
			bridge = w[1]
		}
		m := mosquittoRestart.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		d, _ := conf.ParseDuration(line[m[2]:m[3]], time.Second)
		out = append(out, pollSetting(f, "Mosquitto bridge "+bridge, &Poll{
			System: "Mosquitto's bridge", What: "reconnects", Interval: d, Why: "one number makes the wait constant",
			At:     lint.Span{Start: span.Start + strings.Index(line, "restart_timeout"), End: span.Start + m[3]},
			Advice: "restart_timeout 10 60",
		}))
	}
	return out
}

var saltRandomize = regexp.MustCompile(`^recon_randomize:\s*(\S+)`)

// saltMinion: recon_randomize draws the reconnect wait between recon_default
// and recon_default + recon_max (Salt's minion manual). It is on by default.
func saltMinion(f *lint.File) []*lint.Setting {
	for n := 1; n <= f.Lines(); n++ {
		span := f.LineSpan(n)
		m := saltRandomize.FindStringSubmatch(f.Text(span))
		if m == nil || !strings.EqualFold(strings.Trim(m[1], `'"`), "false") {
			continue
		}
		at := lint.Span{Start: span.Start, End: span.Start + len(m[0])}
		return []*lint.Setting{pollSetting(f, "Salt minion", &Poll{
			System: "the Salt minion", What: "reconnects", At: at, Why: "recon_randomize is off", Advice: "recon_randomize: True",
		})}
	}
	return nil
}

// kafkaClient: the backoff is exponential and jittered between
// reconnect.backoff.ms and reconnect.backoff.max.ms (1 s by default); if the
// maximum is not above the base, it is constant (ExponentialBackoff.java).
func kafkaClient(f *lint.File) []*lint.Setting {
	const suffix = "reconnect.backoff.ms"
	pairs := conf.Pairs(f)
	values := make(map[string]string, len(pairs))
	for _, p := range pairs {
		values[p.Key] = p.Value
	}
	var out []*lint.Setting
	for _, p := range pairs {
		prefix, ok := strings.CutSuffix(p.Key, suffix)
		if !ok || prefix != "" && !strings.HasSuffix(prefix, ".") {
			continue
		}
		base, known := conf.ParseDuration(p.Value, time.Millisecond)
		limit, why := time.Second, "reconnect.backoff.max.ms (1000 by default) is not above it"
		if text := values[prefix+"reconnect.backoff.max.ms"]; text != "" {
			var readable bool
			limit, readable = conf.ParseDuration(text, time.Millisecond)
			known, why = known && readable, "reconnect.backoff.max.ms is not above it"
		}
		if !known || base <= 0 || limit > base {
			continue
		}
		out = append(out, pollSetting(f, p.Key, &Poll{
			System: "the Kafka client", What: "reconnects", Interval: limit, Why: why,
			At: lint.Span{Start: p.KeySpan.Start, End: p.ValueSpan.End}, Advice: prefix + "reconnect.backoff.max.ms=10000",
		}))
	}
	return out
}

var tomlPair = regexp.MustCompile(`^\s*([a-z_]+)\s*=\s*"?([^"#]*)"?`)

// telegraf: with round_interval (the default) every agent collects on the same
// multiples of the interval; collection_jitter spreads that.
func telegraf(f *lint.File) []*lint.Setting {
	inside := false
	at := lint.Span{}
	values := map[string]string{"interval": "10s", "round_interval": "true", "collection_jitter": "0s"}
	for n := 1; n <= f.Lines(); n++ {
		span := f.LineSpan(n)
		line := strings.TrimSpace(f.Text(span))
		if strings.HasPrefix(line, "[") {
			inside = strings.HasPrefix(line, "[agent]")
			if inside {
				at = span
			}
			continue
		}
		if m := tomlPair.FindStringSubmatch(line); inside && m != nil {
			values[m[1]] = strings.TrimSpace(m[2])
			if m[1] == "collection_jitter" {
				at = span
			}
		}
	}
	jitter, ok := conf.ParseDuration(values["collection_jitter"], time.Second)
	interval, _ := conf.ParseDuration(values["interval"], time.Second)
	if !ok || jitter > 0 || values["round_interval"] != "true" {
		return nil
	}
	return []*lint.Setting{pollSetting(f, "Telegraf agent", &Poll{
		System: "Telegraf", What: "collects", Interval: interval, At: trimSpan(f, at), Minor: true,
		Why: "round_interval without collection_jitter", Advice: `collection_jitter = "5s"`,
	})}
}

// trimSpan leaves out the blanks around a line.
func trimSpan(f *lint.File, s lint.Span) lint.Span {
	text := f.Text(s)
	s.Start += len(text) - len(strings.TrimLeft(text, " \t"))
	s.End -= len(text) - len(strings.TrimRight(text, " \t"))
	return s
}
