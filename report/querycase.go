package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/herdscan/herdscan/querylog"
	"github.com/herdscan/herdscan/report/remedy"
)

// QueryCase gathers what a finding of a query log tells about the remedies for
// its best cause. The kind is unknown where the log can't carry one.
func QueryCase(f *querylog.Finding, lang string) remedy.Case {
	c := remedy.Case{Lang: lang, Unit: "queries/s", Peak: float64(f.Second), Processes: f.HostsATooth, Identical: f.Identical, AtOnce: float64(f.AtOnce)}
	if len(f.Causes) == 0 || f.Artefact {
		return c
	}
	c.Kind = remedy.Kind(f.Causes[0].Kind)
	if len(f.Members) > 0 {
		main := &f.Members[0]
		c.Names = append(slices.Clone(main.Tables), fewColumns(main.Shape)...)
		c.Write = writes(main.Verb)
		c.Rebuild, c.Slowest = main.Median, main.Longest
	}
	if f.Comb != nil {
		combCase(&c, f)
	}
	switch c.Kind {
	case remedy.HotKey:
		c.Copies = float64(f.Second)
	case remedy.ColdStart:
		c.Total, c.Keys = float64(f.Count), math.Min(float64(f.Texts), float64(f.Count))
		if len(f.Teeth) > 0 {
			c.Width = f.Teeth[0].Width
		}
	case remedy.RetryStorm:
		if f.Rule == "HS504" {
			c.Kind = "" // once: there is no pause between waves to go by
			break
		}
		c.Spacing, c.Growth = f.Spacing, f.Growth
		for _, t := range f.Teeth {
			c.Clients = math.Max(c.Clients, float64(t.Count))
		}
	case remedy.MissingKey:
		c.MissRate, c.Missing = f.Rate, float64(f.Texts)
	case remedy.CronPileUp:
		if f.Fix.Effect == nil || f.Identical >= 0.5 {
			c.Kind = "" // one job, one that keeps its time to itself, or one statement sent many times
			break
		}
		c.Largest = f.Fix.Effect.PeakAfter
		for _, m := range f.Members {
			if !m.Follower {
				c.Jobs++
			}
		}
	}
	return c
}

// combCase adds what a comb tells.
func combCase(c *remedy.Case, f *querylog.Finding) {
	b := f.Comb
	c.Total, c.Baseline, c.Width, c.Period = b.Height, b.Baseline, b.Width, b.Period
	if c.Kind != remedy.TTLHerd {
		return
	}
	c.Peak, c.TTL, c.Keys = float64(b.Peak), cmp.Or(f.TTL, b.Period), b.Height
	if f.Texts > 0 {
		c.Keys = math.Min(c.Keys, float64(f.Texts))
	}
}

// fewColumns returns the columns of a query that asks for one or two: what it
// asks for is then what they name. Among many, one name says little.
func fewColumns(shape string) []string {
	_, list, isSelect := strings.Cut(strings.ToLower(shape), "select ")
	list, _, from := strings.Cut(list, " from ")
	if columns := strings.Split(list, ","); isSelect && from && len(columns) <= 2 {
		return columns
	}
	return nil
}

// writes tells whether statements of a verb change data.
func writes(verb string) bool {
	switch strings.ToUpper(verb) {
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		return true
	default:
		return false
	}
}
