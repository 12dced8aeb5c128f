// Package cronlint reads the files in which operators write down what happens
// when (crontabs, timers, CI schedules, Kubernetes) and what happens when
// something fails (retry policies, caches), and reports what will make a herd.
//
// The way of a file: [Lint] walks the paths; every [Format] that recognises a
// file finds its entries and settings; comments in the file annotate them; the
// checks look at all of them together, for a collision is across files; the
// problems are sorted, fingerprinted and, where a comment or the baseline
// accepts them, marked.
//
// The packages below:
//
//	lint      the shared words: File, Entry, Setting, Format, Check, Problem
//	schedule  schedules of all dialects, and when they fire
//	job       formats of files that say when jobs run
//	timing    rules about schedules (HS0xx, HS1xx), and the plan
//	fix       edits applied, proved and written
//	retry     formats and rules of retry policies (HS2xx)
//	cache     formats and rules of caches (HS3xx)
//	conf      YAML, JSON and .properties as one tree that knows its bytes
//	nginx     nginx files as directives
//	code      calls with literal arguments in source code
//
// A new format or rule is one file in one of them and one row in catalogue.go.
package cronlint

import (
	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/cronlint/lint"
)

// The words of package lint, for those who only use the linter.
type (
	Problem     = lint.Problem
	Location    = lint.Location
	Edit        = lint.Edit
	Suppression = lint.Suppression
	Entry       = lint.Entry
	Setting     = lint.Setting
	Annotations = lint.Annotations
	Format      = lint.Format
	Check       = lint.Check
	File        = lint.File
	Span        = lint.Span
	Options     = lint.Options
	Baseline    = lint.Baseline
	Error       = lint.Error
	Rule        = rule.Rule
	Severity    = rule.Severity
)
