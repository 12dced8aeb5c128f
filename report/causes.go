package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// saidByHerds tells the rules about suspects that were cleared and sources that
// are missing. The herds name them, so text does not list them once more.
func saidByHerds(id string) bool { return id == "HS602" || id == "HS603" }

// A saying is one line about whose a herd is; one that is under another gives
// its reasons.
type saying struct {
	under bool
	text  string
}

// toldSuspects is how many suspects text and Markdown tell; JSON and HTML have
// all of them.
const toldSuspects = 3

// sayings are what a finding says about its suspects, in words that text and
// Markdown share.
func (f *Finding) sayings() []saying {
	var out []saying
	add := func(under bool, format string, args ...any) {
		out = append(out, saying{under, fmt.Sprintf(format, args...)})
	}
	for i := range f.Causes {
		c := &f.Causes[i]
		if i == toldSuspects {
			add(false, "Less likely: %s more.", Count(len(f.Causes)-i, "suspects"))
			break
		}
		what := "Consistent with"
		if i > 0 {
			what = "Less likely"
		}
		add(false, "%s: %s.", what, c.plainWhy())
		out = append(out, c.reasons()...)
		if c.RefutedBy != "" {
			add(c.hasReasons(), "Would refute it: %s.", c.RefutedBy)
		}
	}
	for i := range f.Cleared {
		c := &f.Cleared[i]
		add(false, "Cleared: %s.", c.clearance())
	}
	for _, m := range f.Missing {
		add(false, "To decide: %s.", strings.TrimSuffix(m, "."))
	}
	return out
}

func (c *Cause) hasReasons() bool { return len(c.For)+len(c.Against) > 0 }

// reasons are those for and against a suspect.
func (c *Cause) reasons() []saying {
	var out []saying
	for _, r := range []struct {
		head string
		list []string
	}{{"for it: ", c.unsaid(c.For)}, {"against it: ", c.unsaid(c.Against)}} {
		if len(r.list) > 0 {
			out = append(out, saying{true, r.head + strings.Join(r.list, "; ")})
		}
	}
	return out
}

// unsaid are the reasons that the sentence about the suspect does not give.
func (c *Cause) unsaid(reasons []string) []string {
	return slices.DeleteFunc(slices.Clone(reasons), func(r string) bool { return strings.Contains(c.Why, r) })
}

// plainWhy is the sentence about a suspect without its "consistent with", which
// stands before it.
func (c *Cause) plainWhy() string {
	const alone, fits = "from the log alone: ", "consistent with "
	why, logAlone := strings.CutPrefix(c.Why, alone)
	why = strings.TrimPrefix(why, fits)
	if logAlone {
		why += " (from the log alone)"
	}
	return why
}

// clearance says who is cleared, and why.
func (c *Cause) clearance() string {
	why := c.Why
	if len(c.Against) > 0 {
		why = c.Against[0]
	}
	if c.Suspect == "" || strings.HasPrefix(why, c.Suspect) {
		return why
	}
	return c.Suspect + ": " + why
}

// chainLines are the links of a chain, with the time of each beside the tooth.
func chainLines(links []Link) []string {
	times, names := 0, 0
	for _, l := range links {
		times = max(times, len([]rune(offset(l.OffsetNS))))
		names = max(names, len([]rune(l.Name)))
	}
	var out []string
	for _, l := range links {
		out = append(out, fmt.Sprintf("%*s  %-*s  %s", times, offset(l.OffsetNS), names, l.Name, l.Text))
	}
	return out
}

// offset writes how long before or after a tooth something happens.
func offset(ns int64) string {
	d := time.Duration(ns)
	sign := "+"
	switch {
	case d < 0:
		sign, d = "-", -d
	case d < 50*time.Millisecond:
		return "0 s"
	}
	return sign + Dur(d.Round(100*time.Millisecond))
}
