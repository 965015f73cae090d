import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Forward, SquareArrowOutUpRight } from "lucide-react";
import { useMemo, useState } from "react";
import { fileAddress, forwardFile, listRoomFiles, ROOM_FILES_PAGE } from "#/api/files";
import { keys } from "#/api/keys";
import type { Conversation, RoomFile } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Avatar } from "#/components/ui/avatar";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Input } from "#/components/ui/input";
import { Menu, MenuItem } from "#/components/ui/menu";
import { toast } from "#/components/ui/toast";
import { useLocale, useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { fileKind, fileSize } from "#/lib/files";
import { exactTime, shortTime } from "#/lib/format";
import { counterpart, roomTitle } from "#/lib/rooms";
import { useSelf } from "#/lib/self";
import { useConversations } from "#/realtime/hooks";
import { useRoomEvents } from "#/realtime/useChannel";

/** What was shared in a room, newest first. Nothing at all until something was. */
export function RoomFiles({ room }: { room: Conversation }) {
  const t = useT();
  const queries = useQueryClient();
  const list = useInfiniteQuery({
    queryKey: keys.roomFiles(room.id),
    queryFn: ({ signal, pageParam }) => listRoomFiles(room.id, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.length < ROOM_FILES_PAGE ? undefined : last[last.length - 1]?.insertedAt),
    staleTime: 30_000,
  });
  useRoomEvents(room.id, (event, payload) => {
    const carries = event === "new_message" && Array.isArray(payload["fileAttachments"]) && payload["fileAttachments"].length > 0;
    if (carries || event === "message_updated" || event === "message_deleted") void queries.invalidateQueries({ queryKey: keys.roomFiles(room.id) });
  });
  const files = list.data?.pages.flat() ?? [];
  if (files.length === 0 && !list.isError) return null;
  return (
    <section aria-label={t("files.label")} className="mt-6">
      <h3 className="mb-1.5 font-medium text-[13px] text-text-3">{t("files.label")}</h3>
      <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      <ul className="-mx-2 flex flex-col">
        {files.map((f) => (
          <FileRow key={f.id} file={f} room={room} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button size="sm" variant="quiet" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("files.older")}
        </Button>
      )}
    </section>
  );
}

function FileRow({ file, room }: { file: RoomFile; room: Conversation }) {
  const t = useT();
  useLocale();
  const [forwarding, setForwarding] = useState(false);
  const open = useMutation({
    mutationFn: () => fileAddress(file.id),
    onSuccess: (address) => {
      const link = document.createElement("a");
      Object.assign(link, { href: address, target: "_blank", rel: "noopener noreferrer" });
      link.click();
    },
    onError: (e) => toast({ tone: "bad", title: t("files.failed"), detail: errorLine(e) }),
  });
  return (
    <li className="flex min-h-11 items-center gap-1 rounded-control pr-1 hover:bg-hover">
      <button type="button" onClick={() => open.mutate()} className="ring-inset-focus min-w-0 flex-1 rounded-control px-2 py-1 text-left">
        <span className="sr-only">{t("files.openIt")} </span>
        <span className="block truncate text-side">{file.filename}</span>
        <span className="block truncate text-meta text-text-3">
          {[fileKind(file.filename, file.contentType), fileSize(file.sizeBytes), file.uploader?.displayName].filter(Boolean).join(" · ")}
          {" · "}
          <time dateTime={file.insertedAt} title={exactTime(file.insertedAt)}>
            {shortTime(file.insertedAt)}
          </time>
        </span>
      </button>
      <Menu
        trigger={
          <IconButton size="sm" label={`${t("common.more")}: ${file.filename}`}>
            <Ellipsis size={16} strokeWidth={1.75} />
          </IconButton>
        }
      >
        <MenuItem icon={<SquareArrowOutUpRight size={16} strokeWidth={1.75} />} onSelect={() => open.mutate()}>
          {t("files.openIt")}
        </MenuItem>
        <MenuItem icon={<Forward size={16} strokeWidth={1.75} />} onSelect={() => setForwarding(true)}>
          {t("files.forward")}
        </MenuItem>
      </Menu>
      {forwarding && <ForwardDialog file={file} from={room.id} onDone={() => setForwarding(false)} />}
    </li>
  );
}

/** Chooses the room that a file is shown in too, as a copy of one's own. */
function ForwardDialog({ file, from, onDone }: { file: RoomFile; from: string; onDone: () => void }) {
  const t = useT();
  const self = useSelf();
  const { rooms } = useConversations();
  const [term, setTerm] = useState("");
  // One key for this dialog and room: pressed twice, or again after a broken line, it is forwarded once.
  const [key] = useState(() => `forward:${file.id}:${Date.now()}`);
  const forward = useMutation({
    mutationFn: (room: Conversation) => forwardFile(file.id, room.id, `${key}:${room.id}`),
    onSuccess: (_, room) => {
      toast({ title: t("files.forwarded", { room: roomTitle(room, self.id) }), tone: "good", duration: 2500 });
      onDone();
    },
  });
  const shown = useMemo(() => {
    const words = term.trim().toLowerCase();
    return rooms.filter((r) => r.id !== from && (words === "" || roomTitle(r, self.id).toLowerCase().includes(words))).slice(0, 30);
  }, [rooms, term, from, self.id]);
  return (
    <Dialog open onOpenChange={(o) => !o && onDone()} title={t("files.forwardTitle", { name: file.filename })}>
      <Input aria-label={t("files.forwardFind")} placeholder={t("files.forwardFind")} value={term} onChange={(e) => setTerm(e.target.value)} />
      <ul className="mt-2 -mx-2 flex flex-col">
        {shown.map((r) => {
          const other = counterpart(r, self.id);
          const title = roomTitle(r, self.id);
          return (
            <li key={r.id}>
              <button
                type="button"
                disabled={forward.isPending}
                onClick={() => forward.mutate(r)}
                className="ring-inset-focus flex min-h-10 w-full items-center gap-2.5 rounded-control px-2 text-left hover:bg-hover disabled:opacity-50"
              >
                <Avatar
                  id={other?.id ?? r.id}
                  name={title}
                  kind={other ? (other.type === "agent" ? "agent" : "human") : "group"}
                  src={other?.avatarUrl ?? r.avatarUrl}
                  size={24}
                />
                <span className="min-w-0 truncate text-side">{title}</span>
              </button>
            </li>
          );
        })}
        {shown.length === 0 && <li className="px-2 py-2 text-side text-text-3">{t("files.forwardNone")}</li>}
      </ul>
      <ErrorNote error={forward.error} className="mt-3" />
    </Dialog>
  );
}
