package schedule

// A Dialect is the language of one scheduler. The zero value is Vixie.
type Dialect uint8

// The dialects. What each accepts is in the table below.
const (
	Vixie        Dialect = iota // Debian's cron, vixie-cron: user and system crontabs
	Cronie                      // cronie: Red Hat, Fedora, Arch
	Busybox                     // busybox crond: Alpine
	Supercronic                 // supercronic: 5 to 7 fields
	Robfig                      // robfig/cron: Kubernetes, Argo, Temporal
	Cronexpr                    // hashicorp/cronexpr: Nomad
	Systemd                     // systemd OnCalendar=
	Quartz                      // Quartz: 6 or 7 fields, seconds first
	Spring                      // Spring @Scheduled: 6 fields, seconds first
	EventBridge                 // AWS cron(), rate() and at()
	GitHub                      // GitHub Actions schedule
	Jenkins                     // Jenkins, with H
	PHP                         // dragonmantank/cron-expression: Laravel
	Fugit                       // fugit: sidekiq-cron, GitLab, Dependabot
	Celery                      // celery.schedules.crontab, as five fields
	AppEngine                   // App Engine text, or five fields
	Google                      // Google Cloud Scheduler: five fields or App Engine text
	Croner                      // croner: Node.js
	Cloudflare                  // Cloudflare Workers cron triggers
	Vercel                      // Vercel cron jobs
	Netlify                     // Netlify scheduled functions
	dialectCount = iota
)

// String returns the dialect's name as users write it: "vixie", "systemd".
func (d Dialect) String() string {
	if int(d) >= len(grammars) {
		return "unknown"
	}
	return grammars[d].name
}

// ParseDialect finds a dialect by its name. "debian" is Vixie, "kubernetes",
// "argo" and "temporal" are Robfig, "nomad" is Cronexpr, "laravel" is PHP.
func ParseDialect(name string) (Dialect, bool) {
	if d, ok := dialectAliases[name]; ok {
		return d, true
	}
	for d := range grammars {
		if grammars[d].name == name {
			return Dialect(d), true
		}
	}
	return 0, false
}

var dialectAliases = map[string]Dialect{
	"debian": Vixie, "kubernetes": Robfig, "argo": Robfig, "temporal": Robfig,
	"nomad": Cronexpr, "laravel": PHP, "gitlab": Fugit, "aws": EventBridge,
}

// A Clock says what a scheduler does when the wall clock is set forward (times
// in the gap don't exist) or back (times in the fold exist twice).
type Clock uint8

// The ways to treat gap and fold.
const (
	// Wall fires at each instant whose wall clock matches: never in the gap,
	// twice in the fold.
	Wall Clock = iota
	// First never fires in the gap and fires at the first of two.
	First
	// Second never fires in the gap and fires at the second of two.
	Second
	// CatchUp is Wall for schedules whose minute or hour begins with a star.
	// Others run right after a gap of less than three hours and at the first
	// of two (Debian cron and cronie, cron.c).
	CatchUp
	// Forward fires later by the length of the gap, and twice in the fold.
	Forward
	// GapEnd fires at the end of the gap, and at the first of two.
	GapEnd
)

// starRule says how day-of-month and day-of-week combine.
type starRule uint8

const (
	starFirst starRule = iota // a field that begins with * or ? is free: both must match if one is free, else any
	starWhole                 // only a plain * (or ?, or */1) is free
	starAnd                   // both must always match
	starOne                   // one of them must be ?
	starLone                  // one of them must be *
	starFull                  // a field that holds every value is free (busybox)
)

type reversedRule uint8

const (
	reversedRejected reversedRule = iota
	reversedEmpty                 // 5-1 holds nothing
	reversedWraps                 // 22-2 is 22,23,0,1,2
)

type stepRule uint8

const (
	stepAny    stepRule = iota // */90 is accepted: only the first value
	stepBelow                  // n may not exceed the greatest value
	stepModulo                 // */90 picks the value 90 modulo the number of values (PHP)
)

// grammar is what sets one cron dialect apart.
type grammar struct {
	name      string
	layouts   [][]Unit // by number of fields
	sunday    int      // the number of Sunday: 0 or 1
	seven     bool     // 7 is Sunday too
	star      starRule
	openStep  bool // 5/15 means 5-max/15; else it is an error
	oneStep   bool // 5/15 means 5 alone (busybox)
	domZero   bool // */2 counts days of the month from 0: 2, 4, 6 (busybox)
	step      stepRule
	reversed  reversedRule
	question  bool // ? stands for *
	special   bool // L, W and #
	hash      bool // H
	tilde     bool // a~b: a random value drawn when the table is loaded
	longNames bool // monday, january
	noNames   bool
	sundayEnd bool // a range that ends in the name sun ends at 7: fri-sun
	bareStar  bool // */1 is not a plain star
	saturday  bool // a day-of-week range that ends on Sunday ends on Saturday (cronexpr)
	nicknames map[string]string
	reboot    bool // @reboot
	every     bool // @every 90m
	zone      bool // TZ=Zone or CRON_TZ=Zone before the fields
	zoneAfter bool // Zone after the fields
	clock     Clock
}

// A Unit is what a field of a schedule counts.
type Unit uint8

// The units, finest first.
const (
	UnitSecond Unit = iota
	UnitMinute
	UnitHour
	UnitDom
	UnitMonth
	UnitDow
	UnitYear
)

// String returns the unit's name: "minute", "day-of-month".
func (u Unit) String() string {
	return [...]string{"second", "minute", "hour", "day-of-month", "month", "day-of-week", "year"}[u]
}

var (
	fiveFields  = []Unit{UnitMinute, UnitHour, UnitDom, UnitMonth, UnitDow}
	sixSeconds  = []Unit{UnitSecond, UnitMinute, UnitHour, UnitDom, UnitMonth, UnitDow}
	sixYear     = []Unit{UnitMinute, UnitHour, UnitDom, UnitMonth, UnitDow, UnitYear}
	sevenFields = []Unit{UnitSecond, UnitMinute, UnitHour, UnitDom, UnitMonth, UnitDow, UnitYear}

	five = [][]Unit{fiveFields}
)

var vixieNicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var cronexprNicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@hourly": "0 * * * *",
}

var springNicknames = map[string]string{
	"@yearly": "0 0 0 1 1 *", "@annually": "0 0 0 1 1 *", "@monthly": "0 0 0 1 * *", "@weekly": "0 0 0 * * 0",
	"@daily": "0 0 0 * * *", "@midnight": "0 0 0 * * *", "@hourly": "0 0 * * * *",
}

var jenkinsNicknames = map[string]string{
	"@yearly": "H H H H *", "@annually": "H H H H *", "@monthly": "H H H * *", "@weekly": "H H * * H",
	"@daily": "H H * * *", "@midnight": "H H(0-2) * * *", "@hourly": "H * * * *",
}

// grammars is indexed by Dialect. Systemd has a parser of its own, and so have
// the texts of AppEngine and EventBridge; their rows describe the cron part.
var grammars = [dialectCount]grammar{
	Vixie: {
		name: "vixie", layouts: five, seven: true, star: starFirst, reversed: reversedEmpty,
		nicknames: vixieNicknames, reboot: true, clock: CatchUp,
	},
	Cronie: {
		name: "cronie", layouts: five, seven: true, star: starFirst, reversed: reversedEmpty, tilde: true,
		sundayEnd: true, nicknames: vixieNicknames, reboot: true, clock: CatchUp,
	},
	Busybox: {
		name: "busybox", layouts: five, seven: true, star: starFull, oneStep: true, domZero: true,
		reversed: reversedWraps, nicknames: vixieNicknames, reboot: true, clock: Wall,
	},
	Supercronic: {
		name: "supercronic", layouts: [][]Unit{fiveFields, sixYear, sevenFields}, seven: true, star: starWhole,
		openStep: true, step: stepBelow, reversed: reversedEmpty, question: true, special: true, longNames: true,
		bareStar: true, saturday: true,
		nicknames: cronexprNicknames, clock: Wall,
	},
	Robfig: {
		name: "robfig", layouts: five, star: starWhole, openStep: true, reversed: reversedRejected, question: true,
		nicknames: vixieNicknames, every: true, zone: true, clock: Wall,
	},
	Cronexpr: {
		name: "cronexpr", layouts: [][]Unit{fiveFields, sixYear, sevenFields}, seven: true, star: starWhole,
		openStep: true, step: stepBelow, reversed: reversedEmpty, question: true, special: true, longNames: true,
		bareStar: true, saturday: true,
		nicknames: cronexprNicknames, clock: Wall,
	},
	Systemd: {name: "systemd", clock: First},
	Quartz: {
		name: "quartz", layouts: [][]Unit{sixSeconds, sevenFields}, sunday: 1, star: starOne, openStep: true,
		step: stepBelow, reversed: reversedWraps, question: true, special: true, clock: Second,
	},
	Spring: {
		name: "spring", layouts: [][]Unit{sixSeconds}, seven: true, star: starAnd, openStep: true,
		question: true, special: true, nicknames: springNicknames, clock: Wall,
	},
	EventBridge: {
		name: "eventbridge", layouts: [][]Unit{sixYear}, sunday: 1, star: starOne, openStep: true,
		reversed: reversedRejected, question: true, special: true, clock: First,
	},
	GitHub: {
		name: "github", layouts: five, star: starWhole, openStep: true, clock: Wall,
	},
	Jenkins: {
		name: "jenkins", layouts: five, seven: true, star: starAnd, hash: true,
		nicknames: jenkinsNicknames, zone: true, clock: Wall,
	},
	PHP: {
		name: "php", layouts: five, seven: true, star: starWhole, openStep: true, step: stepModulo, question: true,
		special: true, nicknames: vixieNicknames, clock: Forward,
	},
	Fugit: {
		name: "fugit", layouts: [][]Unit{fiveFields, sixSeconds}, seven: true, star: starWhole, openStep: true,
		special: true, longNames: true, nicknames: vixieNicknames, zoneAfter: true, clock: Wall,
	},
	Celery: {
		name: "celery", layouts: five, seven: true, star: starAnd, reversed: reversedWraps, longNames: true, clock: Wall,
	},
	AppEngine: {name: "appengine", layouts: five, seven: true, star: starWhole, openStep: true, longNames: true, clock: Wall},
	Google:    {name: "google", layouts: five, seven: true, star: starWhole, openStep: true, longNames: true, clock: Wall},
	Croner: {
		name: "croner", layouts: [][]Unit{fiveFields, sixSeconds, sevenFields}, seven: true, star: starWhole,
		openStep: true, step: stepBelow, question: true, special: true, nicknames: vixieNicknames, clock: GapEnd,
	},
	Cloudflare: {
		name: "cloudflare", layouts: five, sunday: 1, star: starWhole, openStep: true, special: true, clock: Wall,
	},
	Vercel:  {name: "vercel", layouts: five, star: starLone, openStep: true, noNames: true, clock: Wall},
	Netlify: {name: "netlify", layouts: five, seven: true, star: starWhole, openStep: true, nicknames: vixieNicknames, clock: Wall},
}
