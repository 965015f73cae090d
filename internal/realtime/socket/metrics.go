package socket

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are shared by all connections of a server.
type metrics struct {
	chunks chunks

	conns   prometheus.Gauge
	joined  prometheus.Gauge
	refused *prometheus.CounterVec // upgrades, by reason
	closed  *prometheus.CounterVec // closes begun by the server, by code
	frames  prometheus.Counter     // received
	joins   *prometheus.CounterVec // by result
	pushes  *prometheus.CounterVec // by result
	handler prometheus.Histogram   // seconds
	dropped *prometheus.CounterVec // frames, by reason
	resyncs prometheus.Counter
	slow    prometheus.Counter // readers closed with 1013
	stalled prometheus.Counter // readers cut off: no progress, or write error
	panics  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		conns:   gauge("connections", "Open sockets."),
		joined:  gauge("joined_topics", "Joined topics over all sockets."),
		refused: counters("upgrades_refused_total", "Upgrades refused.", "reason"),
		closed:  counters("closes_total", "Sockets closed by the server.", "code"),
		frames:  counter("frames_received_total", "Frames received."),
		joins:   counters("joins_total", "Joins answered.", "result"),
		pushes:  counters("pushes_total", "Pushes answered.", "result"),
		handler: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "agntchat_realtime_handler_seconds", Help: "Time in a Join or Push handler.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}),
		dropped: counters("frames_dropped_total", "Frames dropped for slow readers.", "reason"),
		resyncs: counter("resyncs_total", "Topics a slow reader was told to refetch."),
		slow:    counter("slow_closed_total", "Slow readers closed with 1013."),
		stalled: counter("stalled_total", "Readers cut off in the middle of a write."),
		panics:  counter("handler_panics_total", "Handlers that panicked."),
	}
	if reg != nil {
		reg.MustRegister(m.conns, m.joined, m.refused, m.closed, m.frames, m.joins, m.pushes,
			m.handler, m.dropped, m.resyncs, m.slow, m.stalled, m.panics)
	}
	return m
}

func (m *metrics) close(code Code) { m.closed.WithLabelValues(strconv.Itoa(int(code))).Inc() }

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: "agntchat_realtime_" + name, Help: help})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "agntchat_realtime_" + name, Help: help})
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agntchat_realtime_" + name, Help: help}, []string{label})
}
