package sqltext

// class is what a byte begins outside of quotes.
type class uint8

const (
	cOperator class = iota // anything not below
	cSpace
	cWord
	cDigit
	cQuote
	cBacktick
	cOpen
	cClose
	cComma
	cMark
	cDot
	cSemicolon
	cHash
	cMinus
	cSlash
)

var (
	classOf   = makeClasses()
	lowerWord = makeLowerWord()
)

func makeClasses() (t [256]class) {
	for c := 0; c < 256; c++ {
		switch {
		case c <= ' ':
			t[c] = cSpace
		case c >= '0' && c <= '9':
			t[c] = cDigit
		case isLetter(byte(c)):
			t[c] = cWord
		}
	}
	for c, k := range map[byte]class{
		'\'': cQuote, '"': cQuote, '`': cBacktick, '(': cOpen, ')': cClose, ',': cComma,
		'?': cMark, '.': cDot, ';': cSemicolon, '#': cHash, '-': cMinus, '/': cSlash,
	} {
		t[c] = k
	}
	return t
}

// makeLowerWord maps the bytes of names to lower case and all others to 0.
func makeLowerWord() (t [256]byte) {
	for c := 0; c < 256; c++ {
		if isLetter(byte(c)) || c >= '0' && c <= '9' {
			t[c] = lower(byte(c))
		}
	}
	return t
}

// isLetter says whether a byte may begin a name: letters, _ $ @ and all of UTF-8.
func isLetter(c byte) bool {
	l := c | 0x20
	return l >= 'a' && l <= 'z' || c == '_' || c == '$' || c == '@' || c >= 0x80
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// keyword is a word that has a meaning for the shape.
type keyword uint8

const (
	kwNone   keyword = iota // a name: f(x) is a call, a-1 a subtraction
	kwPlain                 // a keyword: x AND (y), THEN -1
	kwIn                    // opens a list
	kwValues                // opens rows
	kwLimit
	kwOffset
	kwIs
	kwNot
	kwNull
	kwBool
	kwAsc
)

// keywordSizes are the lengths of the keywords by their first letter, as bits:
// most words are told from them without being compared.
var keywordSizes = makeKeywordSizes()

func makeKeywordSizes() (t [256]uint16) {
	for _, w := range []string{
		"in", "values", "value", "limit", "offset", "is", "not", "null", "true", "false", "asc", "select", "from", "where",
		"and", "or", "on", "as", "by", "set", "when", "then", "else", "case", "having", "join", "between", "like", "union", "all",
		"any", "exists", "using", "over", "with", "interval", "into", "distinct", "return", "div", "mod", "xor", "table", "update",
	} {
		t[w[0]] |= 1 << len(w)
	}
	return t
}

// keywordOf looks up a word in lower case.
func keywordOf(w []byte) keyword {
	if len(w) < 2 || len(w) > 8 || keywordSizes[w[0]]&(1<<len(w)) == 0 {
		return kwNone
	}
	switch string(w) {
	case "in":
		return kwIn
	case "values", "value":
		return kwValues
	case "limit":
		return kwLimit
	case "offset":
		return kwOffset
	case "is":
		return kwIs
	case "not":
		return kwNot
	case "null":
		return kwNull
	case "true", "false":
		return kwBool
	case "asc":
		return kwAsc
	case "select", "from", "where", "and", "or", "on", "as", "by", "set", "when", "then", "else", "case", "having",
		"join", "between", "like", "union", "all", "any", "exists", "using", "over", "with", "interval", "into",
		"distinct", "return", "div", "mod", "xor", "table", "update":
		return kwPlain
	}
	return kwNone
}
