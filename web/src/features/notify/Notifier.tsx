import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { keys } from "#/api/keys";
import { getNotificationPreferences } from "#/api/me";
import { toast } from "#/components/ui/toast";
import { t } from "#/i18n";
import { useSelf } from "#/lib/self";
import { useUserEvents } from "#/realtime/useChannel";
import { busyNotice, callFor, callForRequest, writerNotice } from "./notify";

/** Calls the person by the system's notices while they are elsewhere, and shows what the server says to the writer alone. Draws nothing. */
export function Notifier() {
  const self = useSelf();
  const navigate = useNavigate();
  const prefs = useQuery({
    queryKey: keys.notificationPreferences,
    queryFn: ({ signal }) => getNotificationPreferences(signal),
    staleTime: 5 * 60_000,
  });
  useUserEvents((event, payload) => {
    if (event === "notice") {
      const title = writerNotice(payload);
      if (title) toast({ title });
      return;
    }
    if (event === "agent_busy_redirect") {
      const busy = busyNotice(payload, window.location.pathname);
      if (!busy) return;
      const { room: roomId, ...words } = busy;
      toast({
        ...words,
        duration: 12_000,
        action: { label: t("notify.busyGo"), run: () => void navigate({ to: "/rooms/$roomId", params: { roomId } }) },
      });
      return;
    }
    if (
      (event !== "conversation_updated" && event !== "permission_request") ||
      typeof Notification === "undefined" ||
      Notification.permission !== "granted"
    )
      return;
    const attentive = document.visibilityState === "visible" && document.hasFocus();
    const situation = { selfId: self.id, attentive, preferences: prefs.data ?? null };
    if (event === "permission_request") {
      const call = callForRequest(payload, situation);
      if (call) notice(call.title, call.body, `request:${String(payload["id"])}`, () => void navigate({ to: "/decisions" }));
      return;
    }
    const call = callFor(payload, situation);
    if (!call) return;
    // One notice per room or task: a newer one takes the place of the older.
    const { taskId, conversationId } = call;
    notice(call.title, call.body, taskId ?? conversationId, () =>
      taskId
        ? void navigate({ to: "/tasks", search: { task: taskId } })
        : void navigate({ to: "/rooms/$roomId", params: { roomId: conversationId } }),
    );
  });
  return null;
}

function notice(title: string, body: string, tag: string, open: () => void) {
  try {
    const shown = new Notification(title, { body, tag, icon: "/icon.svg" });
    shown.onclick = () => {
      window.focus();
      shown.close();
      open();
    };
  } catch {
    // Some phones allow notices only from a service worker: then the unread number has to do.
  }
}
