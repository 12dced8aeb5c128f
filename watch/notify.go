package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/herdscan/herdscan/comb/rule"
)

const (
	notifyTimeout = 10 * time.Second
	notifyTries   = 4
	// maxQueued is how many alerts may wait to be sent.
	maxQueued = 1000
)

// A Notifier sends alerts to a webhook, each once however many watchers run.
type Notifier struct {
	url    string // a secret
	target string
	window time.Duration
	least  rule.Severity
	claims *Claims
	clean  func(string) string
	client *http.Client
	queue  chan Event
	pause  time.Duration // before the second try
}

// NotifierOptions are the settings of a Notifier.
type NotifierOptions struct {
	URL    string // of the webhook; never printed
	Target string // what is watched, as alerts and claims name it
	// Window is how long the same alert about the same herd is not repeated; an hour if 0.
	Window time.Duration
	// Least is the severity from which events are sent.
	Least  rule.Severity
	Claims *Claims
	Clean  func(string) string // makes untrusted text safe to show
}

// NewNotifier checks the address.
func NewNotifier(o NotifierOptions) (*Notifier, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the address of the webhook is not http:// or https://") // without it: it is a secret
	}
	n := &Notifier{
		url: o.URL, target: o.Target, window: o.Window, least: o.Least, claims: o.Claims, clean: o.Clean,
		client: &http.Client{Timeout: notifyTimeout}, queue: make(chan Event, maxQueued), pause: time.Second,
	}
	if n.window == 0 {
		n.window = time.Hour
	}
	if n.clean == nil {
		n.clean = func(s string) string { return s }
	}
	return n, nil
}

// Wants tells whether an event is one for the webhook.
func (n *Notifier) Wants(e Event) bool {
	return e.Stage != Notice && e.Severity >= n.least
}

// Enqueue hands an event over to Run. It never waits, and reports whether
// there was room.
func (n *Notifier) Enqueue(e Event) bool {
	select {
	case n.queue <- e:
		return true
	default:
		return false
	}
}

// An Outcome is what became of an alert.
type Outcome int

// The outcomes. Held: another watcher has sent it, or this one within the
// window.
const (
	Sent Outcome = iota
	Held
	Failed
)

// Run sends what is enqueued until ctx ends, and then what is left for a few
// seconds more. done is told of each alert; the error is that of a failure.
func (n *Notifier) Run(ctx context.Context, done func(Event, Outcome, error)) {
	send := func(ctx context.Context, e Event) {
		mine, err := n.Send(ctx, e)
		switch {
		case err != nil:
			done(e, Failed, err)
		case mine:
			done(e, Sent, nil)
		default:
			done(e, Held, nil)
		}
	}
	for {
		select {
		case e := <-n.queue:
			send(ctx, e)
			continue
		case <-ctx.Done():
		}
		break
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
	defer cancel()
	for {
		select {
		case e := <-n.queue:
			send(last, e)
		default:
			return
		}
	}
}

// Send claims an event and sends it, and reports whether it was this watcher's
// to send. Errors never hold the address.
func (n *Notifier) Send(ctx context.Context, e Event) (bool, error) {
	critical := e.Severity >= rule.Error // never held back
	key := Key("alert", n.target, e.Rule, e.Subject, string(e.Stage))
	if !critical && !n.claims.Claim(ctx, key, n.window) {
		return false, nil
	}
	body, err := json.Marshal(n.message(e))
	if err != nil {
		return true, err
	}
	if err = n.post(ctx, body); err != nil && !critical {
		n.claims.Release(context.WithoutCancel(ctx), key) // it was not sent, so the next one is not a duplicate
	}
	return true, err
}

// A message is what the webhook gets. Slack and its kin show Text; the other
// fields are for machines.
type message struct {
	Text     string    `json:"text"`
	Target   string    `json:"target"`
	Rule     string    `json:"rule"`
	Subject  string    `json:"subject"`
	Event    Stage     `json:"event"`
	Severity string    `json:"severity"`
	At       time.Time `json:"at"`
	Tooth    time.Time `json:"tooth"`
	Count    uint64    `json:"count"`
	Unit     string    `json:"unit"`
}

func (n *Notifier) message(e Event) message {
	subject, text := n.clean(e.Subject), n.clean(e.Text)
	// Slack reads <!channel> and links in text.
	plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	return message{
		Text:   plain.Replace(fmt.Sprintf("[%s] %s %s: %s: %s [%s] on %s", e.Severity, e.Stage, e.Tooth.UTC().Format("15:04:05 UTC"), subject, text, e.Rule, n.clean(n.target))),
		Target: n.clean(n.target), Rule: e.Rule, Subject: subject, Event: e.Stage, Severity: e.Severity.String(),
		At: e.At.UTC(), Tooth: e.Tooth.UTC(), Count: e.Count, Unit: e.Unit,
	}
}

// post tries a few times, with growing random pauses: of many watchers that
// failed together each comes back at its own time.
func (n *Notifier) post(ctx context.Context, body []byte) error {
	var err error
	for try := range notifyTries {
		if try > 0 {
			pause := time.Duration(rand.Int64N(int64(n.pause<<try) + 1))
			select {
			case <-ctx.Done():
				return errors.Join(err, ctx.Err())
			case <-time.After(pause):
			}
		}
		var again bool
		if again, err = n.try(ctx, body); err == nil || !again {
			return err
		}
	}
	return err
}

// try posts once and tells whether another try makes sense.
func (n *Notifier) try(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address of the webhook is no URL")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // u.URL is the secret
		}
		return true, fmt.Errorf("webhook: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // lets the connection be used again
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return true, fmt.Errorf("webhook: status %d", resp.StatusCode)
	default:
		return false, fmt.Errorf("webhook: status %d", resp.StatusCode)
	}
}
