package nginx

import (
	"errors"
	"strings"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// A Directive is a name with arguments, and a block where it has one.
type Directive struct {
	File  *lint.File
	Name  string
	Args  []string
	Span  lint.Span // from the name to the ";" or to the last argument before "{"
	Block []*Directive
	Open  bool // it has a block
}

// Arg returns argument i (from 0), or "".
func (d *Directive) Arg(i int) string {
	if d == nil || i >= len(d.Args) {
		return ""
	}
	return d.Args[i]
}

// Has says whether an argument is there, in any case of letters.
func (d *Directive) Has(arg string) bool {
	if d == nil {
		return false
	}
	for _, a := range d.Args {
		if strings.EqualFold(a, arg) {
			return true
		}
	}
	return false
}

// maxDepth bounds the nesting of blocks.
const maxDepth = 100

var (
	errUnclosed = errors.New("a block is not closed")
	errStray    = errors.New("a } without its {")
	errDepth    = errors.New("blocks are nested too deep")
)

// Parse returns the directives of a file. With an error come those read
// before the fault. A last directive without ";" counts, as fragments that are
// put together by tools end so.
func Parse(f *lint.File) ([]*Directive, error) {
	p := parser{file: f, lex: lexer{data: f.Data, at: f.BOM()}}
	dirs, closed := p.block(0)
	if p.err == nil && closed {
		p.fail(errStray, p.lex.at-1)
	}
	return dirs, p.err
}

type parser struct {
	file *lint.File
	lex  lexer
	err  error
}

func (p *parser) fail(err error, at int) {
	if p.err == nil {
		line, _ := p.file.Position(at)
		p.err = &lint.Error{File: p.file.Path, Line: line, Err: err}
	}
}

// block reads directives up to "}" (closed) or the end.
func (p *parser) block(depth int) (dirs []*Directive, closed bool) {
	if depth > maxDepth {
		p.fail(errDepth, p.lex.at)
		p.lex.at = len(p.lex.data)
		return nil, false
	}
	var d *Directive
	finish := func() {
		if d != nil {
			dirs = append(dirs, d)
		}
		d = nil
	}
	for p.err == nil {
		switch t := p.lex.next(); t.kind {
		case end:
			finish()
			return dirs, false
		case shut:
			finish()
			return dirs, true
		case semicolon:
			if d != nil {
				d.Span.End = t.span.End
			}
			finish()
		case open:
			if d == nil {
				d = &Directive{File: p.file, Span: t.span}
			}
			d.Open = true
			p.inside(d, t, depth)
			finish()
		case word:
			if d == nil {
				d = &Directive{File: p.file, Name: t.text, Span: t.span}
				continue
			}
			d.Args = append(d.Args, t.text)
			d.Span.End = t.span.End
		}
	}
	return dirs, false
}

// inside reads the block of d. Lua is skipped as a whole.
func (p *parser) inside(d *Directive, brace token, depth int) {
	if strings.HasSuffix(d.Name, "_by_lua_block") {
		if !p.lua() {
			p.fail(errUnclosed, brace.span.Start)
		}
		return
	}
	block, closed := p.block(depth + 1)
	d.Block = block
	if !closed {
		p.fail(errUnclosed, brace.span.Start)
	}
}

// lua skips to the brace that closes a Lua block; braces in strings and
// comments don't count.
func (p *parser) lua() bool {
	data := p.lex.data
	for level := 1; p.lex.at < len(data); p.lex.at++ {
		switch c := data[p.lex.at]; {
		case c == '{':
			level++
		case c == '}':
			if level--; level == 0 {
				p.lex.at++
				return true
			}
		case c == '"' || c == '\'':
			p.lex.quoted(c)
			p.lex.at--
		case c == '-' && p.lex.at+1 < len(data) && data[p.lex.at+1] == '-':
			for p.lex.at < len(data) && data[p.lex.at] != '\n' {
				p.lex.at++
			}
		}
	}
	return false
}
