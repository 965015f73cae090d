package app_test

// accessRow says who may call a route, in the order of actors: in, 401, 403, 404,
// or hidden, when the answer is a success that does not hold shows.
type accessRow struct {
	route, query, want string
	body               string // valid, so that nothing but access decides
	shows              string
}

// The usual classes.
const (
	everybody     = "in in in in in in"
	signedIn      = "401 in in in in in"
	people        = "401 in 403 in in 403"
	agentsOnly    = "401 403 in 403 403 in"
	membersOfRoom = "401 404 404 in in in"
	adminsOfRoom  = "401 404 404 403 in 403"
	ownerOfAgent  = "401 404 404 404 in 404"
)

var accessRows = []accessRow{
	{route: "DELETE /api/agents/{agent}", want: ownerOfAgent},
	{route: "DELETE /api/conversations/{conversation}", want: adminsOfRoom},
	{route: "DELETE /api/conversations/{conversation}/members/{participant}", want: "401 404 404 403 in in"},
	{route: "DELETE /api/conversations/{conversation}/messages/{message}", want: adminsOfRoom},
	{route: "DELETE /api/gateway/executors/{executor}", want: "401 403 404 403 403 in"},
	{route: "DELETE /api/me", want: people, body: `{"confirm":"DELETE"}`},
	{route: "DELETE /api/me/llm-keys/{key}", want: "401 404 403 404 in 403"},
	{route: "DELETE /api/me/sessions/{session}", want: "401 404 403 404 in 403"},
	{route: "GET /api/agent-types", want: signedIn},
	{route: "GET /api/agents", want: "401 hidden 403 hidden in 403", shows: "{agent}"},
	{route: "GET /api/agents/health", want: "401 hidden 403 hidden in 403", shows: "{agent}"},
	{route: "GET /api/agents/me/settings", want: agentsOnly},
	{route: "GET /api/agents/me/soul", want: agentsOnly},
	{route: "GET /api/agents/{agent}", want: membersOfRoom},
	{route: "GET /api/agents/{agent}/health", want: ownerOfAgent},
	{route: "GET /api/agents/{agent}/turns", want: membersOfRoom},
	{route: "GET /api/auth/invite-code/{code}", want: everybody},
	{route: "GET /api/auth/signup-policy", want: everybody},
	{route: "GET /api/conversations", want: "401 hidden hidden in in in", shows: "{conversation}"},
	{route: "GET /api/conversations/{conversation}", want: membersOfRoom},
	{route: "GET /api/conversations/{conversation}/changes", want: membersOfRoom, query: "?after=0"},
	{route: "GET /api/conversations/{conversation}/files", want: membersOfRoom},
	{route: "GET /api/conversations/{conversation}/messages", want: membersOfRoom},
	{route: "GET /api/conversations/{conversation}/receipts", want: membersOfRoom, query: "?messageIds={message}"},
	{route: "GET /api/credential-requests", want: signedIn},
	{route: "GET /api/field-limits", want: signedIn},
	{route: "GET /api/files/{file}/content", want: "403 403 403 403 403 403"}, // a signed address: TestK3_SignedAddresses
	{route: "GET /api/files/{file}/download-url", want: membersOfRoom},
	{route: "GET /api/integrations/{provider}/resolve", want: "401 404 404 404 in in"},
	{route: "GET /api/me", want: signedIn},
	{route: "GET /api/me/devices", want: signedIn},
	{route: "GET /api/me/llm-keys", want: people},
	{route: "GET /api/me/notification-preferences", want: people},
	{route: "GET /api/me/pending-invites", want: signedIn},
	{route: "GET /api/me/sessions", want: people},
	{route: "GET /api/me/settings", want: people},
	{route: "GET /api/models/providers", want: signedIn},
	{route: "GET /api/owner/location", want: "401 403 404 403 403 404"},
	{route: "GET /api/people/search", want: people, query: "?q=zz"},
	{route: "GET /api/permission-requests", want: signedIn},
	{route: "GET /api/tasks", want: signedIn},
	{route: "GET /api/unread-counts", want: "401 hidden hidden in hidden in", shows: "{conversation}"},
	{route: "GET /healthz", want: everybody},
	{route: "GET /readyz", want: everybody},
	{route: "PATCH /api/agents/me/model-config", want: agentsOnly, body: `{}`},
	{route: "PATCH /api/agents/me/settings", want: agentsOnly, body: `{}`},
	{route: "PATCH /api/agents/{agent}", want: ownerOfAgent, body: `{"displayName":"New"}`},
	{route: "PATCH /api/agents/{agent}/model-config", want: ownerOfAgent, body: `{}`},
	{route: "PATCH /api/agents/{agent}/soul", want: ownerOfAgent, body: `{}`},
	{route: "PATCH /api/conversations/{conversation}", want: adminsOfRoom, body: `{"title":"New"}`},
	{route: "PATCH /api/me", want: people, body: `{"firstName":"New"}`},
	{route: "PATCH /api/me/active-organization", want: "401 404 403 404 in 403", body: `{"organizationId":"{organization}"}`},
	{route: "PATCH /api/me/consent", want: people, body: `{}`},
	{route: "PATCH /api/me/llm-keys/{key}", want: "401 404 403 404 in 403", body: `{}`},
	{route: "PATCH /api/me/notification-preferences", want: people, body: `{}`},
	{route: "PATCH /api/me/settings", want: people, body: `{}`},
	{route: "POST /api/agents", want: people, body: `{"displayName":"New"}`},
	{route: "POST /api/agents/heartbeat", want: agentsOnly, body: `{}`},
	{route: "POST /api/agents/me/capabilities", want: agentsOnly, body: `{}`},
	{route: "POST /api/agents/me/cli-tool-uses", want: agentsOnly, body: `{}`},
	{route: "POST /api/agents/me/runtime-faults", want: agentsOnly, body: `{}`},
	{route: "POST /api/agents/{agent}/delete-permanent", want: ownerOfAgent, body: `{"confirmName":"agent"}`},
	{route: "POST /api/agents/{agent}/executors/{executor}/kill", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/health/clear-messages", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/health/clear-tasks", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/health/offline", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/health/reset", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/health/unstick", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/regenerate-key", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/stop", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/agents/{agent}/wake", want: ownerOfAgent, body: `{}`},
	{route: "POST /api/auth/agent-token", want: everybody, body: `{}`},
	{route: "POST /api/auth/login", want: everybody, body: `{}`},
	{route: "POST /api/auth/logout", want: people, body: `{}`},
	{route: "POST /api/auth/one-time", want: everybody, body: `{}`},
	{route: "POST /api/auth/signup", want: everybody, body: `{}`},
	{route: "POST /api/conversations", want: signedIn, body: `{"type":"group","title":"x","memberIds":["{agent}"]}`},
	{route: "POST /api/conversations/{conversation}/files/confirm", want: "401 404 404 404 in 404", body: `{"storageKey":"{file}"}`},
	{route: "POST /api/conversations/{conversation}/members", want: adminsOfRoom, body: `{"participantId":"{stranger}"}`},
	{route: "POST /api/conversations/{conversation}/messages", want: membersOfRoom, body: `{"content":"hello"}`},
	{route: "POST /api/conversations/{conversation}/read", want: membersOfRoom, body: `{}`},
	{route: "POST /api/conversations/{conversation}/rename-suggestion", want: membersOfRoom, body: `{"action":"skip"}`},
	{route: "POST /api/conversations/{conversation}/stop-agents", want: membersOfRoom, body: `{}`},
	{route: "POST /api/conversations/{conversation}/stream", want: "401 403 404 403 403 in", body: `{"stream_id":"s","status":"started","phase":"thinking"}`},
	{route: "POST /api/conversations/{conversation}/upload-url", want: membersOfRoom, body: `{"filename":"a.txt","contentType":"text/plain","sizeBytes":3}`},
	{route: "POST /api/gateway/executors", want: agentsOnly, body: `{"executor_key":"k2","max_concurrent":1}`},
	{route: "POST /api/gateway/executors/{executor}/heartbeat", want: "401 403 404 403 403 in", body: `{}`},
	{route: "POST /api/gateway/messages/batch-ack", want: agentsOnly, body: `{"executor_id":"{executor}","ids":["{item}"]}`},
	{route: "POST /api/gateway/messages/{item}/ack", want: "401 403 404 403 403 403", body: `{"executor_id":"{executor}"}`},
	{route: "POST /api/gateway/messages/{item}/complete", want: "401 403 404 403 403 403", body: `{"executor_id":"{executor}","generation":1,"outcome":"passed"}`},
	{route: "POST /api/gateway/messages/{item}/release", want: "401 403 404 403 403 403", body: `{"executor_id":"{executor}","generation":1}`},
	{route: "POST /api/mcp", want: "401 403 hidden 403 403 in", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_messages","arguments":{"conversation_id":"{conversation}"}}}`, shows: "hello"},
	{route: "POST /api/mcp/call", want: "401 403 hidden 403 403 in", body: `{"tool_name":"get_messages","args":{"conversation_id":"{conversation}"},"context":{}}`, shows: "hello"},
	{route: "POST /api/me/llm-keys", want: people, body: `{}`},
	{route: "POST /api/me/llm-keys/{key}/default", want: "401 404 403 404 in 403", body: `{}`},
	{route: "POST /api/me/tours/{tour}", want: people, body: `{}`},
	{route: "POST /api/usage", want: agentsOnly, body: `{}`},
	{route: "PUT /api/files/{file}/content", want: "403 403 403 403 403 403"}, // a signed address: TestK3_SignedAddresses
	{route: "PUT /api/me/locale", want: people, body: `{"locale":"de"}`},
	{route: "PUT /api/me/password", want: people, body: `{}`},
	{route: "PUT /api/me/timezone", want: people, body: `{"timezone":"Europe/Berlin"}`},
}
