//go:build !race

package ttlhist_test

const raceEnabled = false
