package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Serve answers /metrics and /healthz on l until ctx ends.
func Serve(ctx context.Context, l net.Listener, m *Metrics) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", m.health)
	const patience = 10 * time.Second
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: 3 * patience, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// health is 200 as long as the watcher moves, whatever it can't see: to start
// it anew would not help that.
func (m *Metrics) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !m.w.Alive() {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "stuck")
		return
	}
	fmt.Fprintln(w, "ok")
	for _, l := range m.w.State().Limits {
		fmt.Fprintln(w, "not seen: "+m.clean(l))
	}
}
