package retry

import "github.com/herdscan/herdscan/cronlint/lint"

// Formats returns the formats of this package.
func Formats() []lint.Format {
	return []lint.Format{
		grpcFormat{},
		resilience4jFormat{},
		springFormat{},
		envoyFormat{},
		meshFormat{},
		argoFormat{},
		temporalFormat{},
		dotnetFormat{},
		haproxyFormat{},
		pollFormat{},
		codeFormat{},
	}
}

// Checks returns the rules of this package, by number.
func Checks() []lint.Check {
	return []lint.Check{
		hs201(), hs202(), hs203(), hs204(), hs205(), hs206(), hs207(), hs208(), hs210(), hs213(), hs214(), hs215(),
		hs220(),
	}
}
