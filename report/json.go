package report

import (
	"encoding/json"
	"io"
)

// JSON writes the document by the contract herdscan/1, indented.
func JSON(w io.Writer, d *Document) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(true)
	return enc.Encode(d)
}
