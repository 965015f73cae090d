import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { listAgents } from "#/api/agents";
import { addMember, createConversation, deleteConversation, getConversation, removeMember, updateConversation } from "#/api/conversations";
import { keys } from "#/api/keys";
import { searchPeople } from "#/api/people";
import type { Agent, Conversation, ConversationType, Id, Participant } from "#/api/types";
import { useHub } from "#/realtime/context";
import { useConversations } from "#/realtime/hooks";
import { putRoom } from "#/realtime/list";
import { sameList, useStore } from "#/realtime/store";
import type { RoomEntry } from "./sections";

const noAgents: readonly Agent[] = [];

/** The rooms in order with their unread numbers and mention marks. */
export function useRoomEntries(): RoomEntry[] {
  const hub = useHub();
  const { rooms } = useConversations();
  const entries = useStore(
    hub.list,
    useMemo(() => (v) => rooms.map((r) => v.rooms.get(r.id)), [rooms]),
    sameList,
  );
  return useMemo(() => entries.filter((e) => e !== undefined), [entries]);
}

export function useAgentsQuery() {
  return useQuery({ queryKey: keys.agents.list, queryFn: ({ signal }) => listAgents(signal) });
}

export function useAgents(): readonly Agent[] {
  return useAgentsQuery().data ?? noAgents;
}

/** Everybody this person can talk with: members of their rooms and their own agents. */
export function useKnownPeople(selfId: Id): Participant[] {
  const { rooms } = useConversations();
  const agents = useAgents();
  return useMemo(() => {
    const byId = new Map<Id, Participant>();
    for (const room of rooms)
      for (const m of room.members ?? []) if (m.participant && m.participantId !== selfId) byId.set(m.participantId, m.participant);
    for (const a of agents) {
      if (a.status === "deactivated") byId.delete(a.id);
      else
        byId.set(a.id, { id: a.id, type: "agent", displayName: a.displayName, avatarUrl: a.avatarUrl ?? null, description: a.description ?? null });
    }
    return [...byId.values()].sort((a, b) => a.displayName.localeCompare(b.displayName));
  }, [rooms, agents, selfId]);
}

/** Whether a term is a whole e-mail address: only then strangers can be found. */
export function isAddress(term: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$/.test(term);
}

/** Somebody who is not known yet, by the whole e-mail address. */
export function usePeopleSearch(term: string) {
  return useQuery({
    queryKey: keys.people(term),
    queryFn: ({ signal }) => searchPeople(term, signal),
    enabled: isAddress(term),
    staleTime: 60_000,
  });
}

/** Puts a room that an answer brought into the list at once; its event says the same a moment later. */
function usePutRoom(): (room: Conversation) => void {
  const hub = useHub();
  return (room) => hub.list.update((v) => ({ ...v, rooms: putRoom(v.rooms, room) }));
}

export function useCreateRoom() {
  const put = usePutRoom();
  return useMutation({
    mutationFn: async (input: { type: ConversationType; title?: string; memberIds: Id[] }) => {
      const made = await createConversation(input);
      // The answer may carry only id and type: the list needs the members.
      return made.members ? made : getConversation(made.id);
    },
    onSuccess: put,
  });
}

export function useRenameRoom(id: Id) {
  const put = usePutRoom();
  return useMutation({ mutationFn: (title: string) => updateConversation(id, { title }), onSuccess: (room) => void (room?.members && put(room)) });
}

export function useAddMember(id: Id) {
  const put = usePutRoom();
  return useMutation({
    mutationFn: async (participantId: Id) => {
      await addMember(id, participantId);
      return getConversation(id);
    },
    onSuccess: put,
  });
}

export function useRemoveMember(id: Id) {
  const put = usePutRoom();
  return useMutation({
    mutationFn: async ({ participantId, self }: { participantId: Id; self: boolean }) => {
      await removeMember(id, participantId);
      return self ? null : getConversation(id);
    },
    onSuccess: (room) => void (room && put(room)),
  });
}

export function useDeleteRoom(id: Id) {
  return useMutation({ mutationFn: () => deleteConversation(id) });
}
