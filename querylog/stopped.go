package querylog

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// stopped says why a source was not read to its end, in words that follow its name.
func stopped(name string, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it breaks off (unexpected EOF)"
	case errors.Is(err, gzip.ErrHeader):
		return "no gzip data where it should go on (" + gzip.ErrHeader.Error() + ")"
	}
	return strings.TrimPrefix(err.Error(), name+": ")
}
