package cmd

import (
	"github.com/spf13/cobra"
)

const rootHelp = `herdscan finds herds: cache keys, queries, jobs and clients that look
independent but act together, because somebody gave them all the same constant.

Thousands of keys written with one TTL after a deploy die together an hour
later; the death of one hot key sends 400 copies of one query to the database;
five nightly jobs all start at 00:00. herdscan reads what you already have,
says which cause fits and which does not, and prints the fix with its effect.

Exit codes: 0 nothing found at or above --fail-on; 1 found; 2 usage error or
input that could not be read (what was read is still reported); 130 interrupted.`

// newRoot builds the command tree for one run.
func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "herdscan",
		Short:         "Find herds: cache stampedes, synchronised expiry, cron pile-ups, retry storms",
		Long:          rootHelp,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("herdscan {{.Version}}\n")
	root.PersistentFlags().String("config", "", "settings `file` (default .herdscan.yaml in this directory, if there is one)")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return applySettings(c, env) }
	root.AddCommand(
		newTTL(env),
		newQueryLog(env),
		newReport(env),
		newEvents(env),
		newLint(env),
		newPlan(env),
		newSimulate(env),
		newSpread(env),
		newWatch(env),
		newExplain(env),
		newRules(env),
		newDemo(env),
	)
	return root
}
