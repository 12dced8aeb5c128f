package sqltext

import (
	"slices"
	"strings"
)

// Verb returns the first word of a shape: select, insert, update ...
func Verb(shape string) string {
	shape = strings.TrimLeft(shape, "( ")
	for i := 0; i < len(shape); i++ {
		if lowerWord[shape[i]] == 0 {
			return shape[:i]
		}
	}
	return shape
}

// Tables returns the tables that a shape names after FROM, JOIN, INTO, UPDATE
// and TABLE, each once, in the order of the text.
func Tables(shape string) []string {
	var out []string
	words := strings.Fields(shape)
	for i, w := range words {
		switch strings.TrimLeft(w, "(") {
		case "from", "join", "into", "update", "table":
		default:
			continue
		}
		if w == "update" && i > 0 && words[i-1] == "key" || i+1 >= len(words) {
			continue // ON DUPLICATE KEY UPDATE
		}
		name := words[i+1]
		if cut := strings.IndexAny(name, "(),;"); cut >= 0 {
			name = name[:cut]
		}
		if name != "" && name != "?" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
