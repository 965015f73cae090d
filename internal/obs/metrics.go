package obs

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry makes the metrics registry with the process's own figures.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// MetricsHandler serves /metrics.
func MetricsHandler(reg *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// HTTPMetrics observes requests by route pattern, method and status: all closed sets.
type HTTPMetrics struct{ seconds *prometheus.HistogramVec }

// NewHTTPMetrics registers agntchat_http_request_seconds.
func NewHTTPMetrics(reg prometheus.Registerer) *HTTPMetrics {
	m := &HTTPMetrics{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "agntchat_http_request_seconds", Help: "Time of HTTP requests by route.", Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"route", "method", "status"})}
	reg.MustRegister(m.seconds)
	return m
}

// Observe notes one finished request.
func (m *HTTPMetrics) Observe(r *http.Request, status int, took time.Duration) {
	route := "unmatched"
	if rc := chi.RouteContext(r.Context()); rc != nil && rc.RoutePattern() != "" {
		route = rc.RoutePattern()
	}
	method := r.Method
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodHead:
	default:
		method = "other"
	}
	m.seconds.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// TurnMetrics observes finished turns by outcome, a closed set.
type TurnMetrics struct{ waited, ran *prometheus.HistogramVec }

// NewTurnMetrics registers agntchat_turn_wait_seconds, agntchat_turn_run_seconds and
// agntchat_gateway_executors_count, which online reads.
func NewTurnMetrics(reg prometheus.Registerer, online func() int) *TurnMetrics {
	buckets := []float64{.01, .05, .25, 1, 5, 15, 60, 300, 900, 3600}
	m := &TurnMetrics{
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "agntchat_turn_wait_seconds", Help: "Time from queueing a message to its claim.", Buckets: buckets}, []string{"outcome"}),
		ran:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "agntchat_turn_run_seconds", Help: "Time from claim to end of a turn.", Buckets: buckets}, []string{"outcome"}),
	}
	reg.MustRegister(m.waited, m.ran, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "agntchat_gateway_executors_count", Help: "Executors that are reachable now.",
	}, func() float64 { return float64(online()) }))
	return m
}

// Observe notes one finished turn.
func (m *TurnMetrics) Observe(outcome string, waited, ran time.Duration) {
	m.waited.WithLabelValues(outcome).Observe(waited.Seconds())
	m.ran.WithLabelValues(outcome).Observe(ran.Seconds())
}
