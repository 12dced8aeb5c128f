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

// resilience4jFormat reads resilience4j.retry in Spring's YAML and properties,
// with the inheritance of instances from baseConfig or configs.default.
//
// What has an effect is taken from CommonRetryConfigurationProperties: the
// flags count only beside a waitDuration of the same block, factors only with
// their flags, the cap only with a multiplier. From its base an instance takes
// over the flags, the multiplier and the cap, but neither waitDuration nor
// randomizedWaitFactor; without a waitDuration it takes the base's whole
// interval function instead.
type resilience4jFormat struct{}

func (resilience4jFormat) Name() string { return "resilience4j" }

func (resilience4jFormat) Match(name string, head []byte) bool {
	return springFile(name) && bytes.Contains(head, []byte("resilience4j"))
}

// springFile says whether a file can be one of Spring's.
func springFile(name string) bool {
	switch path.Ext(name) {
	case ".yml", ".yaml", ".properties":
		return true
	}
	return false
}

func (resilience4jFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	docs, err := conf.Spring(f)
	out := new(lint.Parsed)
	for _, d := range docs {
		root := d.Relaxed("resilience4j", "retry")
		if root == nil || root.Kind != conf.Map {
			continue
		}
		g := r4jGroup{configs: root.Relaxed("configs"), partial: profile(f.Name, d)}
		out.Settings = append(out.Settings, g.settings(f, root)...)
	}
	return out, err
}

// r4jGroup is the retry section of one document.
type r4jGroup struct {
	configs *conf.Node
	partial bool
}

var profileFile = regexp.MustCompile(`(^|/)(application|bootstrap)-[^/]*$`)

// profile says whether Spring lays a document over another one: by the file's
// name, or because it is active in some profile only.
func profile(name string, d *conf.Node) bool {
	return profileFile.MatchString(name) || d.Relaxed("spring", "config", "activate") != nil || d.Relaxed("spring", "profiles") != nil
}

func (g r4jGroup) settings(f *lint.File, root *conf.Node) []*lint.Setting {
	var out []*lint.Setting
	add := func(kind string, n *conf.Node) {
		p := g.policy(n, 0)
		if p == nil {
			return
		}
		p.Fix, p.Partial, p.Spread = r4jFix(f, n), g.partial, p.Delay
		out = append(out, &lint.Setting{
			File: f, Format: "resilience4j", Span: conf.Where(n), Subject: "resilience4j.retry " + n.Key,
			Identity: "resilience4j.retry." + kind + "." + n.Key, Value: p,
		})
	}
	if g.configs != nil {
		for _, n := range g.configs.Children {
			add("configs", n)
		}
	}
	for _, section := range []string{"instances", "backends"} {
		if s := root.Relaxed(section); s != nil {
			for _, n := range s.Children {
				if !g.inherited(n) {
					add("instances", n)
				}
			}
		}
	}
	return out
}

// base returns the block that n inherits from, or nil.
func (g r4jGroup) base(n *conf.Node) *conf.Node {
	if name := n.Relaxed("baseConfig").Text(); name != "" {
		return g.configs.Get(name)
	}
	if def := g.configs.Get("default"); def != n {
		return def
	}
	return nil
}

var r4jWaitKeys = []string{
	"waitDuration", "enableExponentialBackoff", "exponentialBackoffMultiplier", "exponentialMaxWaitDuration",
	"enableRandomizedWait", "randomizedWaitFactor",
}

// inherited says whether an instance says nothing about waits, or only how
// long they are, and the rest is its base's: then the base is reported, once.
func (g r4jGroup) inherited(n *conf.Node) bool {
	if n.Relaxed("baseConfig") != nil && g.base(n) == nil {
		return true // the base is elsewhere: nothing can be said
	}
	if g.base(n) == nil {
		return false
	}
	for _, key := range r4jWaitKeys {
		if key != "waitDuration" && n.Relaxed(key) != nil {
			return false
		}
	}
	own := n.Relaxed("waitDuration")
	if own == nil {
		return true
	}
	base := g.policy(g.base(n), 0)
	return base != nil && base.Jitter != Jittered && own.Text() != "0"
}

// policy works out what a block gives; nil when it decides in code
// (intervalBiFunction).
func (g r4jGroup) policy(n *conf.Node, depth int) *Policy {
	if n == nil || n.Kind == conf.List || depth > 10 || n.Relaxed("intervalBiFunction") != nil {
		return nil
	}
	base := g.base(n)
	p := &Policy{
		System: "Resilience4j", Layer: LayerClient, Attempts: 3, CanJitter: true,
		DelayAt:    conf.Where(n.Relaxed("waitDuration")),
		JitterAt:   conf.Where(n.Relaxed("enableRandomizedWait"), n.Relaxed("randomizedWaitFactor")),
		AttemptsAt: conf.Where(n.Relaxed("maxAttempts")),
		Advice:     r4jAdvice(n),
	}
	if v, ok := first(n.Relaxed("maxAttempts"), base.Relaxed("maxAttempts")).Int(); ok {
		p.Attempts = v
	}
	if n.Relaxed("waitDuration") == nil {
		g.inheritWait(p, n, base, depth)
		return p
	}
	wait, known := n.Relaxed("waitDuration").Duration(time.Millisecond)
	p.Delay, p.Shape = wait, Fixed
	if known && wait == 0 {
		p.Shape = Immediate
	}
	g.exponential(p, n, base)
	g.randomized(p, n, base)
	return p
}

// inheritWait handles a block without waitDuration: the base's interval
// function, or 500 ms, whatever flags the block itself sets.
func (g r4jGroup) inheritWait(p *Policy, n, base *conf.Node, depth int) {
	p.Shape, p.Delay = Fixed, 500*time.Millisecond
	from := g.policy(base, depth+1)
	if from != nil {
		p.Shape, p.Delay, p.Max, p.Multiplier = from.Shape, from.Delay, from.Max, from.Multiplier
		p.Jitter, p.JitterLow, p.Clipped = from.Jitter, from.JitterLow, from.Clipped
	} else if base != nil {
		p.Shape = Unknown
	}
	if on(n.Relaxed("enableRandomizedWait")) && p.Jitter != Jittered {
		p.Dead = append(p.Dead, Dead{
			At: conf.Where(n.Relaxed("enableRandomizedWait")), Jitter: true,
			Why: "enableRandomizedWait is ignored: this block has no waitDuration of its own",
		})
	}
	if on(n.Relaxed("enableExponentialBackoff")) && p.Shape != Exponential {
		p.Dead = append(p.Dead, Dead{
			At:  conf.Where(n.Relaxed("enableExponentialBackoff")),
			Why: "enableExponentialBackoff is ignored: this block has no waitDuration of its own",
		})
	}
}

func (g r4jGroup) exponential(p *Policy, n, base *conf.Node) {
	flag := first(n.Relaxed("enableExponentialBackoff"), base.Relaxed("enableExponentialBackoff"))
	own := n.Relaxed("exponentialBackoffMultiplier")
	multiplier := first(own, base.Relaxed("exponentialBackoffMultiplier"))
	ownCap := n.Relaxed("exponentialMaxWaitDuration")
	limit := first(ownCap, base.Relaxed("exponentialMaxWaitDuration"))
	if !on(flag) {
		if own != nil && !placeholder(flag) {
			p.Dead = append(p.Dead, Dead{At: conf.Where(own), Why: "exponentialBackoffMultiplier has no effect without enableExponentialBackoff: true"})
		}
		return
	}
	if p.Shape == Immediate {
		return
	}
	p.Shape, p.Multiplier = Exponential, 1.5
	if v, ok := multiplier.Float(); ok {
		p.Multiplier = v
	}
	random := on(first(n.Relaxed("enableRandomizedWait"), base.Relaxed("enableRandomizedWait")))
	switch {
	case multiplier == nil && ownCap != nil:
		p.Dead = append(p.Dead, Dead{At: conf.Where(ownCap), Why: "exponentialMaxWaitDuration has no effect without exponentialBackoffMultiplier: waits are not bounded"})
	case random && n.Relaxed("randomizedWaitFactor") == nil && ownCap != nil:
		p.Dead = append(p.Dead, Dead{At: conf.Where(ownCap), Why: "with enableRandomizedWait, exponentialMaxWaitDuration has no effect without randomizedWaitFactor: waits are not bounded"})
	case multiplier != nil:
		p.Max, _ = limit.Duration(time.Millisecond)
	}
}

func (g r4jGroup) randomized(p *Policy, n, base *conf.Node) {
	flag := first(n.Relaxed("enableRandomizedWait"), base.Relaxed("enableRandomizedWait"))
	factor := n.Relaxed("randomizedWaitFactor")
	if !on(flag) {
		if placeholder(flag) {
			p.Jitter = Jittered // decided by the environment: not ours to blame
			return
		}
		if flag != nil {
			p.Jitter = JitterOff
		}
		if factor != nil {
			p.Dead = append(p.Dead, Dead{At: conf.Where(factor), Jitter: true, Why: "randomizedWaitFactor has no effect without enableRandomizedWait: true"})
		}
		return
	}
	multiplier := first(n.Relaxed("exponentialBackoffMultiplier"), base.Relaxed("exponentialBackoffMultiplier"))
	p.Jitter, p.JitterLow, p.Clipped = Jittered, 0.5, p.Max > 0
	if p.Shape == Exponential && multiplier == nil {
		if factor != nil {
			p.Dead = append(p.Dead, Dead{At: conf.Where(factor), Why: "randomizedWaitFactor has no effect beside enableExponentialBackoff without exponentialBackoffMultiplier: the factor is 0.5"})
		}
		return
	}
	if v, ok := factor.Float(); ok {
		p.JitterLow = 1 - v
		if v == 0 {
			p.Jitter, p.JitterAt = JitterOff, conf.Where(factor)
		}
	}
}

// first returns the first node that is there.
func first(nodes ...*conf.Node) *conf.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

func on(n *conf.Node) bool {
	v, ok := n.Bool()
	return ok && v
}

// placeholder says whether a value is decided elsewhere: ${...} or {{...}}.
func placeholder(n *conf.Node) bool {
	t := n.Text()
	return strings.Contains(t, "${") || strings.Contains(t, "{{") || strings.Contains(t, "#{")
}

// r4jLines is the whole of a policy that backs off with jitter.
var r4jLines = [][2]string{
	{"waitDuration", "500ms"},
	{"enableExponentialBackoff", "true"},
	{"exponentialBackoffMultiplier", "2"},
	{"enableRandomizedWait", "true"},
	{"randomizedWaitFactor", "0.5"},
}

// r4jSpelling returns the function that spells a name as the block does:
// camelCase or kebab-case.
func r4jSpelling(n *conf.Node) func(string) string {
	for _, c := range n.Children {
		if strings.Contains(c.Key, "-") {
			return kebab
		}
	}
	return func(s string) string { return s }
}

func r4jAdvice(n *conf.Node) string {
	spell := r4jSpelling(n)
	var lines []string
	for _, l := range r4jLines {
		value := l[1]
		own := n.Relaxed(l[0])
		if zero, known := own.Duration(time.Millisecond); own.Text() != "" && own.Text() != "false" && !(known && zero == 0) {
			value = own.Text()
		}
		lines = append(lines, spell(l[0])+": "+value)
	}
	return strings.Join(lines, "\n")
}

// r4jFix makes an edit that adds what is missing below waitDuration. It is nil
// where a line of the block says otherwise already, and where waitDuration is
// not on a line of its own.
func r4jFix(f *lint.File, n *conf.Node) *lint.Edit {
	wait := n.Relaxed("waitDuration")
	if wait == nil || placeholder(wait) {
		return nil
	}
	spell, properties := r4jSpelling(n), path.Ext(f.Name) == ".properties"
	line, _ := f.Position(wait.KeySpan.Start)
	own := f.LineSpan(line)
	indent := f.Text(lint.Span{Start: own.Start, End: wait.KeySpan.Start})
	prefix, sep := indent, ": "
	if properties {
		key := f.Text(wait.KeySpan)
		prefix, sep = key[:strings.LastIndexByte(key, '.')+1], "="
	}
	if strings.TrimSpace(indent) != "" || wait.Span.Start < own.Start || wait.Span.End > own.End {
		return nil
	}
	eol := "\n"
	if f.CRLF() {
		eol = "\r\n"
	}
	var add strings.Builder
	for _, l := range r4jLines {
		if there := n.Relaxed(l[0]); there == nil {
			add.WriteString(eol + prefix + spell(l[0]) + sep + l[1])
		} else if value, known := there.Bool(); known && !value {
			return nil
		}
	}
	if add.Len() == 0 {
		return nil
	}
	return &lint.Edit{
		File: f.Path, Span: lint.Span{Start: own.End, End: own.End}, New: add.String(),
		Text: strings.TrimPrefix(add.String(), eol), Why: "calls that fail take longer to give up",
	}
}

// kebab turns camelCase into kebab-case.
func kebab(s string) string {
	var b strings.Builder
	for i, c := range s {
		if c >= 'A' && c <= 'Z' && i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(strings.ToLower(string(c)))
	}
	return b.String()
}
