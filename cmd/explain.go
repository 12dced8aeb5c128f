package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/comb/rule"
	"github.com/herdscan/herdscan/report"
)

func newExplain(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "explain RULE", Short: "Explain a rule: why it hurts, how it is decided, before and after",
		Example: "  herdscan explain HS401\n  herdscan explain expiry-herd",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range report.Catalogue() {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, ok := findRule(args[0])
			if !ok {
				return fmt.Errorf("explain %s: there is no such rule; herdscan rules lists them", args[0])
			}
			return report.Explain(env.Stdout, r, env.style(env.Stdout, "auto"))
		},
	}
}

// findRule finds a rule by its number ("HS401", "hs401", "401") or its name.
func findRule(name string) (rule.Rule, bool) {
	name = strings.TrimPrefix(strings.ToLower(name), "hs")
	for _, r := range report.Catalogue() {
		if strings.EqualFold(strings.TrimPrefix(r.ID, "HS"), name) || r.Name == name {
			return r, true
		}
	}
	return rule.Rule{}, false
}

func newRules(env Env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "rules", Short: "List the rules",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			switch format {
			case "text":
				return report.RuleList(env.Stdout, report.Catalogue(), env.style(env.Stdout, "auto"))
			case "json":
				return ruleJSON(env.Stdout)
			default:
				return fmt.Errorf("--format %s: there are text and json", format)
			}
		},
	}
	c.Flags().StringVar(&format, "format", "text", "what to print: `text` or json")
	return c
}

func ruleJSON(w io.Writer) error {
	type entry struct {
		ID       string   `json:"id"`
		Name     string   `json:"name"`
		Severity string   `json:"severity"`
		Title    string   `json:"title"`
		Why      string   `json:"why"`
		Decided  string   `json:"decided"`
		Before   string   `json:"before"`
		After    string   `json:"after"`
		See      []string `json:"see"`
	}
	list := []entry{}
	for _, r := range report.Catalogue() {
		list = append(list, entry{r.ID, r.Name, r.Severity.String(), r.Title, r.Why, r.Decided, r.Before, r.After, r.See})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}
