// Command gen writes docs/rules.md from the rules. Run it with "make docs".
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/herdscan/herdscan/report"
)

func main() {
	if err := write("docs/rules.md"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	var b bytes.Buffer
	if err := report.RuleReference(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
