package report

import "io"

// The types follow the Reviewdog Diagnostic Format: reviewdog/reviewdog,
// proto/rdf/reviewdog.proto. Its columns count bytes of UTF-8 from 1.

type rdResult struct {
	Source      rdSource       `json:"source"`
	Diagnostics []rdDiagnostic `json:"diagnostics"`
}

type rdSource struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type rdDiagnostic struct {
	Message     string         `json:"message"`
	Location    rdLocation     `json:"location"`
	Severity    string         `json:"severity"`
	Code        *rdCode        `json:"code,omitempty"`
	Suggestions []rdSuggestion `json:"suggestions,omitempty"`
}

type rdLocation struct {
	Path  string   `json:"path"`
	Range *rdRange `json:"range,omitempty"`
}

type rdRange struct {
	Start rdPosition  `json:"start"`
	End   *rdPosition `json:"end,omitempty"`
}

type rdPosition struct {
	Line   int `json:"line"`
	Column int `json:"column,omitempty"`
}

type rdCode struct {
	Value string `json:"value"`
	URL   string `json:"url,omitempty"`
}

type rdSuggestion struct {
	Range rdRange `json:"range"`
	Text  string  `json:"text"`
}

// RDJSON writes findings for reviewdog, with those fixes as suggestions that
// are safe and in the finding's own file.
func RDJSON(w io.Writer, d *Document) error {
	r := rdResult{Source: rdSource{"herdscan", "https://github.com/herdscan/herdscan"}, Diagnostics: []rdDiagnostic{}}
	for _, u := range d.unread() {
		at := rdLocation{Path: u.file}
		if u.line > 0 {
			at.Range = &rdRange{Start: rdPosition{Line: u.line}}
		}
		r.Diagnostics = append(r.Diagnostics, rdDiagnostic{Message: "not read: " + u.text, Location: at, Severity: "ERROR"})
	}
	severity := map[string]string{"error": "ERROR", "warning": "WARNING", "note": "INFO"}
	for _, f := range d.counted() {
		r.Diagnostics = append(r.Diagnostics, rdDiagnostic{
			Message: f.Message, Location: rdPlace(f.first()), Severity: severity[f.Severity],
			Code: &rdCode{f.Rule, ruleURL(f.Rule)}, Suggestions: rdSuggestions(f),
		})
	}
	return writeIndented(w, r)
}

func rdPlace(l Location) rdLocation {
	at := rdLocation{Path: l.File}
	if l.Line > 0 {
		at.Range = &rdRange{Start: rdPosition{l.Line, l.ByteCol}}
		if l.EndByteCol > l.ByteCol {
			at.Range.End = &rdPosition{l.Line, l.EndByteCol}
		}
	}
	return at
}

// rdSuggestions are the edits in the line of the finding: reviewers can only
// accept a suggestion where the comment stands.
func rdSuggestions(f *Finding) (all []rdSuggestion) {
	if f.Fix == nil {
		return nil
	}
	for _, e := range f.Fix.Edits {
		if at := f.first(); e.Safe && e.File == at.File && e.Line == at.Line {
			end := rdPosition{e.EndLine, e.EndByteCol}
			all = append(all, rdSuggestion{rdRange{rdPosition{e.Line, e.ByteCol}, &end}, e.New})
		}
	}
	return all
}
