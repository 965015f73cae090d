import { useState } from "react";
import type { Id } from "#/api/types";
import { tn, useT } from "#/i18n";
import { MemberCard } from "./ChoiceCard";
import { CredentialCard } from "./CredentialCard";
import { useCredentials, usePending, useSeats } from "./queries";
import { RequestCard } from "./RequestCard";

/** What was asked in this room and waits for this person, above the text box. Others in the room have none of it in their lists. */
export function RoomRequests({ roomId }: { roomId: Id }) {
  const t = useT();
  const requests = (usePending().data ?? []).filter((r) => r.conversationId === roomId);
  const secrets = (useCredentials().data ?? []).filter((c) => c.conversationId === roomId);
  const seats = useSeats(roomId);
  const [all, setAll] = useState(false);
  const cards = [
    ...requests.map((r) => <RequestCard key={r.id} request={r} inRoom />),
    ...secrets.map((c) => <CredentialCard key={c.id} request={c} inRoom />),
    ...seats.map((m) => <MemberCard key={m.id} request={m} inRoom />),
  ];
  if (cards.length === 0) return null;
  const shown = all ? cards : cards.slice(0, 1);
  const hidden = cards.length - shown.length;
  return (
    <section aria-label={t("decisions.room.label")} className="max-h-[55dvh] shrink-0 overflow-y-auto border-line border-t bg-page px-3 py-2 sm:px-4">
      <div className="mx-auto flex w-full max-w-[760px] flex-col gap-2">
        {shown}
        {hidden > 0 && (
          <button type="button" onClick={() => setAll(true)} className="hit self-start rounded-control px-1 text-meta text-text-2 hover:text-text">
            {tn("decisions.room.more", hidden)}
          </button>
        )}
      </div>
    </section>
  );
}
