// Package cache reads the cache settings of servers and frameworks, and holds
// the rules about them (HS3xx).
package cache

import "github.com/herdscan/herdscan/cronlint/lint"

// Formats returns the formats of this package.
func Formats() []lint.Format {
	return []lint.Format{nginxFormat{}, vclFormat{}, headerFormat{}, envFormat{}, springCacheFormat{}, ttlFormat{}}
}

// Checks returns the rules of this package, by number.
func Checks() []lint.Check {
	return []lint.Check{hs301(), hs302(), hs303(), hs304(), hs305(), hs306(), hs307(), hs308(), hs310(), hs320()}
}
