package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/herdscan/herdscan/report"
)

// maxReport is the largest saved report that is read.
const maxReport = 256 << 20

// compare reads two reports, or two inputs that are analysed first.
func (r *reportRun) compare(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("--compare takes two inputs: OLD and NEW")
	}
	var docs [2]func(report.Clock) *report.Document
	for i, arg := range args {
		d, err := savedReport(arg)
		if err != nil {
			return err
		}
		if d != nil {
			docs[i] = func(report.Clock) *report.Document { return d }
			continue
		}
		in, err := r.inputs(ctx, []string{arg})
		if err != nil {
			return err
		}
		incident, err := r.incident(ctx, in)
		if err != nil {
			return err
		}
		docs[i] = incident.Document
	}
	return r.o.out.deliver(ctx, func(clock report.Clock) *report.Document {
		return report.Compare(version, docs[0](clock), docs[1](clock))
	})
}

// savedReport reads a report in JSON; nil if the file is none.
func savedReport(path string) (*report.Document, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil // whoever reads it as an input says why it can't be
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	if !bytes.HasPrefix(bytes.TrimLeft(head[:n], " \t\r\n"), []byte("{")) {
		return nil, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil
	}
	var d report.Document
	if err := json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&d); err != nil || d.Schema == "" {
		return nil, nil
	}
	if d.Schema != report.Schema {
		return nil, fmt.Errorf("%s: a report of schema %q; this herdscan reads %q", report.Clean(path), d.Schema, report.Schema)
	}
	return &d, nil
}
