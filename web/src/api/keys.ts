/** Query keys, one tree, so that an event can invalidate exactly what it touched. */
import type { Id } from "./types";

export const keys = {
  me: ["me"] as const,
  sessions: ["me", "sessions"] as const,
  notificationPreferences: ["me", "notification-preferences"] as const,
  settings: ["me", "settings"] as const,
  llmKeys: ["me", "llm-keys"] as const,
  services: ["me", "apis"] as const,
  signupPolicy: ["auth", "signup-policy"] as const,
  people: (term: string) => ["people", term] as const,
  fieldLimits: ["field-limits"] as const,
  models: ["models"] as const,
  invites: ["invites"] as const,
  localSetup: ["setup", "local"] as const,
  conversation: (id: Id) => ["conversations", id] as const,
  receipts: (id: Id, messageIds: readonly Id[]) => ["conversations", id, "receipts", ...messageIds] as const,
  decisions: {
    all: ["decisions"] as const,
    pending: ["decisions", "pending"] as const,
    decided: ["decisions", "decided"] as const,
    grants: ["decisions", "grants"] as const,
    credentials: ["decisions", "credentials"] as const,
    given: ["decisions", "given"] as const,
    list: ["decisions", "list"] as const,
  },
  tasks: {
    all: ["tasks"] as const,
    list: (filter: string) => ["tasks", "list", filter] as const,
    one: (id: Id) => ["tasks", "one", id] as const,
  },
  agents: {
    all: ["agents"] as const,
    list: ["agents", "list"] as const,
    health: ["agents", "health"] as const,
    one: (id: Id) => ["agents", "one", id] as const,
    oneHealth: (id: Id) => ["agents", "one", id, "health"] as const,
    turns: (id: Id) => ["agents", "one", id, "turns"] as const,
    tools: (id: Id) => ["agents", "one", id, "tools"] as const,
    toolCalls: (id: Id) => ["agents", "one", id, "tool-calls"] as const,
    usage: (id: Id) => ["agents", "one", id, "usage"] as const,
  },
};
