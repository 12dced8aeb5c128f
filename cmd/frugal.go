package cmd

import "runtime/debug"

// frugal has garbage collected early, until the function that it returns is
// called. What is kept of a log or a cache is small and lives long, and reading
// makes little garbage, so collecting more often costs little time and keeps
// the peak of memory low: herdscan often runs beside the server that it looks
// at.
func frugal() (restore func()) {
	const percent, limit = 50, 90 << 20
	p, l := debug.SetGCPercent(percent), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(l, limit)) // GOMEMLIMIT may ask for less
	return func() {
		debug.SetGCPercent(p)
		debug.SetMemoryLimit(l)
	}
}
