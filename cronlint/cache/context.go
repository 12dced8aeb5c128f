package cache

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/herdscan/herdscan/cronlint/conf"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/nginx"
)

// NginxFile is one file's directives, the Value of a lint.Setting.
type NginxFile struct{ Directives []*nginx.Directive }

// families are the modules that share the cache's code, and its directives
// under their own prefix.
var families = []string{"proxy", "fastcgi", "uwsgi", "scgi"}

// A scope is one block of nginx's configuration, includes put in place. A
// directive that it does not have is inherited from the scope around it.
type scope struct {
	parent *scope
	name   string   // "http", "server", "location"; "" for a file
	args   []string // of a location
	own    map[string][]*nginx.Directive
	unread string // an include that could not be found and might say anything
}

// all returns the directives of a name in force: those of the nearest scope
// that has any.
func (s *scope) all(name string) []*nginx.Directive {
	for ; s != nil; s = s.parent {
		if ds := s.own[name]; len(ds) > 0 {
			return ds
		}
	}
	return nil
}

// get returns the last directive of a name in force, or nil.
func (s *scope) get(name string) *nginx.Directive {
	if ds := s.all(name); len(ds) > 0 {
		return ds[len(ds)-1]
	}
	return nil
}

// location returns the innermost location around the scope, or nil.
func (s *scope) location() *scope {
	for ; s != nil; s = s.parent {
		if s.name == "location" {
			return s
		}
	}
	return nil
}

// unresolved returns the include in a server or below it that is not at hand.
func (s *scope) unresolved() string {
	for ; s != nil; s = s.parent {
		if s.unread != "" {
			return s.unread
		}
	}
	return ""
}

// A use is one "proxy_cache zone" with a place where it acts. The places with
// equal settings are one use.
type use struct {
	family string
	cache  *nginx.Directive
	at     *scope
}

func (u *use) get(name string) *nginx.Directive   { return u.at.get(u.family + "_" + name) }
func (u *use) all(name string) []*nginx.Directive { return u.at.all(u.family + "_" + name) }

// on says whether a switch is on.
func (u *use) on(name string) bool { return strings.EqualFold(u.get(name).Arg(0), "on") }

// updating says whether stale answers are served while one is refreshed.
func (u *use) updating() bool { return u.get("cache_use_stale").Has("updating") }

// duration returns a directive's time, or the default.
func (u *use) duration(name string, def time.Duration) (d time.Duration, explicit bool) {
	dir := u.get(name)
	if v, ok := conf.ParseDuration(dir.Arg(0), time.Second); dir != nil && ok {
		return v, true
	}
	return def, false
}

// uses finds every place in all nginx files where a cache acts. A file that
// another one includes is judged inside it, and only there.
func uses(p *lint.Pass) []use {
	w := &nginxWalk{files: make(map[string]*lint.Setting), included: make(map[string]bool)}
	var order []*lint.Setting
	for _, s := range p.Settings {
		if _, ok := s.Value.(*NginxFile); ok {
			w.files[s.File.Name] = s
			order = append(order, s)
		}
	}
	for _, s := range order {
		w.markIncluded(s, s.Value.(*NginxFile).Directives)
	}
	for _, s := range order {
		if !w.included[s.File.Name] {
			w.walk(s.Value.(*NginxFile).Directives, &scope{}, []string{s.File.Name})
		}
	}
	return w.found
}

type nginxWalk struct {
	files    map[string]*lint.Setting
	included map[string]bool
	found    []use
	steps    int
}

// maxSteps bounds the work of files that include each other many times over.
const maxSteps = 200_000

func (w *nginxWalk) markIncluded(s *lint.Setting, dirs []*nginx.Directive) {
	for _, d := range dirs {
		if d.Name == "include" {
			for _, f := range w.resolve(s.File.Name, d.Arg(0)) {
				if f != s.File.Name {
					w.included[f] = true
				}
			}
		}
		w.markIncluded(s, d.Block)
	}
}

// resolve returns the files at hand that an include means. An absolute path
// is that of the target machine, so its end is compared, folder by folder.
func (w *nginxWalk) resolve(from, pattern string) []string {
	var out []string
	for f := range w.files {
		if includes(from, pattern, f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

func includes(from, pattern, file string) bool {
	pattern = strings.TrimPrefix(pattern, "/")
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		if doublestar.MatchUnvalidated(path.Join(dir, pattern), file) {
			return true
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	// /etc/nginx/conf.d/*.conf as deploy/nginx/conf.d/a.conf: two parts must agree.
	parts := strings.Split(pattern, "/")
	for len(parts) >= 2 {
		if doublestar.MatchUnvalidated("**/"+strings.Join(parts, "/"), file) {
			return true
		}
		parts = parts[1:]
	}
	return false
}

// plain are includes that every installation has and that say nothing about
// caches.
var plain = []string{"mime.types", "*_params", "fastcgi.conf", "fastcgi-php.conf", "*ssl*", "*tls*", "*letsencrypt*", "*acme*", "*gzip*", "*headers*", "*security*", "modules-enabled/*"}

func harmless(pattern string) bool {
	for _, p := range plain {
		if ok, _ := path.Match(p, path.Base(pattern)); ok {
			return true
		}
	}
	return strings.Contains(pattern, "modules-enabled/")
}

// walk reads one block into its scope and goes on to the blocks in it. stack is
// the files that include each other on the way here.
func (w *nginxWalk) walk(dirs []*nginx.Directive, s *scope, stack []string) {
	before := len(w.found)
	blocks := w.fill(dirs, s, stack)
	for _, b := range blocks {
		w.walk(b.Block, &scope{parent: s, name: b.Name, args: b.Args}, stack)
	}
	for _, family := range families {
		w.use(family, s, before)
	}
}

// fill puts a block's directives into the scope, includes in place, and
// returns its blocks.
func (w *nginxWalk) fill(dirs []*nginx.Directive, s *scope, stack []string) (blocks []*nginx.Directive) {
	if s.own == nil {
		s.own = make(map[string][]*nginx.Directive)
	}
	for _, d := range dirs {
		if w.steps++; w.steps > maxSteps {
			return blocks
		}
		if d.Open {
			blocks = append(blocks, d)
			continue
		}
		s.own[d.Name] = append(s.own[d.Name], d)
		if d.Name != "include" {
			continue
		}
		targets := w.resolve(d.File.Name, d.Arg(0))
		if len(targets) == 0 && s.name != "" && s.name != "http" && !harmless(d.Arg(0)) {
			s.unread = d.Arg(0)
		}
		for _, t := range targets {
			if !slices.Contains(stack, t) {
				inner := append(stack[:len(stack):len(stack)], t)
				blocks = append(blocks, w.fill(w.files[t].Value.(*NginxFile).Directives, s, inner)...)
			}
		}
	}
	return blocks
}

// use records where a cache acts: in the scopes that pass requests on, or,
// where none is in sight (a fragment), in the scope of the directive itself.
func (w *nginxWalk) use(family string, s *scope, before int) {
	cache := s.get(family + "_cache")
	if cache == nil || cache.Arg(0) == "off" || cache.Arg(0) == "" {
		return
	}
	own := len(s.own[family+"_cache"]) > 0
	passes := len(s.own[family+"_pass"]) > 0
	below := slices.ContainsFunc(w.found[before:], func(u use) bool { return u.cache == cache })
	if !passes && !(own && !below) {
		return
	}
	w.found = append(w.found, use{family: family, cache: cache, at: s})
}
