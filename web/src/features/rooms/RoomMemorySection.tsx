import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { History, Pencil, Plus, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { keys } from "#/api/keys";
import { getRoomMemory, listRoomMemoryChanges, patchRoomMemory, type RoomMemory } from "#/api/memory";
import type { Conversation } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Textarea } from "#/components/ui/input";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { seatOf } from "#/lib/huddles";
import { type MemoryPart, memoryParts, memoryValue, partKey } from "#/lib/roomMemory";
import { useSelf } from "#/lib/self";
import { useRoomEvents } from "#/realtime/useChannel";

const nothing: MemoryPart = { key: "summary", lines: [""], list: false, editable: true };

/** What the members of a room, mostly its agents, found worth keeping; every agent is told it here. */
export function RoomMemorySection({ room }: { room: Conversation }) {
  const t = useT();
  const queries = useQueryClient();
  const key = keys.roomMemory(room.id);
  const memory = useQuery({ queryKey: key, queryFn: ({ signal }) => getRoomMemory(room.id, signal), staleTime: 60_000 });
  useRoomEvents(room.id, (event, payload) => {
    if (event !== "memory_updated" && event !== "conversation_memory") return;
    const next = payload as unknown as RoomMemory;
    queries.setQueryData<RoomMemory>(key, (held) => (held && held.version >= next.version ? held : { memory: next.memory, version: next.version }));
  });
  const [editing, setEditing] = useState<MemoryPart | null>(null);
  const [history, setHistory] = useState(false);
  const mayWrite = seatOf(room, useSelf().id) === "member";
  if (memory.isPending || memory.data === null) return null;
  const parts = memory.data ? memoryParts(memory.data.memory) : [];
  if (memory.data && parts.length === 0 && !mayWrite) return null;
  return (
    <section aria-label={t("memory.room")} className="mt-6">
      <div className="mb-1.5 flex items-center gap-1">
        <h3 className="flex-1 font-medium text-[13px] text-text-3">{t("memory.room")}</h3>
        {(memory.data?.version ?? 0) > 0 && (
          <IconButton size="sm" label={t("memory.changes")} onClick={() => setHistory(true)}>
            <History size={16} strokeWidth={1.75} />
          </IconButton>
        )}
        {mayWrite && memory.data && !parts.some((p) => p.key === "summary") && (
          <Button size="sm" variant="quiet" onClick={() => setEditing(nothing)}>
            <Plus size={16} strokeWidth={1.75} />
            {t("memory.summarise")}
          </Button>
        )}
      </div>
      {!memory.data && <ErrorNote error={memory.error} onRetry={() => void memory.refetch()} />}
      {memory.data && parts.length === 0 && <p className="text-pretty text-side text-text-3">{t("memory.roomNone")}</p>}
      <dl className="flex flex-col gap-3">
        {parts.map((p) => (
          <Part key={p.key} part={p} onEdit={mayWrite ? () => setEditing(p) : undefined} />
        ))}
      </dl>
      <Dialog
        open={editing !== null}
        onOpenChange={(open) => !open && setEditing(null)}
        title={editing ? partName(t, editing.key) : ""}
        description={t("memory.roomHint")}
      >
        {editing && memory.data && <PartForm room={room} memory={memory.data} part={editing} onDone={() => setEditing(null)} />}
      </Dialog>
      <Dialog open={history} onOpenChange={setHistory} title={t("memory.changes")} description={t("memory.changesHint")}>
        {history && <Changes room={room} />}
      </Dialog>
    </section>
  );
}

function partName(t: ReturnType<typeof useT>, key: string): string {
  const known = partKey(key);
  return known ? t(known) : key;
}

function Part({ part, onEdit }: { part: MemoryPart; onEdit?: (() => void) | undefined }) {
  const t = useT();
  const name = partName(t, part.key);
  return (
    <div>
      <dt className="flex items-center gap-1">
        <span className="min-w-0 flex-1 break-words font-medium text-side">{name}</span>
        {onEdit && (
          <IconButton size="sm" label={t("memory.edit", { key: name })} onClick={onEdit}>
            <Pencil size={14} strokeWidth={1.75} />
          </IconButton>
        )}
      </dt>
      <dd className="text-side text-text-2">
        {part.list ? (
          <ul className="list-disc pl-4.5">
            {part.lines.map((l, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: entries have no names, and their order is all there is
              <li key={i} className="break-words">
                {l}
              </li>
            ))}
          </ul>
        ) : (
          <p className="whitespace-pre-wrap break-words">{part.lines[0]}</p>
        )}
      </dd>
    </div>
  );
}

function PartForm({ room, memory, part, onDone }: { room: Conversation; memory: RoomMemory; part: MemoryPart; onDone: () => void }) {
  const t = useT();
  const queries = useQueryClient();
  const [text, setText] = useState(part.lines.join("\n"));
  const save = useMutation({
    mutationFn: (value: unknown) => patchRoomMemory(room.id, { [part.key]: value }, memory.version),
    onSuccess: (now) => {
      queries.setQueryData<RoomMemory>(keys.roomMemory(room.id), { memory: now.memory, version: now.version });
      void queries.invalidateQueries({ queryKey: keys.roomMemoryChanges(room.id) });
      onDone();
    },
  });
  const ready = text.trim() !== "" && text !== part.lines.join("\n");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (ready) save.mutate(memoryValue(text, part.list));
  };
  const held = part.key in memory.memory;
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4 pb-1">
      {part.editable ? (
        <Field label={partName(t, part.key)} hint={part.list ? t("memory.lineHint") : undefined}>
          {(c) => <Textarea {...c} rows={7} maxLength={20_000} value={text} onChange={(e) => setText(e.target.value)} />}
        </Field>
      ) : (
        <p className="text-side text-text-2">{t("memory.notText")}</p>
      )}
      <ErrorNote error={save.error} area="memory" />
      <div className="flex flex-wrap justify-end gap-2">
        {held && (
          <Button variant="danger" className="mr-auto" disabled={save.isPending} onClick={() => save.mutate(null)}>
            <Trash2 size={16} strokeWidth={1.75} />
            {t("memory.forget")}
          </Button>
        )}
        <Button onClick={onDone}>{t("common.cancel")}</Button>
        {part.editable && (
          <Button type="submit" variant="primary" disabled={!ready} busy={save.isPending}>
            {t("common.save")}
          </Button>
        )}
      </div>
    </form>
  );
}

/** Who changed what, and why. */
function Changes({ room }: { room: Conversation }) {
  const t = useT();
  const list = useQuery({
    queryKey: keys.roomMemoryChanges(room.id),
    queryFn: ({ signal }) => listRoomMemoryChanges(room.id, signal),
    staleTime: 0,
  });
  if (list.isPending) return <Skeleton className="h-32 w-full" />;
  if (!list.data) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  return (
    <ul className="divide-y divide-line pb-2">
      {list.data.map((c) => (
        <li key={c.version} className="py-2.5 text-side">
          <p>
            <span className="font-medium">{c.changedByName || t("common.unknown")}</span>{" "}
            <time dateTime={c.insertedAt} title={exactTime(c.insertedAt)} className="text-meta text-text-3">
              {shortTime(c.insertedAt)}
            </time>
          </p>
          {c.reason && <p className="break-words text-text-2">{c.reason}</p>}
          {Object.entries(c.diff).map(([key, d]) => (
            <div key={key} className="mt-1">
              <p className="text-meta text-text-3">{partName(t, key)}</p>
              {d.from !== undefined && <p className="line-clamp-3 break-words text-text-3 line-through">{shown(key, d.from)}</p>}
              {d.to !== undefined && <p className="line-clamp-6 break-words">{shown(key, d.to)}</p>}
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}

function shown(key: string, value: unknown): string {
  const [part] = memoryParts({ [key]: value });
  return part ? part.lines.join(" · ") : JSON.stringify(value);
}
