package querylog

import "bytes"

// prefix takes what a collector of logs put before a line off it. It returns
// false for a line that has none.
type prefix func(line []byte) (rest []byte, ok bool)

// findPrefix returns the prefix behind which a line begins a record, nil for none.
func findPrefix(line []byte) prefix {
	for _, p := range []prefix{composePrefix, podStampPrefix, podPrefix, containerPrefix, journalPrefix, stampPrefix, streamPrefix} {
		if rest, ok := p(line); ok && beginsRecord(rest) {
			return p
		}
	}
	return nil
}

// beginsRecord says whether a line begins a record of a slow or general log, or is a banner.
func beginsRecord(line []byte) bool {
	if len(line) > 0 && line[0] == '#' {
		return isHead(line, true)
	}
	_, general := parseGeneralHead(line)
	return general || isBanner(line)
}

// composePrefix is that of docker compose: "mysql-1  | ".
func composePrefix(line []byte) ([]byte, bool) {
	bar := bytes.Index(line, []byte(" | "))
	if bar <= 0 || bar >= 64 || bytes.IndexByte(line[:bar], '#') >= 0 {
		return nil, false
	}
	return line[bar+3:], true
}

// podPrefix is that of kubectl logs --prefix: "[pod/mysql-0/mysql] ".
func podPrefix(line []byte) ([]byte, bool) {
	end := bytes.Index(line, []byte("] "))
	if !bytes.HasPrefix(line, []byte("[pod/")) || end < 0 {
		return nil, false
	}
	return line[end+2:], true
}

// podStampPrefix is that of kubectl logs --prefix --timestamps.
func podStampPrefix(line []byte) ([]byte, bool) {
	rest, ok := podPrefix(line)
	if !ok {
		return nil, false
	}
	return stampPrefix(rest)
}

// containerPrefix is that of a container runtime: "2026-11-30T18:10:11.1Z stderr F ".
func containerPrefix(line []byte) ([]byte, bool) {
	rest, ok := stampPrefix(line)
	if !ok {
		return nil, false
	}
	for _, s := range []string{"stderr F ", "stdout F ", "stderr P ", "stdout P "} {
		if r, ok := bytes.CutPrefix(rest, []byte(s)); ok {
			return r, true
		}
	}
	return nil, false
}

// stampPrefix is that of docker and kubectl logs --timestamps, of aws logs
// tail --format short, and of logs that CloudWatch exported to S3: "2026-11-30T18:10:11.1Z ".
func stampPrefix(line []byte) ([]byte, bool) {
	if len(line) < 21 || line[10] != 'T' {
		return nil, false
	}
	t := parseStamp(line)
	if t.n == 0 || t.n >= len(line) || line[t.n] != ' ' {
		return nil, false
	}
	return line[t.n+1:], true
}

// streamPrefix is that of aws logs tail: "2026-11-30T18:10:11+00:00 stream ".
func streamPrefix(line []byte) ([]byte, bool) {
	rest, ok := stampPrefix(line)
	if !ok {
		return nil, false
	}
	blank := bytes.IndexByte(rest, ' ')
	if blank <= 0 || rest[0] == '#' {
		return nil, false
	}
	return rest[blank+1:], true
}

// journalPrefix is that of journalctl and syslog: "Nov 30 18:10:11 db-1
// mysqld[815]: ", also with the times of --output=short-iso and short-precise.
func journalPrefix(line []byte) ([]byte, bool) {
	head := line[:min(len(line), 200)]
	end := bytes.Index(head, []byte("]: "))
	if end < 0 {
		return nil, false
	}
	open := bytes.LastIndexByte(head[:end], '[')
	if open < 0 || end == open+1 {
		return nil, false
	}
	if _, n := parseUint(head[open+1 : end]); n != end-open-1 {
		return nil, false
	}
	return line[end+3:], journalTime(head)
}

// journalTime says whether a line begins with a time of the journal.
func journalTime(line []byte) bool {
	if len(line) >= 19 && line[10] == 'T' {
		return parseStamp(line).n > 0
	}
	return len(line) > 16 && line[3] == ' ' && line[6] == ' ' && line[9] == ':' && line[12] == ':' &&
		num2(line[7:]) >= 0 && num2(line[10:]) >= 0 && num2(line[13:]) >= 0
}
