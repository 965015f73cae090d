import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { keys } from "#/api/keys";
import { getNotificationPreferences } from "#/api/me";
import { toast } from "#/components/ui/toast";
import { useSelf } from "#/lib/self";
import { useUserEvents } from "#/realtime/useChannel";
import { callFor, writerNotice } from "./notify";

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
    if (event !== "conversation_updated" || typeof Notification === "undefined" || Notification.permission !== "granted") return;
    const attentive = document.visibilityState === "visible" && document.hasFocus();
    const call = callFor(payload, { selfId: self.id, attentive, preferences: prefs.data ?? null });
    if (!call) return;
    try {
      // One notice per room: a newer one takes the place of the older.
      const notice = new Notification(call.title, { body: call.body, tag: call.conversationId, icon: "/icon.svg" });
      notice.onclick = () => {
        window.focus();
        notice.close();
        void navigate({ to: "/rooms/$roomId", params: { roomId: call.conversationId } });
      };
    } catch {
      // Some phones allow notices only from a service worker: then the unread number has to do.
    }
  });
  return null;
}
