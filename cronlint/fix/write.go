package fix

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrChanged says that a file is not any more what it was when it was read.
var ErrChanged = errors.New("the file has changed since it was read")

// Write puts the new content in the file's place: into a temporary file beside
// it, with its permissions, then renamed. A link stays a link. It fails with
// ErrChanged when the file is no longer what was read.
func (c *Change) Write(name string) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s: %w", name, ErrChanged)
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), ".herdscan-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	if err := writeTo(tmp, c.After, info.Mode().Perm()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(tmp.Name(), target)
}

func writeTo(f *os.File, data []byte, mode os.FileMode) error {
	_, err := f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}
