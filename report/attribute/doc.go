// Package attribute says whose a herd is: it puts the query log, the caches,
// the schedules and the configuration on one clock and weighs, for each herd,
// every suspect that they name.
//
// The way of a herd:
//
//	Evidence -> subjects    the herds of the query log, or, without a log,
//	                        those of the caches (subject.go)
//	         -> suspects    each key pattern (keygroup.go, ttl.go), schedule
//	                        (job.go), schedule that fills a cache (warmup.go)
//	                        and retry policy (retry.go), for what came once also
//	                        each event (once.go), and for each kind a nameless
//	                        one that the log speaks for by itself (generic.go)
//	         -> weighing    every suspect collects reasons, each worth some nats
//	                        for or against it (weigh.go)
//	         -> Verdict     ranked suspects, those cleared and why, what is
//	                        missing to decide, and how far to trust it
//	                        (verdict.go)
//	         -> Result      herds that are one are put together (join.go), and
//	                        what the sources say of each other (findings.go)
//
// All suspects are on one scale: nats above "unexplained", that is the
// logarithm of how much better the suspect explains the teeth than chance
// does. What every suspect with the right period explains equally well (that
// there is a period) is bounded, so that what tells them apart decides: the
// drift against the wall clock, the phase, the next expiry of a cluster in the
// cache, fires without a tooth, the time that a rebuild takes, the clients, the
// texts, the names. docs/attribution.md has the terms and what they are worth.
//
// The package is pure: no input or output, no clock, no randomness. It claims
// no more than "consistent with".
package attribute
