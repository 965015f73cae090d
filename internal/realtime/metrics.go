package realtime

import "github.com/prometheus/client_golang/prometheus"

type busMetrics struct {
	topics     prometheus.Gauge
	broadcasts prometheus.Counter
	deliveries prometheus.Counter
	batch      prometheus.Histogram
}

func newBusMetrics(reg prometheus.Registerer) *busMetrics {
	m := &busMetrics{
		topics: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "agntchat_realtime_topics", Help: "Topics with at least one subscriber."}),
		broadcasts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "agntchat_realtime_broadcasts_total", Help: "Events encoded for a topic with subscribers."}),
		deliveries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "agntchat_realtime_deliveries_total", Help: "Frames handed to subscribers."}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "agntchat_realtime_batch_frames", Help: "Frames written to a subscriber at once.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}}),
	}
	if reg != nil {
		reg.MustRegister(m.topics, m.broadcasts, m.deliveries, m.batch)
	}
	return m
}

func (m *busMetrics) sent(deliveries, frames int) {
	m.deliveries.Add(float64(deliveries))
	m.batch.Observe(float64(frames))
}
