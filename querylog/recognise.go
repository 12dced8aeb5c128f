package querylog

import "errors"

// Recognise reports whether a source begins like a query log, or is saved so
// that it may be one. An error means that it can't be opened or uncompressed.
func Recognise(s Source) (bool, error) {
	in, err := openInput(s)
	var unknown *UnknownFormatError
	switch {
	case errors.As(err, &unknown):
		return false, nil
	case err != nil:
		return false, err
	}
	_ = in.Close() // a damaged end shows when it is read
	return !in.empty, nil
}

// IsGeneral reports whether a source begins like a general log.
func IsGeneral(s Source) bool {
	in, err := openInput(s)
	if err != nil {
		return false
	}
	defer in.Close()
	return in.format.General()
}
