package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
)

type gitlabIssue struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
}

// GitLab writes a Code Quality report. Its paths begin at the root of the
// repository.
func GitLab(w io.Writer, d *Document) error {
	issues := []gitlabIssue{}
	add := func(file string, line int, issue gitlabIssue) {
		issue.Location = gitlabLocation{d.fromRoot(file), gitlabLines{max(line, 1)}}
		issues = append(issues, issue)
	}
	for _, u := range d.unread() {
		sum := sha256.Sum256([]byte("unread\x00" + u.file + "\x00" + u.text))
		add(u.file, u.line, gitlabIssue{
			Description: "not read: " + u.text, CheckName: "unread", Severity: "blocker",
			Fingerprint: hex.EncodeToString(sum[:12]),
		})
	}
	severity := map[string]string{"error": "critical", "warning": "major", "note": "info"}
	for _, f := range d.counted() {
		add(f.first().File, f.first().Line, gitlabIssue{
			Description: f.Message, CheckName: f.Rule, Fingerprint: f.Fingerprint, Severity: severity[f.Severity],
		})
	}
	return writeIndented(w, issues)
}

func writeIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
