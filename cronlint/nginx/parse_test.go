package nginx

import (
	"strings"
	"testing"

	"github.com/herdscan/herdscan/cronlint/lint"
)

// outline prints directives with their arguments, blocks in braces.
func outline(dirs []*Directive) string {
	var parts []string
	for _, d := range dirs {
		text := strings.Join(append([]string{d.Name}, d.Args...), " ")
		if d.Open {
			text += " {" + outline(d.Block) + "}"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func TestParse(t *testing.T) {
	tests := []struct{ name, text, want, err string }{
		{"blocks", "http {\n server { listen 80; } # } {\n}\n", "http {server {listen 80}}", ""},
		{"quotes", `a "b c" 'd;e' "f\"g";`, `a b c d;e f"g`, ""},
		{"variables", "set $a ${b}c; rewrite ^/x{2}/ /y;", "set $a ${b}c; rewrite ^/x {2}; / /y", ""},
		{"no semicolon at the end", "proxy_cache a", "proxy_cache a", ""},
		{"jinja", "{% for s in x %}\nserver { listen {{ s.port }}; }\n{% endfor %}\n", "server {listen {{ s.port }}}", ""},
		{"go template on a line of its own", "{{- range .x }}\nserver { a b; }\n{{ end }}\n", "server {a b}", ""},
		{"erb", "<% if a %>\na <%= b %>;\n<% end %>\n", "a <%= b %>", ""},
		{"lua", "location / { access_by_lua_block { if a then b = { '}' } end -- }\n } c d; }", "location / {access_by_lua_block {}; c d}", ""},
		{"unclosed", "http {\n server {\n", "http {server {}}", "a.conf:2: a block is not closed"},
		{"stray", "a b;\n}\nc d;\n", "a b", "a.conf:2: a } without its {"},
		{"byte order mark, CRLF", "\xef\xbb\xbfa b;\r\nc d;\r\n", "a b; c d", ""},
		{"unclosed quote", "a \"b; c", "a b; c", ""},
		{"too deep", strings.Repeat("a {", 300), "", "a.conf:1: blocks are nested too deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dirs, err := Parse(lint.NewFile("a.conf", []byte(tt.text)))
			if got := outline(dirs); got != tt.want && tt.want != "" {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if text := ""; err != nil {
				text = err.Error()
				if text != tt.err {
					t.Errorf("error %q, want %q", text, tt.err)
				}
			} else if tt.err != "" {
				t.Errorf("no error, want %q", tt.err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"http { server { location ~ ^/a{2} { proxy_cache a; } } }", "a \"b", "{{", "{%", "<%", "x_by_lua_block { '", "a ${", "}", "# a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dirs, _ := Parse(lint.NewFile("a.conf", []byte(text)))
		checkSpans(t, dirs, len(text))
	})
}

func checkSpans(t *testing.T, dirs []*Directive, size int) {
	for _, d := range dirs {
		if d.Span.Start < 0 || d.Span.End > size || d.Span.Start > d.Span.End {
			t.Fatalf("span %v of %d bytes", d.Span, size)
		}
		checkSpans(t, d.Block, size)
	}
}
