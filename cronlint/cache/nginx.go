package cache

import (
	"path"
	"regexp"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/nginx"
)

// nginxFormat reads nginx files: whole configurations, fragments for include,
// and templates of either.
type nginxFormat struct{}

func (nginxFormat) Name() string { return "nginx" }

var (
	nginxCache = regexp.MustCompile(`(?m)(?:^|[{;])[ \t]*(proxy|fastcgi|uwsgi|scgi)_(cache|no_cache)(_[a-z_]+)?[ \t]+\S`)
	nginxBlock = regexp.MustCompile(`(?m)^[ \t]*(http|server|location[ \t][^;{]*)[ \t]*\{[ \t\r]*(#.*)?$`)
)

func (nginxFormat) Match(name string, head []byte) bool {
	return nginxName(name) && (nginxCache.Match(head) || nginxBlock.Match(head))
}

func nginxName(name string) bool {
	switch path.Ext(name) {
	case ".conf", ".nginx", ".vhost", ".inc", ".cfg", ".site":
		return true
	case ".tpl", ".tmpl", ".template", ".j2", ".erb", ".ctmpl", ".sample", ".example", ".dist":
		return true
	}
	return strings.Contains(name, "nginx") && path.Ext(name) == "" || strings.Contains(name, "sites-available/")
}

func (nginxFormat) Parse(f *lint.File, _ *lint.Options) (*lint.Parsed, error) {
	dirs, err := nginx.Parse(f)
	if err != nil && !nginxCache.Match(f.Data) {
		return nil, nil // only looked like nginx
	}
	return &lint.Parsed{Settings: []*lint.Setting{{
		File: f, Format: "nginx", Subject: "nginx", Identity: "nginx", Value: &NginxFile{Directives: dirs},
	}}}, err
}
