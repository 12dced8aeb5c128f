package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
)

// baselineSchema is the version of the file; others are refused by name.
const baselineSchema = "herdscan-baseline/1"

// A Baseline is a set of problems that were there before and are accepted. It
// holds fingerprints and no line numbers, so that it outlives edits.
type Baseline struct {
	known map[string]BaselineItem
}

// A BaselineItem is one accepted problem. All but the fingerprint is there for
// the human who reads the file.
type BaselineItem struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	File        string `json:"file"`
	Subject     string `json:"subject,omitempty"`
	Message     string `json:"message"`
}

type baselineFile struct {
	Schema   string         `json:"schema"`
	Problems []BaselineItem `json:"problems"`
}

// NewBaseline accepts the problems that no comment suppresses.
func NewBaseline(ps []Problem) *Baseline {
	b := &Baseline{known: make(map[string]BaselineItem)}
	for _, p := range ps {
		if p.Suppressed != nil && p.Suppressed.Kind != "baseline" {
			continue
		}
		b.known[p.Fingerprint] = BaselineItem{p.Fingerprint, p.Rule.ID, p.File, p.Subject, p.Message}
	}
	return b
}

// ReadBaseline reads what Write wrote.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	var f baselineFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if f.Schema != baselineSchema {
		return nil, fmt.Errorf("baseline: schema %q, want %q", f.Schema, baselineSchema)
	}
	b := &Baseline{known: make(map[string]BaselineItem, len(f.Problems))}
	for _, item := range f.Problems {
		if item.Fingerprint == "" {
			return nil, errors.New("baseline: a problem without fingerprint")
		}
		b.known[item.Fingerprint] = item
	}
	return b, nil
}

// Write writes the baseline, sorted by file, rule and fingerprint: a diff of
// two versions shows what was accepted.
func (b *Baseline) Write(w io.Writer) error {
	f := baselineFile{Schema: baselineSchema, Problems: make([]BaselineItem, 0, len(b.known))}
	for _, item := range b.known {
		f.Problems = append(f.Problems, item)
	}
	sort.Slice(f.Problems, func(i, j int) bool {
		p, q := f.Problems[i], f.Problems[j]
		if p.File != q.File {
			return p.File < q.File
		}
		if p.Rule != q.Rule {
			return p.Rule < q.Rule
		}
		return p.Fingerprint < q.Fingerprint
	})
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(f)
}

// Len returns the number of accepted problems.
func (b *Baseline) Len() int { return len(b.known) }

// Mark marks the problems that the baseline accepts and returns the items that
// nothing matched any more.
func (b *Baseline) Mark(ps []Problem) (gone []BaselineItem) {
	left := make(map[string]BaselineItem, len(b.known))
	for k, v := range b.known {
		left[k] = v
	}
	for i := range ps {
		if _, ok := b.known[ps[i].Fingerprint]; !ok {
			continue
		}
		delete(left, ps[i].Fingerprint)
		if ps[i].Suppressed == nil {
			ps[i].Suppressed = &Suppression{Kind: "baseline"}
		}
	}
	for _, item := range left {
		gone = append(gone, item)
	}
	sort.Slice(gone, func(i, j int) bool { return gone[i].Fingerprint < gone[j].Fingerprint })
	return gone
}
