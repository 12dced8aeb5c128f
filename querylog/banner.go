package querylog

import "bytes"

var (
	bannerVersion = []byte(", Version: ")
	bannerEnd     = []byte("started with:")
)

// isBanner recognises the line that a server writes when it opens a log.
func isBanner(line []byte) bool {
	return len(line) > 20 && bytes.HasSuffix(bytes.TrimRight(line, " "), bannerEnd) && bytes.Contains(line, bannerVersion)
}

// bannerAt says whether a banner begins at i.
func bannerAt(data []byte, i int) bool {
	n := bytes.IndexByte(data[i:min(len(data), i+512)], '\n')
	if n < 0 {
		return false
	}
	return isBanner(bytes.TrimSuffix(data[i:i+n], []byte("\r")))
}

// isBannerTail recognises the two lines after a banner.
func isBannerTail(line []byte) bool {
	switch {
	case len(line) < 10:
		return false
	case line[0] == 'T':
		return bytes.HasPrefix(line, []byte("Tcp port: ")) || bytes.HasPrefix(line, []byte("TCP Port: ")) ||
			bytes.HasPrefix(line, []byte("Time")) && bytes.HasSuffix(line, []byte("Argument"))
	}
	return false
}

// banner notes the version of a server before the next record.
func (s *lineScan) banner(line []byte) {
	_, v, _ := bytes.Cut(line, bannerVersion)
	v = bytes.TrimSuffix(bytes.TrimRight(v, " "), bannerEnd)
	v = bytes.TrimRight(v, ". ")
	if len(v) > 120 {
		v = v[:120]
	}
	s.marks = append(s.marks, mark{before: s.kept, version: string(v)})
}
