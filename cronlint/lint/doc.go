// Package lint holds the words that every part of the linter shares: a File
// with its positions, the Entry (one schedule) and the Setting (one retry,
// cache or rollout policy) that a Format finds in it, and the Problem that a
// Check reports about them.
//
// It knows no format and no rule. The formats and checks live in packages of
// their own (retry, cache, ...), import this one, and are listed one by one in
// package cronlint, which does the walking, the suppression and the sorting.
package lint
