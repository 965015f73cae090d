package wire

// ConversationMemory answers GET /api/conversations/:id/memory (bridge 3.4, desktop 5.12):
// a JSON object, {} at version 0 while nobody has written it.
type ConversationMemory struct {
	ConversationID string `json:"conversationId"`
	Memory         Map    `json:"memory"`
	Version        int    `json:"version"`
	UpdatedBy      string `json:"updatedBy,omitempty"`
	UpdatedAt      *Time  `json:"updatedAt,omitempty"`
	Diff           Map    `json:"diff,omitempty"` // of a write: {key: {from?, to?}}
}

// ConversationMemoryWrite is the body of PATCH (changes) and PUT (memory). Version is
// ours: what the writer has read; another one is refused with 409 version_conflict.
type ConversationMemoryWrite struct {
	Changes Map    `json:"changes"`
	Memory  Map    `json:"memory"`
	Reason  string `json:"reason"`
	Version *int   `json:"version"`
}

// ConversationMemoryHistory answers GET …/memory/history, newest first.
type ConversationMemoryHistory struct {
	ConversationID string                     `json:"conversationId"`
	History        []ConversationMemoryChange `json:"history"`
	HasMore        bool                       `json:"hasMore"`
}

// ConversationMemoryChange is one change.
type ConversationMemoryChange struct {
	Version       int     `json:"version"`
	Kind          string  `json:"kind"` // patch | replace
	Diff          Map     `json:"diff"`
	Reason        string  `json:"reason"`
	ChangedBy     *string `json:"changedBy"`
	ChangedByName string  `json:"changedByName"`
	InsertedAt    Time    `json:"insertedAt"`
}

// MemoryUpdated is memory_updated on the room's topic and conversation_memory after a join.
type MemoryUpdated struct {
	ConversationID string `json:"conversationId"`
	Memory         Map    `json:"memory"`
	Version        int    `json:"version"`
}

// ConversationContext answers GET /api/conversations/:id/context, messages oldest first.
type ConversationContext struct {
	ConversationID string    `json:"conversationId"`
	Memory         Map       `json:"memory"`
	MemoryVersion  int       `json:"memoryVersion"`
	Messages       []Message `json:"messages"`
	Tier           int       `json:"tier"` // 0 memory only, 1 the last ten messages, 2 pages of the whole history
	HasMore        bool      `json:"hasMore"`
}

// ConversationBrief answers GET /api/conversations/:id/brief.
type ConversationBrief struct {
	Brief Brief `json:"brief"`
}

// Brief is what to know before one speaks in a room.
type Brief struct {
	ConversationID string        `json:"conversationId"`
	Title          *string       `json:"title"`
	Type           string        `json:"type"`
	Participants   []BriefMember `json:"participants"`
	Memory         Map           `json:"memory"`
	MemoryVersion  int           `json:"memoryVersion"`
	MessageCount   int64         `json:"messageCount"`
	LastMessageAt  *Time         `json:"lastMessageAt"`
	LatestMessages []BriefLine   `json:"latestMessages"` // oldest first
	OpenTasks      []BriefTask   `json:"openTasks"`
}

// BriefMember is somebody in the room.
type BriefMember struct {
	ParticipantID string `json:"participantId"`
	DisplayName   string `json:"displayName"`
	Type          string `json:"type"` // human | agent
	Role          string `json:"role"`
}

// BriefLine is the beginning of a message.
type BriefLine struct {
	SenderName string `json:"senderName"`
	Text       string `json:"text"`
	InsertedAt Time   `json:"insertedAt"`
}

// BriefTask is a task of the room that has not ended.
type BriefTask struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Status     string   `json:"status"`
	AssignedTo []string `json:"assignedTo"` // names
}

// Memory is what an agent or a family remembers (desktop 5.15).
type Memory struct {
	ID                   string   `json:"id"`
	AgentID              string   `json:"agentId,omitempty"`
	FamilyRootID         string   `json:"familyRootId,omitempty"` // of a shared one: its owner
	OrganizationID       *string  `json:"organizationId"`
	LastWrittenByID      *string  `json:"lastWrittenById"`
	Category             string   `json:"category"` // fact | preference | learning | relationship | skill
	Key                  string   `json:"key"`
	Content              string   `json:"content"`
	Confidence           float64  `json:"confidence"` // 0 to 1
	Description          *string  `json:"description"`
	Tags                 []string `json:"tags"`
	Metadata             Map      `json:"metadata"`
	RelatedIDs           []string `json:"relatedIds"` // of the same key
	SourceConversationID *string  `json:"sourceConversationId"`
	Untrusted            bool     `json:"untrusted"` // ours: strangers' text had entered the turn that wrote it
	InsertedAt           Time     `json:"insertedAt"`
	UpdatedAt            Time     `json:"updatedAt"`
}

// Memories is a page of them.
type Memories struct {
	Memories     []Memory `json:"memories"`
	Total        int      `json:"total"`
	HasMore      bool     `json:"hasMore"`
	FamilyRootID string   `json:"familyRootId,omitempty"` // of shared ones
}

// MemorySaved answers a write. MemoryPrompt is what the agent will be told.
type MemorySaved struct {
	Memory       Memory `json:"memory"`
	MemoryPrompt string `json:"memoryPrompt"`
}

// OneMemory answers what a person writes.
type OneMemory struct {
	Memory Memory `json:"memory"`
}

// MemoryPrompt answers DELETE /api/agents/:id/memories/:id.
type MemoryPrompt struct {
	MemoryPrompt string `json:"memoryPrompt"`
}

// MemoryInput is what is to be remembered (desktop 5.15).
type MemoryInput struct {
	Category             string    `json:"category"`
	Key                  string    `json:"key"`
	Content              string    `json:"content"`
	Confidence           *float64  `json:"confidence"`
	Description          *string   `json:"description"`
	Tags                 *[]string `json:"tags"`
	Metadata             Map       `json:"metadata"`
	SourceConversationID *string   `json:"sourceConversationId"`
	Force                bool      `json:"force"`
	Scope                string    `json:"scope"` // family | workspace
	OrganizationID       *string   `json:"organizationId"`
}

// MemoryEdit changes a memory; absent keys stay.
type MemoryEdit struct {
	Content     *string   `json:"content"`
	Confidence  *float64  `json:"confidence"`
	Description *string   `json:"description"`
	Tags        *[]string `json:"tags"`
}

// MemorySearch answers GET /api/me/memories/search.
type MemorySearch struct {
	Results []MemoryHit `json:"results"`
}

// MemoryHit is one of the person's agents' memories.
type MemoryHit struct {
	Type      string  `json:"type"` // memory | family_memory
	ID        string  `json:"id"`
	AgentID   *string `json:"agentId"`
	Title     *string `json:"title"`
	Snippet   *string `json:"snippet"`
	UpdatedAt *Time   `json:"updatedAt"`
}

// MemoryForget is the body of POST /api/me/memories/forget.
type MemoryForget struct {
	Items []MemoryItem `json:"items"`
}

// MemoryItem names a memory.
type MemoryItem struct {
	Type string `json:"type"` // memory | family_memory
	ID   string `json:"id"`
}

// Deleted counts.
type Deleted struct {
	Deleted int `json:"deleted"`
}

// MemorySavedEvent is memory_saved on the owner's topic (desktop 3.5).
type MemorySavedEvent struct {
	Scope          string  `json:"scope"` // agent | family
	MemoryID       string  `json:"memoryId"`
	Category       string  `json:"category"`
	Key            string  `json:"key"`
	Content        string  `json:"content"`
	OrganizationID *string `json:"organizationId,omitempty"`
	ConversationID *string `json:"conversationId,omitempty"`
	AgentID        string  `json:"agentId"`
	AgentName      *string `json:"agentName,omitempty"`
	AgentAvatarURL *string `json:"agentAvatarUrl,omitempty"`
}

// OwnerLocation answers GET /api/owner/location (bridge 3.5) and PUT /api/me/location.
type OwnerLocation struct {
	Location Location `json:"location"`
}

// Location is where a person says that they are, in degrees and metres (WGS 84).
type Location struct {
	Latitude  float64  `json:"latitude"`
	Longitude float64  `json:"longitude"`
	Accuracy  *float64 `json:"accuracy,omitempty"`
	Timestamp Time     `json:"timestamp"`
}

// LocationShare is the body of PUT /api/me/location: the person agrees that their own
// agents may know it.
type LocationShare struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Accuracy  *float64 `json:"accuracy"`
}

// AgentTrust answers GET /api/agents/me/trust (bridge 2.12, 3.5).
type AgentTrust struct {
	Trusted   []TrustedAgent `json:"trusted"`
	TrustedBy []TrustedAgent `json:"trustedBy"`
}

// TrustedAgent is another agent of the same owner.
type TrustedAgent struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	DisplayName string `json:"displayName"`
}

// SoulHistory answers GET /api/agents/:id/soul/history, newest first.
type SoulHistory struct {
	SoulMD  string        `json:"soulMd"` // in force
	History []SoulVersion `json:"history"`
}

// SoulVersion is a soul that was replaced.
type SoulVersion struct {
	ID             string  `json:"id"`
	SoulMD         string  `json:"soulMd"`
	ReplacedBy     *string `json:"replacedBy"`
	ReplacedByName string  `json:"replacedByName"`
	ReplacedAt     Time    `json:"replacedAt"`
}

// SoulRevert is the body of POST /api/agents/:id/soul/revert; none is the soul before
// the present one.
type SoulRevert struct {
	Version string `json:"version"`
}

// Warmup answers POST /api/gateway/warmup of bridges up to 2.11.15 (bridge 3.2).
type Warmup struct {
	Conversations []WarmRoom `json:"conversations"`
}

// WarmRoom is what the agent is told in a room, before it is asked anything.
type WarmRoom struct {
	ConversationID string     `json:"conversationId"`
	Directives     Directives `json:"directives"`
}
