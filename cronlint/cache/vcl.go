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
	At          lint.Span
}

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
				Conditional: depth > 1,
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
