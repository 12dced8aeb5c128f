package querylog

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// headerLine reads one line of a slow log's header. It dispatches on the
// first letter of the first key; lines that hold nothing of use are passed
// over without a look at the rest.
func (s *slowScan) headerLine(r *record, line []byte) {
	if len(line) < 5 || line[1] != ' ' {
		return
	}
	switch line[2] {
	case 'T':
		if v, ok := bytes.CutPrefix(line, []byte("# Time:")); ok {
			s.timeLine(r, v)
			return
		}
		if bytes.HasPrefix(line, []byte("# Thread_id:")) {
			s.pairs(r, line[2:])
		}
	case 'U':
		s.userLine(r, line)
	case 'Q':
		if v, ok := bytes.CutPrefix(line, []byte("# Query_time: ")); ok {
			s.queryTime(r, v)
		}
	case 'C':
		if bytes.HasPrefix(line, []byte("# Client: ")) {
			s.who(r, line[10:])
			return
		}
		s.pairs(r, line[2:])
	case 'S', 'R', 'D', 'L', 'I', 'K':
		s.pairs(r, line[2:])
	}
}

// timeLine reads the value of # Time, after which old servers put User@Host.
func (s *slowScan) timeLine(r *record, v []byte) {
	v = bytes.TrimLeft(v, " ")
	t := parseStamp(v)
	if t.n < len(v) {
		if user := bytes.Index(v, []byte("# User@Host: ")); user > 0 {
			s.userLine(r, v[user:])
			v = v[:user]
		}
	}
	if t.n == 0 {
		if len(v) > 0 {
			s.faults = append(s.faults, fault{r.at, r.line, errTime})
		}
		return
	}
	r.stamp = t.ns
	r.has |= fStamp
	if t.zoned {
		r.has |= fZoned
	}
	if t.fine {
		r.has |= fFine
	}
	if len(v) > 10 && v[10] == '-' {
		r.has |= fTiDB
	}
}

// userLine reads # User@Host: user[user] @ host [ip]  Id: 5, or TiDB's # User: user@ip.
func (s *slowScan) userLine(r *record, line []byte) {
	if v, ok := bytes.CutPrefix(line, []byte("# User@Host: ")); ok {
		if end := bytes.LastIndexByte(v, ']') + 1; end > 0 && end < len(v) {
			if id, ok := bytes.CutPrefix(bytes.TrimLeft(v[end:], " "), []byte("Id:")); ok {
				r.thread, _ = parseUint(bytes.TrimLeft(id, " "))
				r.has |= fThread | fMySQL
				v = v[:end]
			}
		}
		s.who(r, v)
		return
	}
	if v, ok := bytes.CutPrefix(line, []byte("# User: ")); ok {
		s.who(r, v)
	}
}

func (s *slowScan) who(r *record, v []byte) {
	v = bytes.TrimRight(v, " ")
	if len(v) > 0 {
		r.who, r.whoHash = s.at(v), xxhash.Sum64(v)
		r.has |= fWho
	}
}

// queryTime reads the line of Query_time; its first four values always come
// in the same order.
func (s *slowScan) queryTime(r *record, v []byte) {
	ns, n, ok := parseSeconds(v)
	if ok {
		r.duration, r.has = ns, r.has|fDuration
	} else {
		s.faults = append(s.faults, fault{r.at, r.line, errQueryTime})
		for n < len(v) && v[n] != ' ' {
			n++
		}
	}
	v = v[n:]
	v = bytes.TrimLeft(v, " ")
	if lock, ok := bytes.CutPrefix(v, []byte("Lock_time: ")); ok {
		v = bytes.TrimLeft(lock[max(bytes.IndexByte(lock, ' '), 0):], " ")
	}
	sent, ok := bytes.CutPrefix(v, []byte("Rows_sent: "))
	if !ok {
		s.pairs(r, v)
		return
	}
	r.sent, n = parseUint(sent)
	v = sent
	r.has |= fSent
	v = bytes.TrimLeft(v[n:], " ")
	if rest, ok := bytes.CutPrefix(v, []byte("Rows_examined: ")); ok {
		r.examined, n = parseUint(rest)
		r.has |= fExamined
		v = rest[n:]
	}
	if len(v) > 0 {
		s.pairs(r, v)
	}
}

// pairs reads "Key: value  Key: value"; values may be empty.
func (s *slowScan) pairs(r *record, v []byte) {
	for {
		for len(v) > 0 && v[0] == ' ' {
			v = v[1:]
		}
		colon := bytes.IndexByte(v, ':')
		if colon <= 0 {
			return
		}
		key, rest := v[:colon], v[colon+1:]
		if len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			end = len(rest)
		}
		s.pair(r, key, rest[:end])
		v = rest[end:]
	}
}

// pair takes one value of a header.
func (s *slowScan) pair(r *record, key, val []byte) {
	switch string(key) {
	case "Thread_id", "Conn_ID":
		if v, n := parseUint(val); n > 0 {
			r.thread, r.has = v, r.has|fThread
		}
		if len(key) == 7 {
			r.has |= fTiDB
		}
	case "Schema", "DB":
		if r.has&fUse == 0 {
			r.db, r.dbHash, r.has = s.at(val), xxhash.Sum64(val), r.has|fSchema
		}
	case "QC_hit":
		r.has |= fMaria
	case "Last_errno", "Errno":
		if v, n := parseUint(val); n > 0 {
			r.errno, r.has = v, r.has|fErrno|fMySQL
		}
	case "Succ":
		r.has |= fErrno | fTiDB
		if string(val) == "false" {
			r.errno = 1
		}
	case "Rows_sent":
		if v, n := parseUint(val); n > 0 {
			r.sent, r.has = v, r.has|fSent
		}
	case "Rows_examined":
		if v, n := parseUint(val); n > 0 {
			r.examined, r.has = v, r.has|fExamined
		}
	case "Rows_affected":
		if v, n := parseUint(val); n > 0 {
			r.affected, r.has = v, r.has|fAffected
		}
	case "Start":
		if t := parseStamp(val); t.n > 0 && t.zoned {
			r.begin, r.has = t.ns, r.has|fBegin|fMySQL
		}
	case "Log_slow_rate_type":
		s.marks = append(s.marks, mark{before: s.kept, kind: string(val)})
	case "Log_slow_rate_limit":
		if v, n := parseUint(val); n > 0 {
			s.rate(v)
		}
		r.has |= fMySQL
	}
}

// rate notes a sampling rate, together with the type that came just before it.
func (s *slowScan) rate(v uint64) {
	if k := len(s.marks) - 1; k >= 0 && s.marks[k].before == s.kept && s.marks[k].version == "" {
		s.marks[k].rate = v
		return
	}
	s.marks = append(s.marks, mark{before: s.kept, rate: v})
}
