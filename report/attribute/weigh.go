package attribute

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A reason is one piece of evidence for (above 0) or against a suspect.
type reason struct {
	nats float64
	text string // "" for what is not worth a word
}

// What evidence is worth, in nats.
const (
	missOdds   = 0.05 // share of periods in which a tooth is missing by chance
	mostTiming = 24.0 // that the period alone is worth: all suspects with this period share it
	unmet      = -3.0 // for each fire without a tooth
	stray      = -1.5 // for each tooth without a fire
	impossible = -60.0
	enough     = 5.0 // below this the herd is unexplained
	near       = 3.0 // a runner-up within this is not told apart
)

// say adds a reason with a text.
func (s *Suspect) say(nats float64, format string, args ...any) {
	s.add(nats, fmt.Sprintf(format, args...))
}

// add adds a reason.
func (s *Suspect) add(nats float64, text string) {
	if nats == 0 && text == "" {
		return
	}
	s.reasons = append(s.reasons, reason{nats, text})
	s.Nats += nats
}

// refute takes a suspect out, for a reason.
func (s *Suspect) refute(format string, args ...any) { s.say(impossible, format, args...) }

// refuted says whether something took it out.
func (s *Suspect) refuted() bool {
	return slices.ContainsFunc(s.reasons, func(r reason) bool { return r.nats <= impossible/2 })
}

// settle sorts the reasons into For and Against, the weightiest first.
func (s *Suspect) settle() {
	slices.SortStableFunc(s.reasons, func(a, b reason) int { return cmp.Compare(math.Abs(b.nats), math.Abs(a.nats)) })
	s.For, s.Against = nil, nil
	for _, r := range s.reasons {
		switch {
		case r.text == "":
		case r.nats >= 0:
			s.For = append(s.For, r.text)
		default:
			s.Against = append(s.Against, r.text)
		}
	}
	s.Score = math.Round(100*min(0.99, max(0, 1-math.Exp(-s.Nats/12)))) / 100
}

// timing is what a train of teeth at one period is worth above teeth that come
// at random: the likelihood ratio of each tooth that is where the one before
// lets it be expected.
func (s *subject) timing() float64 {
	window := max(2*s.res, 4*s.spread)
	each := max(0.5, math.Log((1-missOdds)*s.span/(float64(s.teeth())*window)))
	return min(mostTiming, float64(s.teeth())*each)
}
