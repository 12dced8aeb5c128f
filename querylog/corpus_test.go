package querylog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestCorpus reads the logs of other projects: each "# Query_time:" line is
// one record, but where a file is broken or wrapped.
func TestCorpus(t *testing.T) {
	root := sharedDir(t, "corpus/mysql")
	// The number of records where it is not that of the lines.
	records := map[string]int{
		"rds80-hourly-rotation.log":           1, // the second record is cut off
		"rds-cloudwatch-oneline.log":          2,
		"rds-cloudwatch-subscription.json":    1,
		"slow_log.CSV":                        15,
		"rds56-general-spaces.log":            3,
		"general-newyork-prepare-execute.log": 45,
		"general-utc.log":                     102,
		"genlog001.txt":                       7,
		"genlog002.txt":                       2,
		"genlog003.txt":                       7,
		"genlog004.txt":                       4,
		"genlog005.txt":                       13,
		"pt-1573-general-log-system.log":      5,
		"pt-234-profile.log":                  7,
		"mysql.query.log":                     1554,
		"mysql.small-query.log":               4,
	}
	logs := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isCorpusLog(path) {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		plain := raw
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			if plain, err = io.ReadAll(z); err != nil {
				return err
			}
		}
		want := bytes.Count(append([]byte("\n"), plain...), []byte("\n# Query_time:"))
		if n, ok := records[filepath.Base(path)]; ok && !strings.Contains(path, "pt-query-digest/samples/genlog") {
			want = n
		}
		r, err := NewReader(FileSource(path), Options{BlockSize: 4096})
		var unknown *UnknownFormatError
		if errors.As(err, &unknown) {
			if want > 0 {
				t.Errorf("%s: not recognised", path)
			}
			return nil
		}
		if err != nil {
			return err
		}
		defer r.Close()
		n := 0
		for {
			_, err := r.Read()
			var pe *ParseError
			switch {
			case errors.As(err, &pe):
				continue
			case errors.Is(err, io.EOF):
				if n != want {
					t.Errorf("%s: %d records, want %d", path, n, want)
				}
				logs++
				return nil
			case err != nil:
				return err
			}
			n++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if logs < 120 {
		t.Errorf("only %d logs were read", logs)
	}
}

// isCorpusLog leaves out what is no log: outputs and expectations of other tools.
func isCorpusLog(path string) bool {
	switch filepath.Ext(path) {
	case ".md", ".golden", ".sql":
		return false
	}
	return !strings.Contains(path, "expected") && !strings.Contains(path, "pt-query-digest/samples/save-results")
}
