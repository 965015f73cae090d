import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import * as conversations from "#/api/conversations";
import * as files from "#/api/files";
import { keys } from "#/api/keys";
import { getMe } from "#/api/me";
import { session } from "#/api/session";
import type { Id } from "#/api/types";
import { HubContext } from "./context";
import { DeviceFileBox } from "./fileBox";
import { Hub } from "./hub";
import { makePhoenixSocket } from "./socket";

function browserStorage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

function makeHub(selfId: Id): Hub {
  return new Hub({
    selfId,
    token: () => session.token() ?? "",
    makeSocket: makePhoenixSocket,
    api: {
      listConversations: () => conversations.listConversations(),
      getConversation: (id) => conversations.getConversation(id),
      unreadCounts: () => conversations.unreadCounts(),
      markRead: (id) => conversations.markRead(id),
      listMessages: (id, before) => conversations.listMessages(id, before),
      listChanges: (id, after) => conversations.listChanges(id, after),
      probe: () => getMe(),
    },
    storage: browserStorage(),
    files: { api: { begin: files.beginUpload, put: files.putBytes }, box: new DeviceFileBox(selfId) },
    pageSize: conversations.MESSAGE_PAGE,
    visible: () => document.visibilityState === "visible" && document.hasFocus(),
  });
}

/** Owns the live connection of one signed-in person. Give it `key={selfId}`. */
export function RealtimeProvider({ selfId, children }: { selfId: Id; children: ReactNode }) {
  const queries = useQueryClient();
  const [hub, setHub] = useState<Hub | null>(null);

  useEffect(() => {
    const next = makeHub(selfId);
    const stopWatching = next.onUserEvent((event, payload) => {
      const agentId = typeof payload["agentId"] === "string" ? payload["agentId"] : typeof payload["id"] === "string" ? payload["id"] : null;
      switch (event) {
        case "agent_created":
        case "agent_deleted":
        case "agent_deactivated":
        case "agent_updated":
          void queries.invalidateQueries({ queryKey: keys.agents.list });
          if (agentId) void queries.invalidateQueries({ queryKey: keys.agents.one(agentId) });
          // An invite is used by an agent that comes or changes.
          void queries.invalidateQueries({ queryKey: keys.invites });
          break;
        case "agent_status_changed":
        case "agent_health_updated":
          void queries.invalidateQueries({ queryKey: keys.agents.health });
          if (agentId) void queries.invalidateQueries({ queryKey: keys.agents.oneHealth(agentId) });
          break;
        case "agent_activity_changed":
          // A turn has begun or ended.
          if (agentId && !payload["activity"]) void queries.invalidateQueries({ queryKey: keys.agents.turns(agentId) });
          break;
        case "active_organization_changed":
        case "workspaces_updated":
          void queries.invalidateQueries({ queryKey: keys.me });
          void queries.invalidateQueries({ queryKey: keys.agents.all });
          break;
      }
    });
    // What happened while the socket was away is read again.
    let wasOnline = false;
    const stopConnection = next.connection.subscribe(() => {
      const online = next.connection.get().state === "online";
      if (online && wasOnline === false && next.connection.get().since > started) void queries.invalidateQueries({ queryKey: keys.agents.all });
      wasOnline = online;
    });
    const started = Date.now() + 2_000;
    next.start();
    setHub(next);
    return () => {
      stopWatching();
      stopConnection();
      next.stop();
      setHub(null);
    };
  }, [selfId, queries]);

  return hub ? <HubContext.Provider value={hub}>{children}</HubContext.Provider> : null;
}
