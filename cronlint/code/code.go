// Package code finds calls with literal arguments in source code of several
// languages, without parsing the language: comments are blanked, brackets
// matched, arguments cut at top-level commas. What is not a literal is left to
// the caller to ignore.
package code

import (
	"path"
	"regexp"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// A Language is told by the file's extension.
type Language string

// The languages.
const (
	Python Language = "python"
	Script Language = "javascript" // and TypeScript
	Ruby   Language = "ruby"
	PHP    Language = "php"
	Java   Language = "java" // and Kotlin
	Go     Language = "go"
	CSharp Language = "csharp"
	None   Language = ""
)

// Of returns the language of a file; None for any that is not read.
func Of(name string) Language {
	switch path.Ext(name) {
	case ".py":
		return Python
	case ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", ".mts", ".cts":
		return Script
	case ".rb":
		return Ruby
	case ".php":
		return PHP
	case ".java", ".kt":
		return Java
	case ".go":
		return Go
	case ".cs":
		return CSharp
	}
	return None
}

// Test says whether a file is a test by its name: its waits and lifetimes are
// no service's.
func Test(name string) bool {
	base := strings.ToLower(path.Base(name))
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") ||
		strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "_spec") || testFolder.MatchString(strings.ToLower(name))
}

var testFolder = regexp.MustCompile(`(^|/)(tests?|spec|__tests__|testdata|fixtures)/`)

// A Source is a file with its comments blanked, byte for byte.
type Source struct {
	File *lint.File
	Lang Language
	Text []byte
}

// Read makes a Source.
func Read(f *lint.File) *Source {
	l := Of(f.Name)
	return &Source{File: f, Lang: l, Text: withoutComments(f.Data, l)}
}

// Strings returns the insides of all strings, comments left out.
func (s *Source) Strings() (all []lint.Span) {
	scan(s.File.Data, s.Lang, func(start, end int, isComment bool) {
		if !isComment {
			all = append(all, lint.Span{Start: start + 1, End: max(start+1, end-1)})
		}
	})
	return all
}

// An Arg is one argument of a call or one member of an object literal.
type Arg struct {
	Key   string // of a keyword argument or member; "" when positional
	Value string // as written, blanks at the ends cut
	Span  lint.Span
}

// A Call is a name with its arguments.
type Call struct {
	Head []string  // what the pattern's groups matched, the whole first
	Span lint.Span // from the start of the head to the closing bracket
	Args []Arg
}

// Get returns the argument of a key.
func (c *Call) Get(key string) (Arg, bool) {
	for _, a := range c.Args {
		if a.Key == key {
			return a, true
		}
	}
	return Arg{}, false
}

// Pos returns the i-th argument (from 0) if it is positional.
func (c *Call) Pos(i int) (Arg, bool) {
	if i < len(c.Args) && c.Args[i].Key == "" {
		return c.Args[i], true
	}
	return Arg{}, false
}

// Calls returns every place where head matches, which must end with the
// opening bracket: "(", "{" or "[".
func (s *Source) Calls(head *regexp.Regexp) []Call {
	var out []Call
	for _, m := range head.FindAllSubmatchIndex(s.Text, maxCalls) {
		c := Call{Span: lint.Span{Start: m[0], End: m[1]}}
		for i := 0; i+1 < len(m); i += 2 {
			text := ""
			if m[i] >= 0 {
				text = string(s.Text[m[i]:m[i+1]])
			}
			c.Head = append(c.Head, text)
		}
		args, end, ok := s.args(m[1])
		if !ok {
			continue
		}
		c.Args, c.Span.End = args, end
		out = append(out, c)
	}
	return out
}

// Object returns the members of the object literal ("{...}" or "[...]") that
// is the argument's value, with spans of the file.
func (s *Source) Object(a Arg) (Call, bool) {
	if a.Value == "" || strings.IndexByte("{[(", a.Value[0]) < 0 {
		return Call{}, false
	}
	start := a.Span.End - len(a.Value)
	args, end, ok := s.args(start + 1)
	return Call{Span: lint.Span{Start: start, End: end}, Args: args}, ok
}

// maxArgs bounds how far the end of a call is looked for, in bytes.
const maxArgs = 4 << 10

// maxCalls bounds the calls of one kind that are looked at in one file.
const maxCalls = 10_000

// args reads arguments from behind an opening bracket to its closing one.
func (s *Source) args(at int) (args []Arg, end int, ok bool) {
	depth, start := 0, at
	limit := min(len(s.Text), at+maxArgs)
	for i := at; i < limit; i++ {
		switch c := s.Text[i]; c {
		case '"', '\'', '`':
			i += quoted(s.Text[i:], s.Lang) - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				args = s.appendArg(args, start, i)
				return args, i + 1, true
			}
			depth--
		case ',':
			if depth == 0 {
				args = s.appendArg(args, start, i)
				start = i + 1
			}
		}
	}
	return nil, at, false
}

var argKey = regexp.MustCompile(`^(?:['"]([\w.-]+)['"]|:?([A-Za-z_]\w*))\s*(=>|[:=])\s*`)

func (s *Source) appendArg(args []Arg, start, end int) []Arg {
	text := string(s.Text[start:end])
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return args
	}
	start += strings.Index(text, trimmed)
	a := Arg{Value: trimmed, Span: lint.Span{Start: start, End: start + len(trimmed)}}
	if m := argKey.FindStringSubmatchIndex(trimmed); m != nil && !strings.HasPrefix(trimmed[m[1]:], "=") &&
		!(trimmed[m[6]:m[7]] == ":" && strings.HasPrefix(trimmed[m[1]:], ":")) {
		if m[2] >= 0 {
			a.Key = trimmed[m[2]:m[3]]
		} else {
			a.Key = trimmed[m[4]:m[5]]
		}
		a.Value = trimmed[m[1]:]
	}
	return append(args, a)
}
