/**
 * The objects on the wire as this client reads them (contract desktop.md 5; docs/protocol.md for what we add).
 *
 * Written for the reader: a key is optional when a server may leave it out, and only keys that some screen reads are listed. `wire.gen.ts` is the
 * server's side of the same truth, generated from `internal/wire`; `wire.check.ts` fails to compile when the two disagree.
 */

export type Id = string;
/** ISO-8601, UTC, constant precision, ends in `Z`: comparable as a string. */
export type Timestamp = string;
export type JsonMap = Record<string, unknown>;

export type ParticipantType = "human" | "agent";

export interface OrganizationRef {
  id: Id;
  name: string;
  avatarUrl?: string | null;
  isPersonal?: boolean;
  role?: "owner" | "admin" | "member";
}

/** A person or an agent as others see it. */
export interface Participant {
  id: Id;
  type: ParticipantType;
  displayName: string;
  avatarUrl?: string | null;
  description?: string | null;
  /** Only in search results. */
  maskedEmail?: string;
  metadata?: JsonMap;
  online?: boolean;
  externalTool?: string | null;
  insertedAt?: Timestamp;
}

/** `GET /api/me`: the signed-in person. */
export interface Self extends Participant {
  firstName?: string | null;
  lastName?: string | null;
  email?: string;
  timezone?: string | null;
  /** null: follow the device. */
  locale?: string | null;
  activeOrganizationId?: Id | null;
  organizations?: OrganizationRef[];
  platformAdmin?: boolean;
  features?: Record<string, boolean>;
  marketingOptIn?: boolean;
  analyticsOptIn?: boolean;
  acceptedPolicyVersion?: string | null;
  policyReacceptRequired?: boolean;
  /** Where they are, while they share it with their own agents. */
  location?: unknown;
}

export interface Member {
  participantId: Id;
  displayName?: string;
  role?: string;
  participant?: Participant;
}

export interface Sender {
  id: Id;
  type: ParticipantType;
  displayName: string;
  avatarUrl?: string | null;
}

export interface Reaction {
  emoji: string;
  participantIds: Id[];
}

export interface FileAttachment {
  id: Id;
  filename?: string;
  contentType?: string;
  sizeBytes?: number;
  downloadUrl?: string;
  previewUrl?: string;
  /** Its bytes are gone; the message stays. */
  deleted?: boolean;
}

/** A file of a room, in its list. */
export interface RoomFile {
  id: Id;
  messageId: Id;
  conversationId: Id;
  uploadedBy: Id;
  filename: string;
  contentType: string;
  sizeBytes: number;
  insertedAt: Timestamp;
  uploader: Sender | null;
}

export interface AwaitingAgent {
  agent_id: Id;
  agent_name?: string;
  task_id?: Id;
  work_conversation_id?: Id;
}

export interface NotAnswered {
  reason: string;
  agents?: string[];
  at?: Timestamp;
}

/** Known keys of a message's free-form metadata; unknown ones pass through. */
export interface MessageMetadata extends JsonMap {
  client_nonce?: string;
  stream_id?: string;
  mentions?: { displayName: string; id?: Id }[];
  model?: string;
  backend?: string;
  source?: string;
  errorKind?: string;
  /** Stable code of a notice or an error, rendered from our catalogue (decision 24). */
  code?: string;
  awaiting_agent?: AwaitingAgent | null;
  not_answered?: NotAnswered | null;
}

export interface Message {
  id: Id;
  conversationId: Id;
  senderId: Id | null;
  sender?: Sender | null;
  content: string;
  contentType?: string;
  messageType?: string;
  metadata?: MessageMetadata;
  contentStructured?: { data?: JsonMap; payload?: JsonMap } | null;
  parentMessageId?: Id | null;
  turnGroupId?: string | null;
  fileAttachments?: FileAttachment[];
  reactions?: Reaction[];
  threadRootId?: Id | null;
  threadOnly?: boolean;
  replyCount?: number;
  lastReplyAt?: Timestamp | null;
  replySenderIds?: Id[];
  insertedAt: Timestamp;
  updatedAt?: Timestamp;
  readableText?: string | null;
  notificationCategory?: string | null;
  /** Dense per conversation, counts messages only (docs/protocol.md 5). */
  messageSeq?: number;
}

export type ConversationType = "direct" | "group" | "channel" | "task" | "session";

export interface Conversation {
  id: Id;
  type: ConversationType;
  title?: string | null;
  avatarUrl?: string | null;
  createdBy?: Id | null;
  metadata?: JsonMap;
  insertedAt: Timestamp;
  updatedAt: Timestamp;
  lastMessage?: Message | null;
  members?: Member[];
  pinned?: boolean;
  parentConversationId?: Id | null;
  organizationId?: Id | null;
  agentsAddWithoutAsking?: boolean;
  unreadCount?: number;
  mentionCount?: number;
  /** The reader's mark: the `messageSeq` up to which everything was read. */
  lastReadSeq?: number;
  /** Version of the room; every persisted event on its topic carries the next one. */
  seq?: number;
  /** Of a side conversation; what it says of itself is in `metadata`, see `lib/huddles.ts`. */
  huddle?: { messageCount: number };
}

/** `event` is the name the same change has on the socket; `payload` its payload there. */
export interface Change {
  seq: number;
  event: string;
  payload: JsonMap;
}

export interface ChangesPage {
  changes: Change[];
  seq: number;
  reset?: boolean;
}

export type AgentPresence = "online_local" | "offline";
export type AgentActivity = "thinking" | "tool_call" | "writing" | "analyzing" | "waiting" | "working";
export type StreamStatus = "started" | "streaming" | "complete" | "cancelled";
export type StreamPhase = "thinking" | "tool_call" | "writing" | "analyzing" | "queued" | "waiting";
export type Effort = "low" | "medium" | "high" | "max";

export interface ModelConfig extends JsonMap {
  backend?: string | null;
  model?: string | null;
  effort?: Effort | null;
  execution_mode?: string | null;
  llm_api_key_id?: Id | null;
  cli_connection?: string | null;
}

export interface ExternalSession {
  id: Id;
  sessionKey: string;
  tool: string;
  state: "running" | "waiting" | "ended";
  cwd?: string;
  repo?: string;
  branch?: string;
  hostname?: string;
  stats?: { prompts?: number; tool_calls?: number };
  startedAt: Timestamp;
  lastEventAt: Timestamp;
  endedAt?: Timestamp | null;
  dmConversationId?: Id | null;
}

export interface Agent {
  id: Id;
  displayName: string;
  description?: string | null;
  avatarUrl?: string | null;
  agentType?: string;
  ownerId?: Id;
  insertedAt?: Timestamp;
  status?: string;
  runtime?: "local" | "org_host" | "external";
  externalTool?: string | null;
  externalSession?: ExternalSession | null;
  presence?: AgentPresence;
  online?: boolean;
  deviceName?: string | null;
  deviceNickname?: string | null;
  presenceMode?: "always_on" | "wake_on_demand" | "manual";
  lastActiveAt?: Timestamp | null;
  modelConfig?: ModelConfig;
  metadata?: JsonMap;
  capabilities?: string[];
  soulMd?: string | null;
  soulMdInherited?: boolean;
  soulMdSourceName?: string | null;
  lifecycleStage?: "onboarding" | "established";
  /** Beginning of the key in force, for the owner. */
  keyPrefix?: string;
}

/** Answer of create and regenerate-key: the only two times the key is in clear. */
export interface AgentWithKey extends Agent {
  apiKey: string;
}

export interface Blocker {
  code: string;
  message?: string;
  detail?: string | null;
  reported?: string;
  minVersion?: string;
}

export type HealthStatus = "healthy" | "degraded" | "stuck" | "offline";

export interface AgentHealth {
  agentId: Id;
  displayName?: string;
  healthStatus: HealthStatus;
  executorCount: number;
  onlineExecutorCount: number;
  stuckCount: number;
  queuedTasks: number;
  queuedMessages: number;
  blocker?: Blocker | null;
}

export interface ExecutorHealth {
  id: Id;
  displayName?: string;
  executorKey: string;
  status: string;
  deviceName?: string | null;
  bridgeVersion?: string;
  maxConcurrent?: number;
  lastPollAt?: Timestamp | null;
  secondsSincePoll?: number | null;
  activeTaskCount?: number;
  pendingCommand?: { type: string; reason?: string; issuedAt?: Timestamp } | null;
}

export interface AgentHealthDetail extends AgentHealth {
  executors: ExecutorHealth[];
  /** Newest first. */
  faults?: RuntimeFault[];
  stuckTasks?: { id: Id; taskId: Id; title?: string; claimedAt: Timestamp; status: string; elapsedSeconds: number }[];
  unackedMessages?: { id: Id; messageId: Id; conversationId: Id; claimedAt: Timestamp; elapsedSeconds: number }[];
}

/** What a bridge reported about its own run. */
export interface RuntimeFault {
  id: Id;
  kind: string;
  conversationId?: Id | null;
  messageId?: Id | null;
  detail: string;
  insertedAt: Timestamp;
}

export type TurnOutcome = "answered" | "passed" | "failed" | "stopped" | "unanswered" | "expired" | "merged";

/** One finished turn of an agent (ours: `GET /api/agents/:id/turns`). */
export interface Turn {
  id: Id;
  conversationId: Id;
  messageId: Id;
  answerId?: Id | null;
  outcome: TurnOutcome;
  errorCode?: string | null;
  errorMessage?: string | null;
  queuedAt?: Timestamp;
  startedAt?: Timestamp | null;
  endedAt: Timestamp;
  durationMs?: number | null;
  model?: string | null;
  backend?: string | null;
  inputTokens?: number | null;
  outputTokens?: number | null;
  cacheReadTokens?: number | null;
  toolCalls?: number | null;
}

export interface CatalogModel {
  id: string;
  label: string;
  legacy?: boolean;
  runtimes?: Record<string, string>;
}

export interface CatalogProvider {
  id: string;
  label: string;
  requiresLlmKey?: boolean;
  supportedModes?: string[];
  models: CatalogModel[];
  cliConnections?: string[];
}

export interface ModelCatalog {
  providers: CatalogProvider[];
  llmKeyProviders?: { id: string; label: string }[];
}

/** A stored model key; its token is never sent back. */
export interface LlmKey {
  id: Id;
  provider: string;
  label?: string | null;
  /** A few characters that tell one key from another. */
  fingerprint?: string;
  isDefault?: boolean;
  status?: string;
  lastValidatedAt?: Timestamp | null;
  insertedAt?: Timestamp;
}

/** A signed-in device (ours: `GET /api/me/sessions`). */
export interface Session {
  id: Id;
  current: boolean;
  userAgent?: string | null;
  ip?: string | null;
  createdAt: Timestamp;
  lastSeenAt?: Timestamp | null;
}

export type LocalBackend = "claude_cli" | "codex_cli" | "anthropic" | "openai";

/** What this machine can run an agent with (ours: `GET /api/setup/local`). */
export interface LocalSetup {
  demoAgentId: Id | null;
  offers: { backend: LocalBackend; label: string; ready: boolean }[];
}

export interface FieldLimits {
  agent: { displayName: number; description: number; creationBrief: number };
  profile: { displayName: number; description: number };
}

export interface Receipt {
  messageId: Id;
  agentId: Id;
  agentName?: string;
  errorCode?: string | null;
  answerId?: Id | null;
  mergedInto?: Id | null;
  at?: Timestamp;
  state: "accepted" | "claimed" | "working" | "answered" | "merged" | "passed" | "unanswered" | "failed" | "expired" | "stopped" | "waiting" | "read";
}

/** A question whether something may run, as those see it who may decide. */
export interface PermissionRequest {
  id: Id;
  agentId: Id;
  ownerId: Id;
  conversationId?: Id | null;
  taskId?: Id | null;
  toolName: string;
  toolInput?: JsonMap;
  description?: string | null;
  /** The contract's four words; `state` is the exact one. */
  status: "pending" | "approved" | "denied" | "expired";
  state?: "pending" | "approved" | "edited" | "denied" | "expired" | "superseded" | "cancelled";
  decisionScope?: string | null;
  scopeKind?: string;
  scopeFacet?: string | null;
  /** Canonical JSON of exactly what is approved; left out of events when it is long. */
  action?: string;
  actionHash?: string;
  reason?: string | null;
  risk?: "low" | "medium" | "high" | "critical";
  /** The agent's run waits without a process: it can be edited, and there is time. */
  durable?: boolean;
  agentName?: string;
  conversationTitle?: string | null;
  scopes?: string[];
  decidedBy?: Id | null;
  decidedByName?: string | null;
  decidedAt?: Timestamp | null;
  decisionText?: string | null;
  editedInput?: JsonMap | null;
  grantId?: Id | null;
  /** Whether the run heard of it: resumed or failed. */
  outcome?: string | null;
  expiresAt: Timestamp;
  insertedAt: Timestamp;
  /** Different people who have to allow it, and who of them has. */
  decidersNeeded?: number;
  allowedBy?: Id[];
  allowedByNames?: string[];
  /** One of two has changed what would run: what is shown is the change. */
  changed?: boolean;
}

/** A standing yes. */
export interface ApprovalGrant {
  id: Id;
  agentId: Id;
  agentName: string;
  toolName: string;
  /** What the tool does, in English. */
  toolTitle: string;
  scopeKind: string;
  scopeFacet: string | null;
  /** Of an exact one: canonical JSON of what was allowed, or its beginning. */
  action: string | null;
  actionCut: boolean;
  /** null: everywhere, or in a room that is gone. */
  conversationId: Id | null;
  conversationTitle: string | null;
  roomGone: boolean;
  grantedBy: NamedPerson;
  uses: number;
  lastUsedAt: Timestamp | null;
  expiresAt: Timestamp;
  insertedAt: Timestamp;
}

/** An agent's question for a secret. The secret is in no answer. */
export interface CredentialRequest {
  id: Id;
  agentId: Id;
  agentName?: string | null;
  ownerId: Id;
  conversationId?: Id | null;
  conversationTitle?: string | null;
  taskId?: Id | null;
  label: string;
  reason?: string | null;
  endpoint?: string | null;
  authMode?: string | null;
  status: "pending" | "fulfilled" | "denied" | "expired";
  fingerprint?: string | null;
  uses?: number;
  lastUsedAt?: Timestamp | null;
  expiresAt: Timestamp;
  insertedAt: Timestamp;
}

/** Somebody of whom only the name is needed. */
export interface NamedPerson {
  id: Id;
  displayName: string;
}

/** Something that waited for this person and is over. Names are those of now, also of rooms and agents that are gone. */
export interface PastDecision {
  kind: string;
  id: string;
  sourceId: Id;
  /** What came of it: approved, edited, denied, expired, superseded, cancelled, answered, fulfilled, continued, raised, lifted or kept. */
  outcome: string;
  /** null: nobody did. */
  decidedBy: NamedPerson | null;
  agent: NamedPerson;
  /** null: there is no room to go to. */
  conversationId: Id | null;
  conversationTitle: string | null;
  taskId: Id | null;
  endedAt: Timestamp;
  /** Of the task. */
  title?: string;
  description?: string;
  question?: string;
  answer?: string;
  /** Of a credential its name, of a member request whom. */
  label?: string;
  endpoint?: string;
  fingerprint?: string;
  /** A secret that was given and is taken away again. */
  takenAway?: boolean;
  uses?: number;
  /** Of a budget stop, in tokens: of the day, the limit that they met, and the one since. */
  used?: number;
  tokensPerDay?: number;
  raisedTo?: number;
  /** Of an approval: what ran, and the standing yes that came of it. */
  request?: PermissionRequest;
  grant?: PastGrant;
}

export interface PastGrant {
  id: Id;
  uses: number;
  expiresAt: Timestamp;
  revokedAt: Timestamp | null;
}

export interface PastDecisions {
  decisions: PastDecision[];
  next: string | null;
}

/** One thing that waits for a person (contract 5.22). */
export interface Decision {
  kind: string;
  id: string;
  sourceId: Id;
  conversationId: Id | null;
  conversationTitle?: string | null;
  taskId: Id | null;
  agent: { id: Id; displayName: string | null } | null;
  insertedAt: Timestamp;
  question?: string;
  title?: string;
  /** Answers to choose from; none for free text. */
  options?: string[];
  /** The name of what is filled in, for free text. */
  field?: string;
  /** What counts when nobody answers in time. */
  defaultValue?: string;
  expiresAt?: Timestamp;
  /** Whom an agent wants in a room, and why. */
  label?: string;
  description?: string;
  /** Of a budget stop, in tokens. */
  used?: number;
  tokensPerDay?: number;
}

/** A task (contract 5.7; docs/tasks.md). */
export interface Task {
  id: Id;
  conversationId: Id;
  workConversationId?: Id;
  title: string;
  description?: string;
  status: string;
  createdBy?: Id;
  requesterId?: Id;
  assignedTo: Id[];
  assignees?: TaskPerson[];
  creator?: TaskPerson | null;
  requester?: TaskPerson | null;
  parentTaskId?: Id | null;
  retryOf?: Id | null;
  fanOut?: boolean;
  priority?: number;
  deadline?: Timestamp | null;
  response?: string | null;
  summary?: string | null;
  endKind?: string | null;
  failure?: { code: string; origin: string; transient: boolean; message: string } | null;
  working?: boolean;
  workingSince?: Timestamp | null;
  retryAt?: Timestamp | null;
  /** What must be done first. */
  dependsOn?: Id[];
  /** What its parts wake it for. */
  join?: TaskJoin | null;
  attempt?: number;
  startedAt?: Timestamp | null;
  endedAt?: Timestamp | null;
  insertedAt: Timestamp;
  updatedAt: Timestamp;
}

/** The barrier of a task's parts: `count` of `count` parts, any one or all; `until` ends the waiting. */
export interface TaskJoin {
  mode: string;
  count?: number | null;
  until?: Timestamp | null;
  firedAt?: Timestamp | null;
}

export interface TaskPerson {
  id: Id;
  type: string;
  displayName: string;
  avatarUrl?: string | null;
}

export interface TaskStep {
  id: string;
  title: string;
  status: string;
}

export interface TaskAsk {
  id: Id;
  asked: Id[];
  question: string;
  options: string[];
  /** What the free text is called. */
  field?: string | null;
  default?: string | null;
  status: string;
  answer?: string | null;
  expiresAt: Timestamp;
  /** The request that is to be decided; null for a question in words. */
  approvalId?: Id | null;
}

export interface TaskEvent {
  id: number;
  kind: string;
  fromStatus?: string | null;
  toStatus?: string | null;
  note?: string | null;
  insertedAt: Timestamp;
}

/** A task with its plan, questions, sub-tasks and newest history. */
export interface TaskDetail extends Task {
  steps: TaskStep[];
  asks: TaskAsk[];
  subtasks: Task[];
  history: TaskEvent[];
}
