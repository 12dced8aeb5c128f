package cache

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// vclFormat reads where a Varnish configuration sets the grace of objects.
type vclFormat struct{}

func (vclFormat) Name() string { return "varnish" }

func (vclFormat) Match(name string, head []byte) bool {
	return strings.Contains(path.Base(name), ".vcl") && bytes.Contains(head, []byte("grace"))
}

// A Grace is one assignment of a grace in VCL, the Value of a lint.Setting.
type Grace struct {
	Variable    string // "beresp.grace", "req.grace"
	Value       time.Duration
	Conditional bool // inside an if
	Moot        bool // set again further down, or nothing is cached there
	At          lint.Span
}

var (
	vclLater    = regexp.MustCompile(`\bset\s+(?:beresp|req)\.grace\s*=`)
	vclNoObject = regexp.MustCompile(`\bset\s+beresp\.(?:uncacheable\s*=\s*true|ttl\s*=\s*0)|\breturn\s*\(\s*(?:pass|hit_for_\w+)`)
)

// moot says whether a grace of 0 has no consequence: it is set again further
// down, or nothing is cached in its block.
func moot(clean []byte, from, to int) bool {
	if vclLater.Match(clean[to:min(len(clean), to+maxBlock)]) {
		return true
	}
	start, end := from, to
	for depth := 0; start > max(0, from-maxBlock); start-- {
		if c := clean[start-1]; c == '}' {
			depth++
		} else if c == '{' {
			if depth--; depth < 0 {
				break
			}
		}
	}
	for depth := 0; end < min(len(clean), to+maxBlock); end++ {
		if c := clean[end]; c == '{' {
			depth++
		} else if c == '}' {
			if depth--; depth < 0 {
				break
			}
		}
	}
	return vclNoObject.Match(clean[start:end])
}

// maxBlock bounds how far around an assignment is looked, in bytes.
const maxBlock = 4 << 10

var vclGrace = regexp.MustCompile(`\bset\s+(beresp\.grace|req\.grace)\s*=\s*(\d+(?:\.\d+)?(?:ms|s|m|h|d|w|y)?)\s*;`)

func (vclFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	clean := blankVCL(f.Data)
	out := new(lint.Parsed)
	depth, counted := 0, 0
	for _, m := range vclGrace.FindAllSubmatchIndex(clean, -1) {
		depth += bytes.Count(clean[counted:m[0]], []byte("{")) - bytes.Count(clean[counted:m[0]], []byte("}"))
		counted = m[0]
		value, ok := conf.ParseDuration(string(clean[m[4]:m[5]]), time.Second)
		if !ok {
			continue
		}
		name := string(clean[m[2]:m[3]])
		at := lint.Span{Start: m[0], End: m[1]}
		out.Settings = append(out.Settings, &lint.Setting{
			File: f, Format: "varnish", Span: at, Subject: "VCL " + name, Identity: "vcl " + name,
			Value: &Grace{
				Variable: name, Value: value, At: at,
				// sub x { if (...) { set } }: two braces are open inside an if.
				Conditional: depth > 1, Moot: value == 0 && moot(clean, m[0], m[1]),
			},
		})
	}
	return out, nil
}

// blankVCL replaces comments, strings and inline C by blanks, byte for byte.
func blankVCL(data []byte) []byte {
	out := bytes.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	pairs := []struct{ open, end string }{{"/*", "*/"}, {"//", "\n"}, {"#", "\n"}, {`{"`, `"}`}, {`"`, `"`}, {"C{", "}C"}}
	for i := 0; i < len(data); {
		step := 1
		for _, p := range pairs {
			if !bytes.HasPrefix(data[i:], []byte(p.open)) {
				continue
			}
			end := len(data)
			if j := bytes.Index(data[i+len(p.open):], []byte(p.end)); j >= 0 {
				end = i + len(p.open) + j + len(p.end)
			}
			blank(i, end)
			step = end - i
			break
		}
		i += step
	}
	return out
}
