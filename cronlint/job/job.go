// Package job reads the files that say when jobs run: crontabs, systemd
// timers, workflows of GitHub, Kubernetes manifests, Terraform and more. Each
// format gives [lint.Entry] values whose Field is exactly the bytes of one
// schedule, so that a fix can replace them and nothing else.
//
// What a format knows beyond that is in the entry's Detail, one of the exported
// types of this package.
package job

import (
	"errors"
	"strings"
	"time"

	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// Formats returns the formats of this package in the order they are asked.
func Formats() []lint.Format {
	return []lint.Format{
		crontabFormat{},
		anacrontabFormat{},
		timerFormat{},
		githubFormat{},
		dependabotFormat{},
		kubernetesFormat{},
		helmFormat{},
		terraformFormat{},
		nomadFormat{},
		ansibleFormat{},
		serverlessFormat{},
		springFormat{},
		appengineFormat{},
		sidekiqFormat{},
		jenkinsFormat{},
		codeFormat{},
	}
}

// The groups of jobs that share a machine or a service when nothing else is said.
const (
	GroupHost       = "host"
	GroupKubernetes = "kubernetes"
	GroupGitHub     = "github"
)

// newEntry makes the entry of a schedule that stands in field of f. The error
// of a bad schedule is kept in the entry.
func newEntry(f *lint.File, format string, d schedule.Dialect, field, span lint.Span) *lint.Entry {
	e := &lint.Entry{File: f, Format: format, Span: span, Field: field, Dialect: d, Raw: f.Text(field)}
	setSchedule(e, "")
	return e
}

// setSchedule parses the entry's raw text; job is the name that Jenkins hashes.
func setSchedule(e *lint.Entry, job string) {
	s, err := schedule.ParseJob(e.Dialect, e.Raw, job)
	if err != nil {
		e.Schedule = nil
		if !errors.As(err, &e.Err) {
			e.Err = &schedule.ParseError{End: len(e.Raw), Msg: err.Error()}
		}
		return
	}
	e.Schedule, e.Err = s, nil
}

// placeholder reports whether a value is filled in by somebody else later: a
// template expression, a variable, or nothing at all.
func placeholder(text string) bool {
	return strings.TrimSpace(text) == "" || strings.ContainsAny(text, "${}<>%") || strings.Contains(text, "((")
}

// zone finds a time zone by name; nil if there is none.
func zone(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return loc
}

// identity is the stable name of a job.
func identity(d schedule.Dialect, group, name string) string {
	return d.String() + ":" + group + ":" + name
}

// pathHas reports whether a folder of the path has the given name.
func pathHas(path, folder string) bool {
	return strings.Contains("/"+path, "/"+folder+"/")
}

// base is the last element of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

var errNoAssignment = errors.New("neither a section nor an assignment")
