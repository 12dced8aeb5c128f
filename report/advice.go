package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/report/remedy"
)

// Langs are the languages that code snippets come in.
func Langs() []string { return remedy.Langs() }

// Advise weighs the remedies for a finding and puts them into it, the best one
// as its fix. It leaves the finding as it is when no remedy is known for the
// case. It returns what was weighed.
func (f *Finding) Advise(c remedy.Case) []remedy.Remedy {
	list := remedy.Advise(c)
	if len(list) == 0 {
		return nil
	}
	f.Remedies = nil
	for _, r := range list {
		f.Remedies = append(f.Remedies, remedyOf(r))
	}
	if best, ok := remedy.Best(c, list); ok {
		r := remedyOf(best)
		f.Fix = &Fix{Text: r.Text, Code: r.Code, Lang: r.Lang, Effect: r.Effect, Caveats: r.Caveats}
		if r.Effect != nil {
			f.Fix.Effects = []string{secondOf(f.Rule) + "  " + r.Effect.words()}
		}
	}
	return list
}

// secondOf names the second that an effect is about.
func secondOf(rule string) string {
	if rule == "HS506" {
		return "each second" // steady, with no tooth
	}
	return "busiest second"
}

// remedyOf converts a remedy for the contract.
func remedyOf(r remedy.Remedy) Remedy {
	out := Remedy{
		Name: string(r.Name), Helps: string(r.Helps), Text: Clean(r.Text), Why: Clean(r.Why),
		Lang: r.Lang, Code: r.Code,
	}
	if e := r.Effect; e != nil {
		out.Effect = &Effect{PeakBefore: math.Round(e.PeakBefore), PeakAfter: math.Ceil(e.PeakAfter - 1e-6), Unit: e.Unit}
	}
	if c := r.Curve; c != nil {
		out.Curve = &Curve{StepNS: int64(c.Step), Unit: c.Unit, Before: c.Before, After: c.After}
	}
	for _, x := range r.Conflicts {
		out.Caveats = append(out.Caveats, Clean(fmt.Sprintf("%s%s: %s; %s", conflicts, x.Setting, x.Why, x.Instead)))
	}
	for _, c := range r.Caveats {
		out.Caveats = append(out.Caveats, Clean(c))
	}
	return out
}

// conflicts begins the caveat about a setting that works against a remedy.
const conflicts = "conflicts with "

// words writes an effect: "402 → 14 queries".
func (e *Effect) words() string {
	unit := strings.TrimSuffix(e.Unit, "/s")
	return fmt.Sprintf("%s → %s", Int(int64(math.Round(e.PeakBefore))), Count(int64(math.Ceil(e.PeakAfter)), unit))
}

// otherRemedies writes a line for each remedy that the fix does not hold:
// those that help, and those that don't with the reason.
func (f *Finding) otherRemedies() []string {
	var lines []string
	for i := range f.Remedies {
		r := &f.Remedies[i]
		if f.Fix != nil && (strings.Contains(f.Fix.Text, r.Text) || slices.Contains(f.Fix.Caveats, r.Text)) {
			continue
		}
		lines = append(lines, r.line())
	}
	return lines
}

func (r *Remedy) line() string {
	name := remedy.Name(r.Name).Words()
	if r.Helps == string(remedy.No) {
		return "not " + name + ": " + r.Why
	}
	line := "or " + name
	if r.Helps == string(remedy.Partly) {
		line = "in part " + name
	}
	switch {
	case r.Effect != nil && r.Effect.PeakAfter < r.Effect.PeakBefore:
		line += ": " + r.Effect.words()
	case r.Why != "":
		line += ": " + r.Why
	}
	for _, c := range r.Caveats {
		if setting, ok := strings.CutPrefix(c, conflicts); ok {
			setting, _, _ = strings.Cut(setting, ":")
			line += "; " + conflicts + setting
		}
	}
	return line
}
