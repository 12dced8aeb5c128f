// Package watch sees herds while they happen: it looks at a Redis, and at a
// MySQL where one is given, again and again, foretells the teeth that are due,
// tells when one falls and when it is over, and has each alert sent once
// however many watchers run.
//
// An Engine is what is known: it takes observations, each with its time, and
// returns Events. It does no I/O and has no clock. A Watcher makes the
// observations and carries the events out.
package watch
