package html

import (
	"html/template"
	"strings"
)

func funcs() template.FuncMap {
	return template.FuncMap{
		"join":   strings.Join,
		"pieces": pieces,
		// left reports whether a column of a table is aligned left.
		"left": func(t table, column int) bool {
			return column == 0 || column < len(t.Left) && t.Left[column]
		},
	}
}
