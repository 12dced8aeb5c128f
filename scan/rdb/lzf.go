package rdb

import "errors"

var errLZF = errors.New("damaged compressed string")

// lzfMaxRatio is more than LZF can ever expand: three bytes give at most 264.
const lzfMaxRatio = 264

// appendLZF appends the decompressed form of src, which must be n bytes long,
// to dst. The format is that of liblzf: a control byte below 32 introduces a
// run of literals, any other a reference to earlier output.
func appendLZF(dst, src []byte, n int) ([]byte, error) {
	if n > len(src)*lzfMaxRatio {
		return dst, errLZF
	}
	start := len(dst)
	for i := 0; i < len(src); {
		ctrl := int(src[i])
		i++
		if ctrl < 32 {
			run := ctrl + 1
			if i+run > len(src) {
				return dst, errLZF
			}
			dst = append(dst, src[i:i+run]...)
			i += run
			continue
		}
		length := ctrl >> 5
		if length == 7 {
			if i == len(src) {
				return dst, errLZF
			}
			length += int(src[i])
			i++
		}
		if i == len(src) {
			return dst, errLZF
		}
		from := len(dst) - (ctrl&0x1f)<<8 - int(src[i]) - 1
		i++
		if from < start {
			return dst, errLZF
		}
		for k := range length + 2 { // byte by byte: the reference may overlap its own output
			dst = append(dst, dst[from+k])
		}
	}
	if len(dst)-start != n {
		return dst, errLZF
	}
	return dst, nil
}
