package scan

import (
	"bytes"
	"fmt"
)

// A column says what the values of one column of a key list mean.
type column int

const (
	colOther    column = iota // not looked at
	colKey                    // the key as it is
	colKey64                  // the key in base64
	colExpireMS               // absolute expiry, milliseconds
	colExpire                 // expiry, absolute or relative, by its size
	colTTLMS                  // relative, milliseconds
	colTTL                    // relative, seconds
	colNow                    // when the row was read, by its size
	colType
	colIdle // seconds
	colFreq
	colDB
	nColumns
)

// columnNames maps the names of columns, lower case and without blanks, dashes and underscores, to their meaning.
var columnNames = map[string]column{
	"key": colKey, "name": colKey, "keyname": colKey, "rediskey": colKey, "cachekey": colKey,
	"key64": colKey64, "keyb64": colKey64, "keybase64": colKey64,
	"pexpireat": colExpireMS, "pexpiretime": colExpireMS, "expireatms": colExpireMS, "expiresatms": colExpireMS,
	"expirems": colExpireMS, "expiretimems": colExpireMS, "expiryms": colExpireMS,
	"expireat": colExpire, "expiresat": colExpire, "expires": colExpire, "expire": colExpire, "exp": colExpire,
	"expiry": colExpire, "expiration": colExpire, "expiretime": colExpire,
	"pttl": colTTLMS, "pttlms": colTTLMS, "ttlms": colTTLMS, "expiresinms": colTTLMS,
	"ttl": colTTL, "ttls": colTTL, "ttlsec": colTTL, "ttlsecs": colTTL, "ttlseconds": colTTL, "expiresin": colTTL,
	"expiresins": colTTL,
	"now":        colNow, "time": colNow, "timestamp": colNow, "servertime": colNow, "servertimeus": colNow,
	"servertimems": colNow, "servertimes": colNow, "readat": colNow, "sampledat": colNow,
	"type": colType,
	"idle": colIdle, "idletime": colIdle, "idles": colIdle, "idleseconds": colIdle,
	"freq": colFreq, "frequency": colFreq, "lfu": colFreq,
	"db": colDB, "database": colDB,
}

// columnOf returns the meaning of a column's name.
func columnOf(name []byte) column {
	var plain [16]byte // longer than any name that is known
	n := 0
	for _, c := range name {
		switch {
		case c == ' ' || c == '-' || c == '_':
			continue
		case n == len(plain):
			return colOther
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		plain[n] = c
		n++
	}
	return columnNames[string(plain[:n])]
}

// expiryColumns are those that say when a key expires, the most exact first.
var expiryColumns = [...]column{colExpireMS, colExpire, colTTLMS, colTTL}

// A row holds the raw values of one record, by the meaning of their columns; nil where it has none.
type row [nColumns][]byte

// expiry returns the most exact expiry of a row, an empty one only if all are.
func (r *row) expiry() (found column, value []byte) {
	for _, c := range expiryColumns {
		switch {
		case len(r[c]) > 0:
			return c, r[c]
		case r[c] != nil && found == colOther:
			found, value = c, r[c]
		}
	}
	return found, value
}

// A listFormat splits a line of a key list into a row.
type listFormat struct {
	delimiter byte     // tab, comma or semicolon; 0: NDJSON
	columns   []column // of delimited text, from the left
	header    bool     // the first line names the columns
	fields    [][]byte
}

// split fills row. The line is overwritten; the row points into it.
func (f *listFormat) split(line []byte, r *row) error {
	*r = row{}
	if f.delimiter == 0 {
		return splitJSON(line, r)
	}
	var err error
	if f.fields, err = splitDelimited(f.fields[:0], line, f.delimiter); err != nil {
		return err
	}
	if len(f.fields) != len(f.columns) {
		return fmt.Errorf("%d fields instead of %d", len(f.fields), len(f.columns))
	}
	for i, c := range f.columns {
		if c != colOther {
			r[c] = f.fields[i]
		}
	}
	return nil
}

// splitDelimited appends the fields of a line. Fields between commas and semicolons may be quoted as in RFC 4180, but
// not over several lines; tabs separate fields that are taken as they are.
func splitDelimited(fields [][]byte, line []byte, delimiter byte) ([][]byte, error) {
	for {
		if delimiter != '\t' && len(line) > 0 && line[0] == '"' {
			field, rest, err := unquote(line[1:])
			if err != nil {
				return fields, err
			}
			fields = append(fields, field)
			if len(rest) == 0 {
				return fields, nil
			}
			if rest[0] != delimiter {
				return fields, fmt.Errorf("%q behind a closing quote", rest[0])
			}
			line = rest[1:]
			continue
		}
		i := bytes.IndexByte(line, delimiter)
		if i < 0 {
			return append(fields, line), nil
		}
		fields = append(fields, line[:i:i])
		line = line[i+1:]
	}
}

// unquote returns the text before the closing quote, with doubled quotes made single in place, and what follows.
func unquote(s []byte) (text, rest []byte, err error) {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			if i+1 == len(s) || s[i+1] != '"' {
				return s[:n], s[i+1:], nil
			}
			i++
		}
		s[n] = s[i]
		n++
	}
	return nil, nil, fmt.Errorf("a quote that is not closed on its line")
}
