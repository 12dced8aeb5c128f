package lint

import (
	"io"
	"slices"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

// A Format finds entries and settings in files of one kind.
//
// Several formats may match one file (a Kubernetes manifest may hold a CronJob
// and a VirtualService); each gets it. A format that is asked about a file
// which only looks like its own returns an empty Parsed and no error.
type Format interface {
	// Name is short and stable: "crontab", "nginx".
	Name() string
	// Match says whether a file is of this format, by its path (slashes,
	// relative) AND by its content. head is the file's beginning, at least
	// 64 KiB or all of it. It must be quick and must not claim on the name alone
	// where the name is also used for other things.
	Match(path string, head []byte) bool
	// Parse reads the file. Faults inside the file are Problems or Errors of
	// Parsed; the error is for a file that can't be used at all.
	Parse(src *File, o *Options) (*Parsed, error)
}

// An Optional format is asked only when its switch of Options.OptIn is on.
type Optional interface {
	Format
	OptIn() string
}

// Parsed is what a format found in one file.
type Parsed struct {
	Entries  []*Entry
	Settings []*Setting
	Problems []Problem // what only the parser can see: HS0xx, HS140, HS901
	Errors   []*Error  // parts that could not be understood, with their line
	Parts    []Part    // what makes an entry only together with other files
}

// A Part is what one file says of schedules that are spread over several: the
// format's package puts them together once all files are read.
type Part struct {
	File  *File
	Value any
}

// An Open is a place whose schedule is not known, for what it names is nowhere
// in the files read.
type Open struct {
	File *File
	Span Span
	Why  string
}

// A Check is a rule that can be executed, with an example that proves it.
type Check struct {
	Rule *rule.Rule
	// OptIn names the switch the check needs ("pedantic", "code"); empty: always on.
	OptIn string
	// CrossFile is true of a rule that compares files: seeing only some of
	// them, it may find less.
	CrossFile bool
	// Run looks at everything that was found, across all files, and reports.
	// It is nil for a rule that a parser reports.
	Run func(*Pass)
	// ExampleFile is the file name under which Rule.Before and Rule.After are
	// linted by the tests: Before must be found, After must not. An example
	// that begins with "-- name --" holds several files instead.
	ExampleFile string
	// ExampleOptions are the options the example needs, for instance Hosts.
	ExampleOptions Options
}

// A Pass is what one run of a check sees.
type Pass struct {
	Options  *Options
	Entries  []*Entry   // by path, then by position
	Settings []*Setting // by path, then by position
	Report   func(Problem)
}

// Options say what to lint and how. The zero value is the default.
type Options struct {
	// What is read.
	Stdin       io.Reader // read for the path "-"
	StdinName   string    // the name that decides its format
	Include     []string  // doublestar globs; a file must match one when there are any
	Exclude     []string  // doublestar globs of files and folders to leave out
	NoGitignore bool      // read what .gitignore excludes, too
	MaxSize     int64     // bytes; larger files are skipped with a note; 0: 8 MiB
	NamedCode   bool      // read literals in source files that are named one by one, without the switch "code"

	// How it is judged.
	Dialect        string            // of crontabs: "cronie", "debian", "vixie", "supercronic", ...; "": by what is seen
	Hosts          int               // machines each host-bound file is installed on; 0: not known
	Groups         map[string]string // glob of paths -> resource group shared by their jobs
	SystemdVersion int               // of the target; 0: not known
	JenkinsJob     string            // full name of the job, to resolve H
	Seed           string            // chooses among equally good minutes
	OptIn          []string          // switches: "pedantic", "code"
	Rules          []string          // only these IDs; empty: all
	Disable        []string          // not these IDs
	Budget         float64           // starts per minute that are too many; 0: the rules' own
	Now            time.Time         // for snooze and "next"; zero: the clock
	Baseline       *Baseline         // accepted problems; nil: none
}

// Enabled says whether a check is to be run.
func (o *Options) Enabled(c *Check) bool {
	id := c.Rule.ID
	if slices.Contains(o.Disable, id) {
		return false
	}
	if len(o.Rules) > 0 {
		return slices.Contains(o.Rules, id)
	}
	return c.OptIn == "" || slices.Contains(o.OptIn, c.OptIn) || c.OptIn == "code" && o.NamedCode
}

// Has says whether a switch of OptIn is on.
func (o *Options) Has(name string) bool { return slices.Contains(o.OptIn, name) }

// Time returns Now, or the clock's time where none is set.
func (o *Options) Time() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}
