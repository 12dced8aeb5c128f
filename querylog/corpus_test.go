package querylog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

func TestDumpCorpus(t *testing.T) {
	root := "../../shared/corpus/mysql"
	filepath.Walk(root, func(p string, st os.FileInfo, err error) error {
		if err != nil || st.IsDir() || !(strings.Contains(p, "slow") || strings.Contains(p, "genlog") || strings.Contains(p, "general") || strings.Contains(p, "documented") || strings.Contains(p, "mysql.")) {
			return nil
		}
		raw, _ := os.ReadFile(p)
		if strings.HasSuffix(p, ".gz") {
			z, _ := gzip.NewReader(bytes.NewReader(raw))
			raw, _ = io.ReadAll(z)
		}
		want := 0
		for _, l := range bytes.Split(raw, []byte("\n")) {
			if bytes.HasPrefix(l, []byte("# Query_time:")) {
				want++
			}
		}
		r, err := NewReader(FileSource(p), Options{})
		if err != nil {
			fmt.Printf("%-70s want %d ERR %v\n", strings.TrimPrefix(p, root), want, err)
			return nil
		}
		n, faults := 0, []string{}
		for {
			_, err := r.Read()
			var pe *ParseError
			if errors.As(err, &pe) {
				faults = append(faults, fmt.Sprint(pe.Line, pe.Err))
				continue
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want || len(faults) > 0 {
			fmt.Printf("%-70s %v want %d got %d  %v\n", strings.TrimPrefix(p, root), r.Format(), want, n, faults)
		}
		return nil
	})
}
