package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/herdscan/herdscan/report"
	"github.com/herdscan/herdscan/watch"
)

// What a screen is made of. The frame is drawn over the one before and each
// line is cleared to its end, so that nothing flickers.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	cursorHome  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"

	redrawEvery = time.Second
)

// A watchScreen redraws one screen on a terminal, and gives the terminal back
// at the end.
type watchScreen struct {
	env    Env
	file   *os.File
	frame  watchFrame
	w      *watch.Watcher
	redraw chan struct{}

	mu    sync.Mutex
	extra []watch.Event // that the watcher itself does not know
}

func newWatchScreen(env Env, o *watchOptions, l *watchLines) *watchScreen {
	style := env.style(env.Stdout, o.out.colour)
	return &watchScreen{
		env: env, file: env.Stdout.(*os.File), w: l.w, redraw: make(chan struct{}, 1),
		frame: watchFrame{target: l.w.Target(), began: env.Now(), clock: style.Clock, colour: style.Color},
	}
}

func (s *watchScreen) tell(events []watch.Event) {
	for _, e := range events {
		if e.Subject == "alert" {
			s.mu.Lock()
			s.extra = append(s.extra, e)
			s.mu.Unlock()
		}
	}
	select {
	case s.redraw <- struct{}{}:
	default:
	}
}

func (s *watchScreen) run(ctx context.Context) {
	resized := make(chan os.Signal, 1)
	notifyResize(resized)
	defer signal.Stop(resized)
	_, _ = io.WriteString(s.file, enterScreen)
	defer func() { _, _ = io.WriteString(s.file, leaveScreen) }()
	for {
		s.draw()
		select {
		case <-ctx.Done():
			return
		case <-s.redraw:
		case <-resized:
		case <-time.After(redrawEvery):
		}
	}
}

func (s *watchScreen) draw() {
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	state := s.w.State()
	s.mu.Lock()
	state.Told = append(state.Told, s.extra...)
	s.mu.Unlock()
	_, _ = io.WriteString(s.file, paint(s.frame.lines(&state, s.env.Now(), width, height), height))
}

// paint puts the lines over the screen in one write.
func paint(lines []string, height int) string {
	var b strings.Builder
	b.WriteString(cursorHome)
	lines = lines[:min(len(lines), height)]
	for i, line := range lines {
		b.WriteString(line)
		b.WriteString(clearLine)
		if i < len(lines)-1 {
			b.WriteString("\r\n")
		}
	}
	b.WriteString(clearBelow)
	return b.String()
}

// A watchFrame makes the lines of one screen.
type watchFrame struct {
	target string
	began  time.Time
	clock  report.Clock
	colour bool
}

// lines are those of one screen of the given size, each no wider than it.
func (f *watchFrame) lines(s *watch.State, now time.Time, width, height int) []string {
	head := fmt.Sprintf("herdscan watch  %s   %s   for %s", report.Clean(f.target), f.clock.Time(now), watch.Span(now.Sub(f.began)))
	if !s.ReadAt.IsZero() {
		head += fmt.Sprintf("   keys read %s ago", watch.Span(now.Sub(s.ReadAt)))
	}
	out := []string{f.style(bold, f.cut(head, width)), f.cut(rateLine(s, now), width), f.cut(missLine(s, now, width), width)}
	section := func(title, colour string, lines []string, most int) {
		if len(lines) == 0 {
			return
		}
		out = append(out, "", f.style(bold, title))
		for i, l := range lines {
			if i == most {
				out = append(out, fmt.Sprintf("  and %d more", len(lines)-most))
				break
			}
			out = append(out, f.style(colour, f.cut("  "+l, width)))
		}
	}
	room := max(3, (height-12)/3)
	due := forecastLines(s, now, 1000)
	if len(due) == 0 {
		due = []string{"no herd is due, as far as is seen"}
	}
	section("due", yellow, due, room)
	section("going on", red, goingLines(s), room)
	section("hot keys (had a stampede)", "", hotLines(s, now), 5)
	section("most read of the sampled keys (LFU counter)", "", hottestLines(s), 5)
	section("copies of one statement running", "", runningLines(s), 5)
	section("not seen", "", f.limitLines(s), 6)
	if left := height - len(out) - 2; left > 0 {
		section("events", "", f.toldLines(s, left), left)
	}
	return out[:min(len(out), height)]
}

// missLine draws the misses of the last minutes, each column its largest.
func missLine(s *watch.State, now time.Time, width int) string {
	const levels = "▁▂▃▄▅▆▇█"
	cells := min(max(width-40, 10), 120)
	const step = 2 * time.Second
	columns := make([]float64, cells)
	most := 0.0
	for _, r := range s.History {
		i := cells - 1 - int(now.Sub(r.At)/step)
		if r.Known && i >= 0 && i < cells {
			columns[i] = max(columns[i], r.Misses)
			most = max(most, r.Misses)
		}
	}
	if most == 0 {
		return "misses  none in the last " + watch.Span(time.Duration(cells)*step)
	}
	runes := []rune(levels)
	bar := make([]rune, cells)
	for i, x := range columns {
		bar[i] = runes[min(int(x/most*float64(len(runes)-1)+0.5), len(runes)-1)]
	}
	return fmt.Sprintf("misses  %s  %s, most %s/s", string(bar), watch.Span(time.Duration(cells)*step), report.Float(most))
}

func goingLines(s *watch.State) []string {
	var lines []string
	for _, h := range s.Herds {
		if h.Stage == watch.Begins {
			lines = append(lines, fmt.Sprintf("%s  %s: %s [%s]", h.Severity, report.Clean(h.Subject), report.Clean(h.Text), h.Rule))
		}
	}
	if s.InFlight > 0 {
		lines = append(lines, fmt.Sprintf("%d rebuilds in flight", s.InFlight))
	}
	return lines
}

func hotLines(s *watch.State, now time.Time) []string {
	var lines []string
	for _, k := range s.Hot {
		line := fmt.Sprintf("%s  %s, missed %s times in the last", report.Clean(k.Key), report.Count(k.Teeth, "stampedes"), report.Int(k.Misses))
		if in := k.Expire.Sub(now); in > 0 {
			line += ", dies in " + watch.Span(in)
		}
		lines = append(lines, line)
	}
	return lines
}

func hottestLines(s *watch.State) []string {
	var lines []string
	for _, d := range s.Hottest {
		lines = append(lines, fmt.Sprintf("%3d  %s", d.Freq, report.Clean(string(d.Name))))
	}
	return lines
}

func runningLines(s *watch.State) []string {
	var lines []string
	for _, r := range s.Running {
		lines = append(lines, fmt.Sprintf("%d × from %s  %s", r.Copies, report.Count(r.Hosts, "hosts"), report.Clean(r.Shape)))
	}
	return lines
}

func (f *watchFrame) limitLines(s *watch.State) []string {
	var lines []string
	for _, l := range s.Limits {
		lines = append(lines, report.Clean(l))
	}
	return lines
}

// toldLines are the last events, the newest first.
func (f *watchFrame) toldLines(s *watch.State, most int) []string {
	var lines []string
	for i := len(s.Told) - 1; i >= 0 && len(lines) < most; i-- {
		e := s.Told[i]
		at := e.At.UTC().Format("15:04:05Z")
		if f.clock.Zone != nil {
			at = e.At.In(f.clock.Zone).Format("15:04:05")
		}
		lines = append(lines, at+"  "+eventLine(e))
	}
	return lines
}

// Colours of a screen.
const (
	bold   = "1"
	red    = "31"
	yellow = "33"
)

func (f *watchFrame) style(code, text string) string {
	if !f.colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// cut shortens a line to the width of the screen.
func (f *watchFrame) cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	r := []rune(line)
	return string(r[:max(width-1, 0)]) + "…"
}
