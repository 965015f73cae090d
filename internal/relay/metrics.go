package relay

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are counts by tool and outcome, both closed sets. None says who wrote to
// whom, or how much anybody got.
type metrics struct {
	seconds *prometheus.HistogramVec
	letters *prometheus.CounterVec
	streams prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "agntchat_relay_call_seconds", Help: "Time of relay calls by tool and outcome: ok, refused, limited, error.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"tool", "outcome"}),
		letters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "agntchat_relay_letters_total", Help: "Letters by what became of them: stored, known (sent again), refused, collected, given_back, expired.",
		}, []string{"fate"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "agntchat_relay_streams", Help: "Open event streams."}),
	}
	if reg != nil {
		reg.MustRegister(m.seconds, m.letters, m.streams)
	}
	return m
}

func (m *metrics) observe(tool, outcome string, took time.Duration) {
	if tool != "events" || outcome != "ok" { // a stream's length is no time of a call
		m.seconds.WithLabelValues(tool, outcome).Observe(took.Seconds())
	}
}
