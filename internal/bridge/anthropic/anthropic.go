// Package anthropic runs turns on the Anthropic Messages API through the
// official SDK: streaming, platform tools, prompt caching. It owns no state
// between turns; what is said during one is taken up between two model calls.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Options configure the backend.
type Options struct {
	Key       string
	BaseURL   string // empty: the provider's own
	Model     string // used where a turn names none; empty: DefaultModel
	MaxTokens int64  // 0: 16384
}

// DefaultModel is used when nobody chose one.
const DefaultModel = sdk.ModelClaudeSonnet5_5

// Backend talks to the Messages API.
type Backend struct {
	opt    Options
	client sdk.Client
	ears   backend.Ears
}

// New makes the backend; it does not connect.
func New(opt Options) *Backend {
	if opt.Model == "" {
		opt.Model = DefaultModel
	}
	if opt.MaxTokens <= 0 {
		opt.MaxTokens = 16384
	}
	opts := []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithAPIKey(opt.Key), option.WithMaxRetries(2)}
	if opt.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(opt.BaseURL))
	}
	return &Backend{opt: opt, client: sdk.NewClient(opts...)}
}

// Name is backend.Anthropic.
func (*Backend) Name() string { return backend.Anthropic }

// Check needs a key; whether the provider takes it shows with the first turn.
func (b *Backend) Check(context.Context) error {
	if b.opt.Key == "" {
		return backend.Errorf(backend.CodeAuth, "There is no Anthropic key: set ANTHROPIC_API_KEY, or store one in your settings.")
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
	p := b.params(t)
	res := backend.Result{Model: p.Model}
	calls, answer := &backend.Calls{Box: t.Toolbox, Emit: emit}, backend.NewAnswer(emit)
	ear, over := b.ears.Listen(t.ConversationID)
	defer over()
	for {
		res.Iterations++
		if res.Iterations == backend.MaxIterations && len(p.Tools) > 0 {
			p.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
		}
		emit(backend.Event{Kind: backend.Thinking})
		msg, err := b.call(ctx, p, answer.Emit)
		if err != nil {
			res.ToolUses = calls.Names
			return res, err
		}
		res.Usage = res.Usage.Add(backend.Usage{
			Input: msg.Usage.InputTokens, Output: msg.Usage.OutputTokens,
			CacheWrite: msg.Usage.CacheCreationInputTokens, CacheRead: msg.Usage.CacheReadInputTokens,
		})
		var text strings.Builder
		var results []sdk.ContentBlockParamUnion
		for _, block := range msg.Content {
			switch v := block.AsAny().(type) {
			case sdk.TextBlock:
				text.WriteString(v.Text)
			case sdk.ToolUseBlock:
				r := calls.Run(ctx, v.Name, json.RawMessage(v.JSON.Input.Raw()))
				results = append(results, sdk.NewToolResultBlock(v.ID, r.Text, r.IsError))
			}
		}
		if s := strings.TrimSpace(text.String()); s != "" {
			res.Text = answer.With(s)
		}
		res.ToolUses = calls.Names
		if calls.Done() || res.Iterations >= backend.MaxIterations {
			return res, stopped(msg, res)
		}
		ended := len(results) == 0 && msg.StopReason != sdk.StopReasonPauseTurn
		more := meanwhile(ear, msg, len(results) > 0)
		if ended && len(more) == 0 {
			return res, stopped(msg, res)
		}
		p.Messages = append(p.Messages, msg.ToParam())
		if n := len(results); n > 0 {
			results[n-1].OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
			clearCache(p.Messages)
		}
		if results = append(results, more...); len(results) > 0 {
			p.Messages = append(p.Messages, sdk.NewUserMessage(results...))
		}
		if ended {
			answer.Keep(res.Text)
		} else {
			answer.Emit(backend.Event{Kind: backend.Reset})
		}
	}
}

// meanwhile is what people said since the model was last called. It can be told behind
// the results of tools, and behind an answer that is whole.
func meanwhile(ear *backend.Ear, msg *sdk.Message, tools bool) []sdk.ContentBlockParamUnion {
	if !tools && (msg.StopReason != sdk.StopReasonEndTurn || len(msg.Content) == 0) {
		return nil
	}
	if text := ear.Take(); text != "" {
		return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(text)}
	}
	return nil
}

// stopped turns a refusal or a full window into a failure, if nothing was said.
func stopped(msg *sdk.Message, res backend.Result) error {
	if res.Text != "" {
		return nil
	}
	switch msg.StopReason {
	case sdk.StopReasonRefusal:
		return backend.Errorf(backend.CodeModel, "The model declined to answer.")
	case sdk.StopReasonMaxTokens:
		return backend.Errorf(backend.CodeModel, "The model used all its tokens before it wrote an answer.")
	}
	return nil
}

// clearCache removes the moving breakpoint of an earlier iteration; at most
// four may stand in one request.
func clearCache(ms []sdk.MessageParam) {
	for _, m := range ms {
		for _, c := range m.Content {
			if c.OfToolResult != nil {
				c.OfToolResult.CacheControl = sdk.CacheControlEphemeralParam{}
			}
		}
	}
}

// params lays the prompt out so that what does not change comes first, with a
// cache breakpoint after the tools, the system prompt and the history.
func (b *Backend) params(t backend.Turn) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: t.Model, MaxTokens: b.opt.MaxTokens}
	if p.Model == "" {
		p.Model = b.opt.Model
	}
	if t.MaxTokens > 0 {
		p.MaxTokens = t.MaxTokens
	}
	if t.Effort != "" {
		p.OutputConfig = sdk.OutputConfigParam{Effort: sdk.OutputConfigEffort(t.Effort)}
	}
	cache := sdk.NewCacheControlEphemeralParam()
	if t.System != "" {
		p.System = []sdk.TextBlockParam{{Text: t.System, CacheControl: cache}}
	}
	if t.Toolbox != nil {
		for _, tool := range t.Toolbox.Tools() {
			props, required, extra := backend.Schema(tool.Schema)
			p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
				Name: tool.Name, Description: sdk.String(tool.Description),
				InputSchema: sdk.ToolInputSchemaParam{Properties: props, Required: required, ExtraFields: extra},
			}})
		}
		if n := len(p.Tools); n > 0 {
			p.Tools[n-1].OfTool.CacheControl = cache
		}
	}
	dialogue := t.Dialogue()
	for i, m := range dialogue {
		block := sdk.NewTextBlock(m.Text)
		if i == len(dialogue)-2 {
			block.OfText.CacheControl = cache
		}
		if m.Assistant {
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(block))
		} else {
			p.Messages = append(p.Messages, sdk.NewUserMessage(block))
		}
	}
	return p
}

// call makes one streamed model call. A connection that breaks in the middle
// is tried once more from the start; people then see the text begin anew.
func (b *Backend) call(ctx context.Context, p sdk.MessageNewParams, emit func(backend.Event)) (*sdk.Message, error) {
	return backend.Streamed(ctx, emit, func() (*sdk.Message, bool, error) { return b.stream(ctx, p, emit) }, answered, classify)
}

// answered tells that the provider answered with a status.
func answered(err error) bool {
	_, ok := errors.AsType[*sdk.Error](err)
	return ok
}

func (b *Backend) stream(ctx context.Context, p sdk.MessageNewParams, emit func(backend.Event)) (msg *sdk.Message, begun bool, err error) {
	s := b.client.Messages.NewStreaming(ctx, p)
	defer func() { _ = s.Close() }()
	msg = &sdk.Message{}
	ended := false
	for s.Next() {
		begun = true
		event := s.Current()
		if err := msg.Accumulate(event); err != nil {
			return nil, begun, err
		}
		switch e := event.AsAny().(type) {
		case sdk.ContentBlockDeltaEvent:
			if d, ok := e.Delta.AsAny().(sdk.TextDelta); ok && d.Text != "" {
				emit(backend.Event{Kind: backend.Text, Text: d.Text})
			}
		case sdk.MessageStopEvent:
			ended = true
		}
	}
	if err := s.Err(); err != nil {
		return nil, begun, err
	}
	if !ended {
		return nil, begun, errors.New("the stream ended early")
	}
	return msg, true, nil
}

// classify maps the SDK's errors to the states people see.
func classify(err error) error {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return &backend.Error{Code: backend.CodeModel, Message: "The connection to Anthropic broke.", Cause: err}
	}
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(e.RawJSON()), &body)
	return backend.FromStatus("Anthropic", e.StatusCode, backend.Short(body.Error.Message), retryAt(e.Response))
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
