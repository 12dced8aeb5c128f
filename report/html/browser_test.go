package html

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/herdscan/herdscan/report"
)

// patience is how long a test waits for what should come at once.
const patience = 60 * time.Second

// A browser is a headless Chromium with one tab. It keeps what the page asked
// for and complained about.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	faults   []string
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no chromium here: install it")
		}
		t.Skip("no chromium here")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *log.EventEntryAdded:
		b.faults = append(b.faults, e.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, fmt.Sprintf("%s (%d:%d)", e.ExceptionDetails.Exception.Description, e.ExceptionDetails.LineNumber, e.ExceptionDetails.ColumnNumber))
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, "console."+string(e.Type))
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval runs an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait returns when a condition holds in the page, which looks once a frame.
func (b *browser) wait(condition string) {
	b.t.Helper()
	eval[bool](b, `new Promise(done => { const look = () => (`+condition+`) ? done(true) : requestAnimationFrame(look); look(); })`)
}

// open shows a page in a window of some size and waits for its first chart.
func (b *browser) open(page string, width, height int64, scheme string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.requests, b.faults = nil, nil
	b.mu.Unlock()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	b.do(chromedp.EmulateViewport(width, height),
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
			return err
		}),
		chromedp.Navigate("file://"+path))
	if strings.Contains(page, script) {
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('figure.chart')?.scrollIntoView({behavior: 'instant'})`))
		b.wait(`(f => !f || f.dataset.ready === 'yes')(document.querySelector('figure.chart'))`)
	}
}

// quiet checks that the page asked for nothing and complained about nothing.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.t.Errorf("requests %q, want the page alone", b.requests)
	}
	if len(b.faults) > 0 {
		b.t.Errorf("the browser says %q", b.faults)
	}
}

// at is the place of a share of the first chart's width, after it has been
// brought into view.
func (b *browser) at(share float64) (x, y float64) {
	b.t.Helper()
	p := eval[[]float64](b, fmt.Sprintf(`(() => { const p = document.querySelector('.plot');
		p.scrollIntoView({block: 'center', behavior: 'instant'});
		const r = p.getBoundingClientRect(); return [r.left + r.width * %v, r.top + r.height / 2]; })()`, share))
	return p[0], p[1]
}

func (b *browser) mouse(kind input.DispatchMouseEventType, share float64) {
	b.t.Helper()
	x, y := b.at(share)
	opts := []chromedp.MouseOption{chromedp.ButtonLeft, chromedp.ClickCount(1)}
	if kind == input.DispatchMouseEventTypeMouseMoved {
		opts = nil
	}
	b.do(chromedp.MouseEvent(kind, x, y, opts...))
}

// view is the range that the first chart shows, as shares of the whole.
func (b *browser) view() (from, to float64) {
	b.t.Helper()
	v := eval[[]float64](b, `(f => { const all = JSON.parse(f.querySelector('script').textContent).span;
		return [f.dataset.from / all, f.dataset.to / all]; })(document.querySelector('figure.chart'))`)
	return v[0], v[1]
}

const (
	tipShown  = `!document.querySelector('.tip').hidden`
	isZoomed  = `!document.querySelector('[data-do=reset]').disabled`
	isWhole   = `document.querySelector('[data-do=reset]').disabled`
	tipText   = `document.querySelector('.tip').innerText`
	overflows = `Math.max(document.documentElement.scrollWidth - document.documentElement.clientWidth, 0)`
)

func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	page := render(t, sample(), Options{})
	run := func(name string, f func(b *browser)) {
		t.Run(name, func(t *testing.T) {
			on := &browser{t: t, ctx: b.ctx}
			ctx, cancel := context.WithCancel(b.ctx)
			defer cancel()
			if err := chromedp.Listen(ctx, on.hear); err != nil {
				t.Fatal(err)
			}
			f(on)
		})
	}
	run("hover", func(b *browser) { testHover(b, page) })
	run("brush", func(b *browser) { testBrush(b, page) })
	run("keyboard", func(b *browser) { testKeyboard(b, page) })
	run("maximum", func(b *browser) { testMaximum(b, page) })
	run("copy", func(b *browser) { testCopy(b, page) })
	run("filter", testFilter)
	run("schemes", func(b *browser) { testSchemes(b, page) })
	run("widths", testWidths)
	run("hostile", testHostile)
	run("still", func(b *browser) { testStill(b, page) })
	run("print", func(b *browser) { testPrint(b, page) })
}

// toothShare is where the third tooth of the sample is.
var toothShare = float64(toothAt(3)) / (36 * 3600)

func testHover(b *browser, page string) {
	b.open(page, 1440, 900, "light")
	b.mouse(input.DispatchMouseEventTypeMouseMoved, toothShare)
	b.wait(tipShown)
	text := eval[string](b, tipText)
	for _, want := range []string{"2026-11-03", "UTC", "3,427 keys/s at 13:00:08", "911 queries/s at 13:00:08", "402 queries/s", "1 start at 13:00:00"} {
		if !strings.Contains(text, want) {
			b.t.Errorf("hover says %q, want %q in it", text, want)
		}
	}
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	b.wait(`document.querySelector('.tip').hidden`)
	b.quiet()
}

func testBrush(b *browser, page string) {
	b.open(page, 1440, 900, "light")
	b.mouse(input.DispatchMouseEventTypeMousePressed, 0.25)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, 0.4)
	b.wait(`document.querySelector('.brush')`)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, 0.5)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, 0.5)
	b.wait(isZoomed)
	if from, to := b.view(); from < 0.24 || from > 0.26 || to < 0.49 || to > 0.51 {
		b.t.Errorf("brushed 0.25 to 0.5, see %v to %v", from, to)
	}
	b.do(chromedp.Click(chromedp.CSS(`[data-do=reset]`)))
	b.wait(isWhole)
	if from, to := b.view(); from != 0 || to != 1 {
		b.t.Errorf("after the reset: %v to %v", from, to)
	}
	b.quiet()
}

func testKeyboard(b *browser, page string) {
	b.open(page, 1440, 900, "light")
	b.do(chromedp.Focus(chromedp.CSS(`.plots`)))
	b.do(chromedp.KeyEvent("+"))
	b.wait(isZoomed)
	if from, to := b.view(); from != 0.25 || to != 0.75 {
		b.t.Errorf("after +: %v to %v", from, to)
	}
	b.do(chromedp.KeyEvent(arrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	b.wait(`document.querySelector('figure.chart').dataset.from > 0.3 * ` + wholeSpan)
	b.do(chromedp.KeyEvent(arrowLeft))
	b.wait(tipShown)
	b.do(chromedp.KeyEvent("-"))
	b.wait(isWhole)
	b.do(chromedp.KeyEvent("+"))
	b.wait(isZoomed)
	b.do(chromedp.KeyEvent("0"))
	b.wait(isWhole)
	if role := eval[string](b, `document.activeElement.getAttribute('aria-label')`); !strings.Contains(role, "Arrow keys") || !strings.Contains(role, "3,427 keys/s") {
		b.t.Errorf("the chart is called %q", role)
	}
	b.quiet()
}

const (
	arrowLeft  = "\u0302"
	arrowRight = "\u0303"
	wholeSpan  = `JSON.parse(document.querySelector('figure.chart script').textContent).span`
)

// The script draws each lane of the whole up to the peak, as the still page
// does: the highest bar touches the headroom.
func testMaximum(b *browser, page string) {
	b.open(page, 390, 900, "light")
	tops := eval[[]float64](b, `Array.from(document.querySelector('figure.chart').querySelectorAll('.area path')).map(p =>
		Math.min(...Array.from(p.getAttribute('d').matchAll(/V([0-9.]+)/g), m => Number(m[1]))))`)
	if len(tops) != 4 {
		b.t.Fatalf("%d paths, want 4", len(tops))
	}
	for i, top := range tops {
		if top != headroom {
			b.t.Errorf("lane %d is drawn up to %v, want %v", i, top, headroom)
		}
	}
}

func testCopy(b *browser, page string) {
	b.open(page, 1440, 900, "light")
	b.do(chromedp.Click(chromedp.CSS(`.copy`)))
	b.wait(`document.querySelector('.copy').textContent !== 'Copy'`)
	b.quiet()
}

func testFilter(b *browser) {
	d := sample()
	for range 20 {
		d.Findings = append(d.Findings, sampleLint())
	}
	b.open(render(b.t, d, Options{}), 1440, 900, "light")
	b.do(chromedp.SendKeys(chromedp.CSS(`#filter`), "best_sellers"))
	b.wait(`document.getElementById('filtered').textContent === '1 of 23'`)
	b.quiet()
}

func testSchemes(b *browser, page string) {
	look := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		b.open(page, 1440, 900, scheme)
		look[scheme] = eval[string](b, `getComputedStyle(document.body).backgroundColor`)
		b.quiet()
	}
	if look["light"] == look["dark"] {
		b.t.Errorf("both schemes have the background %s", look["light"])
	}
}

func testWidths(b *browser) {
	long := sample()
	name := strings.Repeat("averylongnamewithoutanyspace:", 20)
	long.Verdict, long.Findings[0].Message, long.Findings[0].Causes[0].Suspect = name, name, name
	long.Findings[2].Locations[0].File, long.Coverage[0].Source, long.Findings[0].Fix.Code = name, name, name
	long.Findings[2].Excerpt.Text = name
	long.Timeline.Lanes[0].Name, long.Timeline.Lanes[4].Text[0] = name, name
	long.Tables[0].Rows[0][0] = name
	long.Next = []string{name}
	for what, d := range map[string]*report.Document{"sample": sample(), "long names": long, "small": small(), "nothing": report.New("0.1.0", "ttl")} {
		page := render(b.t, d, Options{})
		for _, width := range []int64{390, 768, 1440} {
			b.open(page, width, 900, "light")
			if by := eval[float64](b, overflows); by > 0 {
				b.t.Errorf("%s overflows %d px by %v", what, width, by)
			}
			b.quiet()
		}
	}
}

func testHostile(b *browser) {
	for _, text := range hostile {
		b.open(render(b.t, poisoned(text), Options{}), 1440, 900, "light")
		if title := eval[string](b, `document.title`); !strings.HasPrefix(title, "herdscan ") {
			b.t.Errorf("%q changed the title to %q", text, title)
		}
		b.mouse(input.DispatchMouseEventTypeMouseMoved, toothShare)
		b.wait(tipShown)
		b.quiet()
	}
}

// Without the script the charts are there.
func testStill(b *browser, page string) {
	b.open(strings.Replace(page, script, "", 1), 1440, 900, "light")
	if n := eval[int](b, `Array.from(document.querySelectorAll('.area path')).filter(p => p.getBoundingClientRect().height > 10).length`); n < 4 {
		b.t.Errorf("%d lanes are drawn", n)
	}
	if n := eval[int](b, `Array.from(document.querySelectorAll('.script')).filter(e => e.checkVisibility()).length`); n > 0 {
		b.t.Errorf("%d controls are shown that do nothing", n)
	}
}

func testPrint(b *browser, page string) {
	b.open(page, 1440, 900, "dark")
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
	if err != nil {
		b.t.Fatal(err)
	}
	if !strings.HasPrefix(string(pdf), "%PDF-") {
		b.t.Error("the page can't be printed")
	}
}
