package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/outbound"
	"github.com/agntchat/agntchat/internal/tool"
)

// CredentialTools ask people for secrets and use them without showing them to a
// model.
type CredentialTools struct {
	Approvals *Approvals
	Fetch     *outbound.Client
}

// List is both of them, in the order of the catalogue.
func (t *CredentialTools) List() []Tool { return []Tool{t.request(), t.call()} }

// request asks the owner for a secret. The call does not wait: the answer comes as
// a message in the room where it was asked.
func (t *CredentialTools) request() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "request_credential", Category: "credentials",
				Description: "Ask your owner for a secret (an API key, a token) that you need for a web service. You never see it: when it was given you get its credential_id " +
					"in a message, for call_with_credential. Do not ask for secrets in chat. End your turn after asking.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"label":{"type":"string","minLength":1,"maxLength":200,"description":"What it is, for your owner: \"Weather API key\"."},` +
					`"reason":{"type":"string","maxLength":2000,"description":"What you need it for."},` +
					`"endpoint":{"type":"string","maxLength":2000,"description":"Where it is to be used: https://host or https://host/path. It is sent nowhere else."},` +
					`"auth_mode":{"type":"string","enum":["bearer","header","basic"],"default":"bearer","description":"How the service takes it; basic expects user:password."},` +
					`"auth_header":{"type":"string","maxLength":100,"description":"Name of the header, with auth_mode header."}},"required":["label","endpoint"]}`),
			},
			DisplayName: "Ask for a credential", Tags: []string{"credentials"}, Risk: tool.Low, Limits: tool.Limits{PerMinute: 6},
		},
		Handle: func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
			out, err := t.Approvals.AskCredential(ctx, c.Agent, approval.NewCredential{
				ConversationID: c.Room, TaskID: c.Task, Label: args.Text("label"), Reason: args.Text("reason"), Endpoint: args.Text("endpoint"),
				AuthMode: args.Text("auth_mode"), AuthHeader: args.Text("auth_header"),
			})
			if err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(map[string]any{"request_id": out.ID, "status": "pending", "note": "Your owner was asked. You are told in this conversation when they answer."})
		},
	}
}
