// Package openai runs turns on Chat Completions through the official SDK, at
// OpenAI or at any compatible address, such as a model server on this machine.
// It owns no state between turns; what is said during one is taken up between two
// model calls.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Options configure the backend.
type Options struct {
	Key       string // may be empty with a BaseURL
	BaseURL   string // empty: OpenAI
	Model     string // used where a turn names none
	MaxTokens int64  // 0: no limit is sent
}

// DefaultModel is used at OpenAI when nobody chose one. Elsewhere the first
// model that the server lists is used.
const DefaultModel = shared.ChatModelGPT5_4Mini

// Backend talks to Chat Completions.
type Backend struct {
	opt    Options
	client sdk.Client
	ears   backend.Ears

	mu     sync.Mutex
	listed string
}

// New makes the backend; it does not connect.
func New(opt Options) *Backend {
	key := opt.Key
	if key == "" {
		key = "none" // local servers ask for none, the SDK insists on one
	}
	base := opt.BaseURL
	if base == "" {
		base = "https://api.openai.com/v1/"
	}
	client := sdk.NewClient(option.WithAPIKey(key), option.WithBaseURL(base), option.WithMaxRetries(2))
	return &Backend{opt: opt, client: client}
}

// Name is backend.OpenAI.
func (*Backend) Name() string { return backend.OpenAI }

// Check needs a key or an address.
func (b *Backend) Check(context.Context) error {
	if b.opt.Key == "" && b.opt.BaseURL == "" {
		return backend.Errorf(backend.CodeAuth, "There is no OpenAI key: set OPENAI_API_KEY, store one in your settings, or name a local server with --base-url.")
	}
	return nil
}

// Close has nothing to end.
func (*Backend) Close() error { return nil }

// Tell implements backend.Listener.
func (b *Backend) Tell(ctx context.Context, conversationID, text string) bool {
	return b.ears.Tell(ctx, conversationID, text)
}

// Run answers one turn in at most backend.MaxIterations model calls.
func (b *Backend) Run(ctx context.Context, t backend.Turn, emit func(backend.Event)) (backend.Result, error) {
	if err := b.Check(ctx); err != nil {
		return backend.Result{}, err
	}
	model, err := b.model(ctx, t)
	if err != nil {
		return backend.Result{}, err
	}
	p := b.params(t, model)
	res := backend.Result{Model: model}
	calls, answer := &backend.Calls{Box: t.Toolbox, Emit: emit}, backend.NewAnswer(emit)
	ear, over := b.ears.Listen(t.ConversationID)
	defer over()
	for {
		res.Iterations++
		if res.Iterations == backend.MaxIterations && len(p.Tools) > 0 {
			p.ToolChoice = sdk.ChatCompletionToolChoiceOptionUnionParam{OfAuto: sdk.String("none")}
		}
		emit(backend.Event{Kind: backend.Thinking})
		acc, err := b.call(ctx, p, answer.Emit)
		if err != nil {
			res.ToolUses = calls.Names
			return res, err
		}
		cached := acc.Usage.PromptTokensDetails.CachedTokens
		res.Usage = res.Usage.Add(backend.Usage{Input: acc.Usage.PromptTokens - cached, Output: acc.Usage.CompletionTokens, CacheRead: cached})
		if len(acc.Choices) == 0 {
			return res, nil
		}
		msg := acc.Choices[0].Message
		if s := strings.TrimSpace(msg.Content); s != "" {
			res.Text = answer.With(s)
		} else if msg.Refusal != "" {
			res.Text = answer.With(strings.TrimSpace(msg.Refusal))
		}
		if res.Iterations >= backend.MaxIterations {
			return res, nil
		}
		if len(msg.ToolCalls) == 0 {
			if msg.Content == "" || acc.Choices[0].FinishReason != "stop" {
				return res, nil
			}
			said := ear.Take()
			if said == "" {
				return res, nil
			}
			p.Messages = append(p.Messages, msg.ToParam(), sdk.UserMessage(said))
			answer.Keep(res.Text)
			continue
		}
		p.Messages = append(p.Messages, msg.ToParam())
		for _, c := range msg.ToolCalls {
			r := calls.Run(ctx, c.Function.Name, json.RawMessage(c.Function.Arguments))
			p.Messages = append(p.Messages, sdk.ToolMessage(r.Text, c.ID))
		}
		res.ToolUses = calls.Names
		if calls.Done() {
			return res, nil
		}
		if said := ear.Take(); said != "" {
			p.Messages = append(p.Messages, sdk.UserMessage(said))
		}
		answer.Emit(backend.Event{Kind: backend.Reset})
	}
}

// model chooses: the turn's, the configured one, OpenAI's default, or the first
// that a compatible server offers (asked once).
func (b *Backend) model(ctx context.Context, t backend.Turn) (string, error) {
	switch {
	case t.Model != "":
		return t.Model, nil
	case b.opt.Model != "":
		return b.opt.Model, nil
	case b.opt.BaseURL == "":
		return DefaultModel, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listed != "" {
		return b.listed, nil
	}
	page, err := b.client.Models.List(ctx)
	if err != nil {
		return "", classify(err)
	}
	if len(page.Data) == 0 {
		return "", backend.Errorf(backend.CodeModel, "The model server offers no model. Name one with --model.")
	}
	b.listed = page.Data[0].ID
	return b.listed, nil
}

func (b *Backend) params(t backend.Turn, model string) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	limit := b.opt.MaxTokens
	if t.MaxTokens > 0 {
		limit = t.MaxTokens
	}
	if limit > 0 {
		// Compatible servers know only the older name.
		if b.opt.BaseURL == "" {
			p.MaxCompletionTokens = sdk.Int(limit)
		} else {
			p.MaxTokens = sdk.Int(limit)
		}
	}
	if t.Effort != "" && b.opt.BaseURL == "" {
		p.ReasoningEffort = shared.ReasoningEffort(t.Effort)
	}
	if t.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(t.System))
	}
	for _, m := range t.Dialogue() {
		if m.Assistant {
			p.Messages = append(p.Messages, sdk.AssistantMessage(m.Text))
		} else {
			p.Messages = append(p.Messages, sdk.UserMessage(m.Text))
		}
	}
	if t.Toolbox != nil {
		for _, tool := range t.Toolbox.Tools() {
			var schema map[string]any
			if json.Unmarshal(tool.Schema, &schema) != nil {
				schema = map[string]any{"type": "object", "properties": map[string]any{}}
			}
			p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name: tool.Name, Description: sdk.String(tool.Description), Parameters: schema,
			}))
		}
	}
	return p
}

// call makes one streamed model call; a connection that breaks in the middle
// is tried once more from the start.
func (b *Backend) call(ctx context.Context, p sdk.ChatCompletionNewParams, emit func(backend.Event)) (*sdk.ChatCompletionAccumulator, error) {
	return backend.Streamed(ctx, emit, func() (*sdk.ChatCompletionAccumulator, bool, error) { return b.stream(ctx, p, emit) }, answered, classify)
}

// answered tells that the provider answered with a status.
func answered(err error) bool {
	_, ok := errors.AsType[*sdk.Error](err)
	return ok
}

func (b *Backend) stream(ctx context.Context, p sdk.ChatCompletionNewParams, emit func(backend.Event)) (acc *sdk.ChatCompletionAccumulator, begun bool, err error) {
	s := b.client.Chat.Completions.NewStreaming(ctx, p)
	defer func() { _ = s.Close() }()
	acc = &sdk.ChatCompletionAccumulator{}
	finished := false
	for s.Next() {
		begun = true
		chunk := s.Current()
		if !acc.AddChunk(chunk) {
			return nil, begun, errors.New("the chunks of the stream do not fit together")
		}
		for _, c := range chunk.Choices {
			if c.Delta.Content != "" {
				emit(backend.Event{Kind: backend.Text, Text: c.Delta.Content})
			}
			finished = finished || c.FinishReason != ""
		}
	}
	if err := s.Err(); err != nil {
		return nil, begun, err
	}
	if !finished {
		return nil, begun, errors.New("the stream ended early")
	}
	return acc, true, nil
}

// classify maps the SDK's errors to the states people see.
func classify(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return &backend.Error{Code: backend.CodeModel, Message: "The connection to the model server broke.", Cause: err}
	}
	return backend.FromStatus("The model server", e.StatusCode, backend.Short(e.Message), retryAt(e.Response))
}

func retryAt(res *http.Response) time.Time {
	if res == nil {
		return time.Time{}
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		return time.Now().Add(time.Duration(n) * time.Second)
	}
	return time.Time{}
}
