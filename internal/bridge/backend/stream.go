package backend

import "context"

// Streamed runs one call of a streaming model API, and once more when its stream
// broke after it had begun: a provider that refuses says so before. answered
// tells an answer of the provider from a broken stream; classify gives the last
// error its state. The text emitted so far is reset before the second try.
func Streamed[T any](ctx context.Context, emit func(Event), stream func() (out T, begun bool, err error), answered func(error) bool, classify func(error) error) (T, error) {
	for try := 0; ; try++ {
		out, begun, err := stream()
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, context.Cause(ctx)
		case answered(err) || !begun || try > 0:
			return out, classify(err)
		}
		emit(Event{Kind: Reset})
	}
}
