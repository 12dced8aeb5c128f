package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/herdscan/herdscan/cronlint"
	"github.com/herdscan/herdscan/cronlint/lint"
	"github.com/herdscan/herdscan/cronlint/schedule"
)

// lintOptions are the flags that lint and plan share.
type lintOptions struct {
	lint.Options
	stdin    bool
	groups   []string
	code     bool
	maxSize  int64
	now, tz  string
	fix      string
	diff     bool
	zone     *time.Location
	duration time.Duration
	out      *output
}

// addLintFlags adds the flags that say what is read and how it is understood.
func addLintFlags(c *cobra.Command, o *lintOptions) {
	f := c.Flags()
	f.BoolVar(&o.stdin, "stdin", false, "read one file from standard input, as the path - does")
	f.StringVar(&o.StdinName, "stdin-filename", "", "the `name` that tells the format of standard input")
	f.StringSliceVar(&o.Include, "include", nil, "read only files that match this `glob` (**/*.yaml); may be given several times")
	f.StringSliceVar(&o.Exclude, "exclude", nil, "leave out files and folders that match this `glob`")
	f.BoolVar(&o.NoGitignore, "no-gitignore", false, "read what .gitignore excludes, too")
	f.Int64Var(&o.maxSize, "max-size", 8, "skip files larger than so many `MiB`")
	f.BoolVar(&o.code, "code", false, "look for literals in source code, too (Celery, Laravel, whenever, @Scheduled, retry libraries)")
	f.StringVar(&o.Dialect, "dialect", "", "`name` of the cron that reads the crontabs: "+strings.Join(crontabDialects, ", ")+" (default: by what is seen)")
	f.IntVar(&o.Hosts, "hosts", 0, "`number` of machines that each crontab and timer is installed on; 0: not known")
	f.StringArrayVar(&o.groups, "group", nil, "`GLOB=NAME`: the jobs of these files share the resource NAME; may be given several times")
	f.IntVar(&o.SystemdVersion, "systemd-version", 0, "`version` of systemd on the machines; 0: not known")
	f.StringVar(&o.JenkinsJob, "jenkins-job", "", "full `name` of the Jenkins job, to know the minute that H gets")
	f.StringVar(&o.Seed, "seed", "", "any `text`: chooses other ones among equally good minutes")
	f.StringVar(&o.now, "now", "", "judge as of this `time` instead of now")
	f.StringVar(&o.tz, "tz", "Local", "time `zone` of --now, and of schedules that name none")
	f.StringVar(&o.fix, "fix", "", "write the fixes: `safe` ones, or with --fix=unsafe also those that may change what was meant")
	f.Lookup("fix").NoOptDefVal = "safe"
	f.BoolVar(&o.diff, "diff", false, "print the fixes as a diff and write nothing")
	_ = c.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(crontabDialects, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("fix", cobra.FixedCompletions([]string{"safe", "unsafe"}, cobra.ShellCompDirectiveNoFileComp))
}

var crontabDialects = []string{"debian", "vixie", "cronie", "busybox", "supercronic"}

// prepare checks the flags and returns the paths to read.
func (o *lintOptions) prepare(env Env, args []string) ([]string, error) {
	if err := o.out.check(); err != nil {
		return nil, err
	}
	if len(args) == 0 && (o.stdin || o.StdinName != "") {
		args = []string{"-"}
	} else if o.stdin && !slices.Contains(args, "-") {
		args = append(args, "-")
	}
	if slices.Contains(args, "-") {
		o.Stdin = env.Stdin
	}
	if o.fix != "" && o.fix != "safe" && o.fix != "unsafe" {
		return nil, fmt.Errorf("--fix=%s: there are safe and unsafe", o.fix)
	}
	if (o.fix != "" || o.diff) && slices.Contains(args, "-") && len(args) > 1 {
		return nil, errors.New("--fix and --diff take standard input alone, without other paths")
	}
	if o.Dialect != "" {
		if _, ok := schedule.ParseDialect(o.Dialect); !ok || !slices.Contains(crontabDialects, o.Dialect) {
			return nil, fmt.Errorf("--dialect %s: there are %s", o.Dialect, strings.Join(crontabDialects, ", "))
		}
	}
	if o.Hosts < 0 || o.SystemdVersion < 0 || o.maxSize < 1 {
		return nil, errors.New("--hosts and --systemd-version can't be negative, --max-size must be at least 1")
	}
	o.MaxSize = o.maxSize << 20
	if o.code {
		o.OptIn = append(o.OptIn, "code")
	}
	if err := o.parseGroups(); err != nil {
		return nil, err
	}
	return args, o.parseClock(env)
}

func (o *lintOptions) parseGroups() error {
	o.Groups = map[string]string{}
	for _, g := range o.groups {
		i := strings.LastIndexByte(g, '=')
		if i < 1 || i == len(g)-1 {
			return fmt.Errorf("--group %s: write GLOB=NAME, for example --group 'db/**=postgres'", g)
		}
		o.Groups[g[:i]] = g[i+1:]
	}
	return nil
}

func (o *lintOptions) parseClock(env Env) (err error) {
	if o.zone, err = time.LoadLocation(o.tz); err != nil {
		return fmt.Errorf("--tz %s: no such time zone", o.tz)
	}
	if o.Now, _, err = window(o.now, "", o.zone); err != nil {
		return fmt.Errorf("--now %s: not a time (RFC 3339, 2026-11-03 10:00, or Unix seconds)", o.now)
	}
	if o.Now.IsZero() {
		o.Now = env.Now()
	}
	return nil
}

// repositoryBase is the path from the root of the repository that holds the
// working folder to that folder; "" at the root and outside of repositories.
func repositoryBase() string {
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	for at := wd; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			rel, err := filepath.Rel(at, wd)
			if err != nil || rel == "." {
				return ""
			}
			return filepath.ToSlash(rel)
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// readBaseline reads the accepted findings; a file that is not there is an
// error, since its absence would let everything fail, or pass, unnoticed.
func readBaseline(path string) (*lint.Baseline, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--baseline %s: no such file; make it with --write-baseline %s", path, path)
	}
	if err != nil {
		return nil, fmt.Errorf("--baseline %s: %s", path, plainError(err))
	}
	defer f.Close()
	b, err := lint.ReadBaseline(f)
	if err != nil {
		return nil, fmt.Errorf("--baseline %s: %w", path, err)
	}
	return b, nil
}

// assumeDuration gives each job that says nothing else the usual duration.
func assumeDuration(entries []*cronlint.Entry, d time.Duration) {
	for _, e := range entries {
		if e.Notes.Duration == 0 {
			e.Notes.Duration = d
		}
	}
}
