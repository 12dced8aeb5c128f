package sqltext

import "encoding/binary"

// skipNumbers returns the end of a run of digits, commas, dots and white
// space, eight bytes at a time.
func skipNumbers(sql []byte, i int) int {
	const (
		ones = 0x0101010101010101
		low  = 0x7f * ones
		high = 0x80 * ones
	)
	for i+8 <= len(sql) {
		x := binary.LittleEndian.Uint64(sql[i:])
		d := x ^ '0'*ones // digits become 0..9
		c := x ^ ','*ones
		s := x ^ ' '*ones
		notDigit := (d&low + (0x7f-9)*ones) | d
		notComma := (c&low + low) | c
		notSpace := (s&low + low) | s
		if notDigit&notComma&notSpace&high != 0 {
			break
		}
		i += 8
	}
	for i < len(sql) {
		c := sql[i]
		if !isDigit(c) && c != ',' && c != '.' && c > ' ' {
			break
		}
		i++
	}
	return i
}

// skipRows returns the end of the rows of VALUES that follow a first one: any
// number of ", ( ... )". It says whether the text ends inside a quote or comment.
func skipRows(sql []byte, i int) (end int, open bool) {
	end = i
	for {
		j := skipSpace(sql, end)
		if j >= len(sql) || sql[j] != ',' {
			return end, false
		}
		j = skipSpace(sql, j+1)
		if j >= len(sql) || sql[j] != '(' {
			return end, false
		}
		end, open = skipParens(sql, j)
		if open {
			return end, true
		}
	}
}

func skipSpace(sql []byte, i int) int {
	for i < len(sql) && sql[i] <= ' ' {
		i++
	}
	return i
}

// skipParens returns the position after the parenthesis that closes the one at i.
func skipParens(sql []byte, i int) (end int, open bool) {
	depth := 0
	for i < len(sql) {
		switch c := sql[i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1, false
			}
		case '\'', '"':
			e, closed := stringEnd(sql, i, c)
			if !closed {
				return e, true
			}
			i = e
			continue
		case '/':
			if i+1 < len(sql) && sql[i+1] == '*' {
				e := commentEnd(sql, i+2)
				if e < 0 {
					return len(sql), true
				}
				i = e
				continue
			}
		}
		i++
	}
	return len(sql), false
}

// commentEnd returns the position after the next */, or -1.
func commentEnd(sql []byte, i int) int {
	for ; i+1 < len(sql); i++ {
		if sql[i] == '*' && sql[i+1] == '/' {
			return i + 2
		}
	}
	return -1
}
