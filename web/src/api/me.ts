/** The signed-in person: profile, consent, language, notifications, model keys (contract 4.2, 4.21). */
import { api } from "./client";
import type { LlmKey, Self } from "./types";

export function getMe(signal?: AbortSignal | undefined): Promise<Self> {
  return api.get("/api/me", { signal });
}

export interface ProfileInput {
  displayName?: string;
  firstName?: string;
  lastName?: string | null;
  description?: string;
  /** At most 140 characters; stored in metadata. */
  tagline?: string;
  avatarUrl?: string | null;
}

export function updateMe(input: ProfileInput): Promise<Self> {
  return api.patch("/api/me", input);
}

/** Irreversible. The phrase is the contract's, the dialog asks the person to type it. */
export function deleteMe(confirm: string): Promise<void> {
  return api.delete("/api/me", { confirm });
}

export function updateConsent(input: { marketingOptIn?: boolean; analyticsOptIn?: boolean; reaccept?: true }): Promise<Self> {
  return api.patch("/api/me/consent", input);
}

export function setTimezone(timezone: string): Promise<{ timezone: string }> {
  return api.put("/api/me/timezone", { timezone });
}

/** null: follow the device. */
export function setLocale(locale: string | null): Promise<unknown> {
  return api.put("/api/me/locale", { locale });
}

export type NotificationPreferences = Record<string, boolean>;

export async function getNotificationPreferences(signal?: AbortSignal | undefined): Promise<NotificationPreferences> {
  return (await api.get<{ notificationPreferences: NotificationPreferences }>("/api/me/notification-preferences", { signal }))
    .notificationPreferences;
}

export function setNotificationPreferences(changes: NotificationPreferences): Promise<unknown> {
  return api.patch("/api/me/notification-preferences", changes);
}

export async function listLlmKeys(signal?: AbortSignal | undefined): Promise<LlmKey[]> {
  return (await api.get<{ keys: LlmKey[] }>("/api/me/llm-keys", { signal })).keys;
}

export async function addLlmKey(input: { provider: string; token: string; label?: string; makeDefault?: boolean }): Promise<LlmKey> {
  return (await api.post<{ key: LlmKey }>("/api/me/llm-keys", input)).key;
}

export async function makeLlmKeyDefault(id: string): Promise<LlmKey> {
  return (await api.post<{ key: LlmKey }>(`/api/me/llm-keys/${encodeURIComponent(id)}/default`)).key;
}

export function deleteLlmKey(id: string): Promise<void> {
  return api.delete(`/api/me/llm-keys/${encodeURIComponent(id)}`);
}
