package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/report"
)

const planHelp = `Put all schedules of the paths on one clock and show the load they make: how
many jobs start in each minute of the day, the worst minutes of the year with
their date and members, and a better minute for each job that can move.

Jobs that share a machine, a cluster or a CI system are planned together;
--group says which files share something else, a database for example.

By default only jobs move that stand where everybody's jobs stand (minute 0) or
start together with others; --replan places all anew. A job keeps its hours and
days. The choice is the same everywhere: it starts from a hash of the job's name,
and the longest job chooses first. Comments in the files hold jobs back:
"# herdscan: pin", "window=01:00-05:00", "after=backup".

--diff shows the moves, --fix writes them (--fix=unsafe: also those where a word
in the command or a comment says that the time may have a meaning).`

const planExample = `  herdscan plan .
  herdscan plan deploy/ --hosts 200 --duration 10m
  herdscan plan . --group 'reports/**=postgres' --replan --diff`

type planRun struct {
	lintOptions
	replan bool
	worst  int
}

func newPlan(env Env) *cobra.Command {
	o := &planRun{}
	c := &cobra.Command{
		Use: "plan PATH... | -", Short: "Show the load of all schedules on one clock, and where each job should go",
		Long: planHelp, Example: planExample,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	addLintFlags(c, &o.lintOptions)
	f := c.Flags()
	f.DurationVar(&o.duration, "duration", 0, "how long a run takes where no comment says so, a `time` like 10m")
	f.BoolVar(&o.replan, "replan", false, "place every job anew, not only those in the way")
	f.IntVar(&o.worst, "worst", 5, "list so many of the worst `minutes` of each group")
	o.out = addOutput(c, env)
	return c
}

func (o *planRun) run(ctx context.Context, env Env, args []string) error {
	if o.duration < 0 || o.duration > 24*time.Hour || o.worst < 0 {
		return errors.New("--duration is from 0 to 24h, and --worst is not negative")
	}
	paths, err := o.prepare(env, args)
	if err != nil {
		return err
	}
	var input mendedInput
	if o.Stdin != nil {
		o.Stdin = input.tee(o.Stdin)
	}
	res, err := cronlint.Lint(ctx, paths, o.Options)
	if res == nil {
		return err
	}
	assumeDuration(res.Entries, o.duration)
	plan := cronlint.MakePlan(res, o.Options, o.replan)
	loads := cronlint.Loads(res, o.Options, plan, o.worst)
	var notes []string
	if o.diff || o.fix != "" {
		changes, errs := cronlint.MendPlan(res, o.Options, plan, o.fix == "unsafe")
		notes = refusals(changes, errs)
		if _, err := o.mend(ctx, env, paths, res, changes, &input, &notes); err != nil {
			return err
		}
	}
	r := &report.Plan{
		Version: version, Paths: paths, Result: res, Loads: loads, Hosts: o.Hosts, Year: o.Now.Year(),
		Notes: notes, Base: repositoryBase(),
	}
	return o.out.deliver(ctx, r.Document)
}
