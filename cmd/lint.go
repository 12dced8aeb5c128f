package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/report"
)

const lintHelp = `Read the files that say when jobs start and what happens when something fails,
and report what will make a herd: jobs that start in the same minute, fleets
that start as one, retries and caches whose jitter is missing or does not work.

Files are found by name and content in the paths given: crontabs, systemd
timers, GitHub workflows, Dependabot, Kubernetes and Argo, Helm values,
Terraform, Nomad, Ansible, Jenkinsfiles, Spring and Quartz, Vercel, Cloudflare,
Netlify, App Engine, sidekiq-cron; retry policies of gRPC, Envoy, Istio,
Resilience4j, Spring, Temporal, HAProxy and more; caches of nginx and Varnish.
.gitignore is respected. "-" is standard input, with --stdin-filename.

Give the whole repository at once: a collision is across files.

A comment accepts a finding or tells about a job:
  # herdscan: ignore[HS110] reason        this line, or the next one
  # herdscan: snooze[2027-01-31] reason   until that day
  # herdscan: pin reason=billing window=01:00-05:00 duration=20m hosts=200

--diff shows the fixes, --fix writes them: only the bytes of a schedule change,
and each file is proved to fire on the same days and as often as before.

With --format sarif the exit code is 0 even when something is found, so that
the upload step that follows runs; input that is unread is still 2.`

const lintExample = `  herdscan lint .
  herdscan lint deploy/ .github/ --hosts 200
  herdscan lint --diff . | git apply
  herdscan lint . --write-baseline .herdscan-baseline.json
  herdscan lint . --baseline .herdscan-baseline.json --format sarif > herdscan.sarif
  crontab -l | herdscan lint --stdin-filename crontab --next 3`

type lintRun struct {
	lintOptions
	rules, disable          []string
	pedantic                bool
	next                    int
	baseline, writeBaseline string
}

func newLint(env Env) *cobra.Command {
	o := &lintRun{}
	c := &cobra.Command{
		Use: "lint PATH... | -", Short: "Find schedules, retry policies and caches that make herds",
		Long: lintHelp, Example: lintExample,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	addLintFlags(c, &o.lintOptions)
	f := c.Flags()
	f.StringSliceVar(&o.rules, "rule", nil, "judge by this `RULE` only (HS110 or its name); may be given several times")
	f.StringSliceVar(&o.disable, "disable", nil, "leave out this `RULE`")
	f.BoolVar(&o.pedantic, "pedantic", false, "judge also by the rules that are off by default")
	f.Float64Var(&o.Budget, "budget", 0, "`starts` in one minute that are too many (HS110, HS120); 0: the rules' own")
	f.IntVar(&o.next, "next", 0, "list the next so many `starts` of each schedule, too")
	f.StringVar(&o.baseline, "baseline", "", "accept the findings of this `FILE`; only new ones count")
	f.StringVar(&o.writeBaseline, "write-baseline", "", "accept all findings of this run and write them to `FILE`")
	o.out = addOutput(c, env, lintFormats...)
	return c
}

func (o *lintRun) run(ctx context.Context, env Env, args []string) error {
	paths, err := o.prepare(env, args)
	if err != nil {
		return err
	}
	if err := o.judging(); err != nil {
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
	notes, err := o.acceptAll(res)
	if err != nil {
		return err
	}
	if o.diff || o.fix != "" {
		changes, errs := cronlint.Mend(res, o.Options, o.fix == "unsafe")
		notes = append(notes, refusals(changes, errs)...)
		if res, err = o.mend(ctx, env, paths, res, changes, &input, &notes); err != nil {
			return err
		}
	}
	r := &report.Lint{
		Version: version, Paths: paths, Result: res, Now: o.Now, Zone: o.zone, Next: o.next,
		Base: repositoryBase(), Notes: notes,
	}
	return o.out.deliver(ctx, r.Document)
}

// judging reads the flags that say by what is judged.
func (o *lintRun) judging() (err error) {
	if o.next < 0 || o.next > maxNext {
		return fmt.Errorf("--next %d: from 0 to %d", o.next, maxNext)
	}
	if o.pedantic {
		o.OptIn = append(o.OptIn, "pedantic")
	}
	if o.Rules, err = ruleIDs("--rule", o.rules); err != nil {
		return err
	}
	if o.Disable, err = ruleIDs("--disable", o.disable); err != nil {
		return err
	}
	if o.baseline != "" {
		o.Baseline, err = readBaseline(o.baseline)
	}
	return err
}

// maxNext bounds --next: a schedule that fires every second has many starts.
const maxNext = 1000

// ruleIDs finds lint rules by their numbers or names.
func ruleIDs(flag string, names []string) (ids []string, err error) {
	for _, name := range names {
		r, ok := findRule(name)
		if !ok || !slices.ContainsFunc(cronlint.Rules(), func(c cronlint.Rule) bool { return c.ID == r.ID }) {
			return nil, fmt.Errorf("%s %s: there is no such lint rule; herdscan rules lists them", flag, name)
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// acceptAll writes the baseline, if it is asked for, and counts what is in it
// as accepted.
func (o *lintRun) acceptAll(res *cronlint.Result) (notes []string, err error) {
	if o.writeBaseline == "" {
		return nil, nil
	}
	if res.Partial {
		return nil, errors.New("--write-baseline: the run was cut short, nothing is written")
	}
	b := lint.NewBaseline(res.Problems)
	if err := writeFile(o.writeBaseline, b.Write); err != nil {
		return nil, fmt.Errorf("--write-baseline %s: %w", o.writeBaseline, err)
	}
	b.Mark(res.Problems)
	res.Gone = nil
	return []string{fmt.Sprintf("%s accepted in %s", report.Count(b.Len(), "findings"), report.Clean(o.writeBaseline))}, nil
}

// mend shows or writes the changes. After writing, what is left is judged anew.
func (o *lintOptions) mend(ctx context.Context, env Env, paths []string, res *cronlint.Result, changes []cronlint.Change,
	input *mendedInput, notes *[]string,
) (*cronlint.Result, error) {
	if o.diff {
		o.out.env.Stdout = env.Stderr
		return res, printDiff(env, o, changes)
	}
	if o.Stdin != nil {
		o.out.env.Stdout = env.Stderr
		text := input.mended(changes)
		if _, err := env.Stdout.Write(text); err != nil {
			return nil, err
		}
		o.Stdin = bytes.NewReader(text)
		return again(ctx, paths, o.Options)
	}
	said, written := writeChanges(changes)
	*notes = append(*notes, said...)
	if written == 0 {
		return res, nil
	}
	return again(ctx, paths, o.Options)
}

// again lints the mended files. A run that is interrupted still has a result.
func again(ctx context.Context, paths []string, o lint.Options) (*cronlint.Result, error) {
	res, err := cronlint.Lint(ctx, paths, o)
	if res != nil {
		err = nil
	}
	return res, err
}
