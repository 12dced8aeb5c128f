package live

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/herdscan/herdscan/querylog/sqltext"
)

// shapes finds the digest that a statement was counted under. Most statements
// have the shape of their digest. Servers write some words of a digest by
// another name, and cut long ones.
type shapes struct {
	exact map[uint64]bool
	loose map[uint64]uint64 // by what is left when spelling is taken away
	cut   []cutShape
}

// cutShape is a digest whose text the server may have cut.
type cutShape struct {
	prefix string
	shape  uint64
}

const (
	// mayBeCut is less than the text of any cut digest: servers keep
	// 1,024 bytes of tokens (performance_schema_max_digest_length), which take
	// about as many characters, and MariaDB does not say when it cuts.
	mayBeCut = 750
	maxCut   = 1000 // digests of cut text that are told apart
)

// add takes in the text of a digest and returns its shape.
func (s *shapes) add(lex *sqltext.Lexer, text string) uint64 {
	if s.exact == nil {
		s.exact, s.loose = map[uint64]bool{}, map[uint64]uint64{}
	}
	sql := []byte(statementOf(text))
	shape := lex.Sum(sql).Shape
	bare := spelling(lex.AppendShape(nil, sql))
	s.exact[shape] = true
	s.loose[xxhash.Sum64String(bare)] = shape
	if len(text) >= mayBeCut && len(s.cut) < maxCut {
		s.cut = append(s.cut, cutShape{strings.TrimRight(bare, "?"), shape})
	}
	return shape
}

// of returns the shape of the digest of a statement; ok is false if there is none.
func (s *shapes) of(lex *sqltext.Lexer, shape uint64, sql []byte) (of uint64, ok bool) {
	if s.exact[shape] {
		return shape, true
	}
	bare := spelling(lex.AppendShape(nil, sql))
	if of, ok = s.loose[xxhash.Sum64String(bare)]; ok {
		return of, true
	}
	best := 0
	for _, c := range s.cut {
		if len(c.prefix) > best && strings.HasPrefix(bare, c.prefix) {
			best, of, ok = len(c.prefix), c.shape, true
		}
	}
	return of, ok
}

// spelling takes away from a shape what a server may write in another way.
func spelling(shape []byte) string {
	words := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ", "@@", " @@ ", "@", " @ ", "?", " ? ", ",", " , ").Replace(string(shape)))
	var b strings.Builder
	for i, w := range words {
		switch w {
		case "distinctrow":
			w = "distinct"
		case "character":
			w = "char"
		case "!=":
			w = "<>"
		case "-", "_charset": // of a negative number; of a text
			continue
		case "current_timestamp", "localtime", "localtimestamp":
			w = "now"
		case "substr", "mid":
			w = "substring"
		case "integer":
			w = "int"
		case "(", ")":
			continue
		default:
			if i > 0 && words[i-1] == "@" {
				w = "?" // the name of a variable
			}
		}
		b.WriteString(strings.TrimPrefix(w, "sql_tsi_"))
	}
	return b.String()
}
