package cmd

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long a run may be silent.
const progressAfter = 500 * time.Millisecond

// A progress is a bar on standard error: only on a terminal, and only when
// the work takes long.
type progress struct {
	env   Env
	unit  string
	start time.Time
	bar   *progressbar.ProgressBar
	off   bool
}

func newProgress(env Env, unit string) *progress {
	return &progress{env: env, unit: unit, start: env.Now(), off: !terminal(env.Stderr)}
}

// set tells how far the work is.
func (p *progress) set(read, total uint64) {
	if p.off || p.env.Now().Sub(p.start) < progressAfter {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(int64(total),
			progressbar.OptionSetWriter(p.env.Stderr), progressbar.OptionSetDescription(p.unit),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	p.bar.ChangeMax64(int64(max(total, read)))
	_ = p.bar.Set64(int64(read)) // a bar that can't be drawn is no reason to stop
}

// done removes the bar.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
