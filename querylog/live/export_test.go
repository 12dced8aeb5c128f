package live

import "github.com/herdscan/herdscan/querylog/sqltext"

// SameShape says whether a statement is told to a digest, whose text is given.
func SameShape(digest, statement string) bool {
	var lex sqltext.Lexer
	var s shapes
	want := s.add(&lex, digest)
	got, ok := s.of(&lex, lex.Sum([]byte(statement)).Shape, []byte(statement))
	return ok && got == want
}
