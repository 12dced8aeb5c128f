//go:build race

package ttlhist_test

// raceEnabled says that the race detector makes everything some ten times slower.
const raceEnabled = true
