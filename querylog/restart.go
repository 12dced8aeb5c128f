package querylog

import "time"

// Restarted notes that the server was gone and is back since a time, for those
// who watch it and so need not conclude it from a silence.
func (s *Summary) Restarted(at time.Time) {
	if len(s.restarts) < maxStarts {
		s.restarts = append(s.restarts, at)
	}
}
