import { Link, useNavigate } from "@tanstack/react-router";
import { Ellipsis, LogOut, MessageSquare, Plus, Settings2, Trash2, UserMinus, X } from "lucide-react";
import { useState } from "react";
import type { Conversation, Member, Participant } from "#/api/types";
import { AgentBadge } from "#/components/AgentBadge";
import { Avatar } from "#/components/ui/avatar";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { Menu, MenuItem, MenuSeparator } from "#/components/ui/menu";
import { toast } from "#/components/ui/toast";
import { tn, useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { seatOf } from "#/lib/huddles";
import { counterpart, mayManage, roomTitle, sortedMembers } from "#/lib/rooms";
import { useSelf } from "#/lib/self";
import { useAgentActivity, useAgentDevice, usePresence } from "#/realtime/hooks";
import { useAddMember, useCreateRoom, useDeleteRoom, useKnownPeople, useRemoveMember, useRenameRoom } from "./data";
import { PeoplePicker } from "./PeoplePicker";
import { RoomFiles } from "./RoomFiles";
import { RoomMemorySection } from "./RoomMemorySection";

/** The pane beside a room: its name, who is in it, and the way out. */
export function RoomDetails({ room, onClose }: { room: Conversation; onClose: () => void }) {
  const t = useT();
  const self = useSelf();
  const manage = mayManage(room, self.id);
  const direct = room.type === "direct";
  const members = sortedMembers(room.members ?? [], self.id);
  const title = roomTitle(room, self.id);
  const [adding, setAdding] = useState(false);
  return (
    <aside aria-label={t("rooms.details")} className="flex h-full min-h-0 flex-col">
      <header className="flex h-13 shrink-0 items-center gap-2 border-line border-b pr-2 pl-4">
        <h2 className="min-w-0 flex-1 truncate font-semibold text-body">{t("rooms.details")}</h2>
        <IconButton label={t("rooms.closeDetails")} onClick={onClose}>
          <X size={18} strokeWidth={1.75} />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-4 pt-4 pb-6">
        {direct ? <DirectHead other={counterpart(room, self.id)} /> : <Rename room={room} title={title} allowed={manage} />}
        <div className="mt-6 mb-1.5 flex items-center">
          <h3 className="flex-1 font-medium text-[13px] text-text-3">{tn("rooms.members", members.length)}</h3>
          {!direct && manage && (
            <Button size="sm" variant="quiet" onClick={() => setAdding(true)}>
              <Plus size={16} strokeWidth={1.75} />
              {t("rooms.add")}
            </Button>
          )}
        </div>
        <ul className="-mx-2 flex flex-col">
          {members.map((m) => (
            <MemberRow key={m.participantId} room={room} member={m} selfId={self.id} manage={manage && !direct} />
          ))}
        </ul>
        <RoomMemorySection room={room} />
        <RoomFiles room={room} />
        {!direct && seatOf(room, self.id) !== "none" && <WayOut room={room} title={title} selfId={self.id} manage={manage} />}
      </div>
      <AddMembers room={room} open={adding} onOpenChange={setAdding} />
    </aside>
  );
}

function DirectHead({ other }: { other: Participant | null }) {
  if (!other) return null;
  return (
    <div className="flex flex-col items-center gap-2 pt-2 text-center">
      <Avatar id={other.id} name={other.displayName} kind={other.type === "agent" ? "agent" : "human"} src={other.avatarUrl} size={72} />
      <p className="max-w-full break-words font-semibold text-title">{other.displayName}</p>
      {other.type === "agent" && <AgentBadge />}
      {other.description && <p className="text-pretty text-side text-text-2">{other.description}</p>}
    </div>
  );
}

function Rename({ room, title, allowed }: { room: Conversation; title: string; allowed: boolean }) {
  const t = useT();
  const [name, setName] = useState(room.title ?? "");
  const rename = useRenameRoom(room.id);
  const changed = name.trim() !== (room.title ?? "") && name.trim() !== "";
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (changed) rename.mutate(name.trim(), { onSuccess: () => toast({ title: t("rooms.renamed"), tone: "good", duration: 2000 }) });
      }}
    >
      <Field
        label={t("rooms.name")}
        hint={allowed ? undefined : t("rooms.manageHint")}
        error={rename.isError ? `${t("rooms.renameFailed")}. ${errorLine(rename.error)}` : undefined}
      >
        {(control) => (
          <Input
            {...control}
            value={name}
            maxLength={100}
            readOnly={!allowed}
            placeholder={title}
            onChange={(e) => setName(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Escape" && name !== (room.title ?? "")) {
                e.stopPropagation();
                setName(room.title ?? "");
              }
            }}
          />
        )}
      </Field>
      {changed && (
        <div className="mt-2 flex justify-end gap-2">
          <Button size="sm" variant="quiet" onClick={() => setName(room.title ?? "")}>
            {t("common.cancel")}
          </Button>
          <Button size="sm" variant="primary" type="submit" busy={rename.isPending}>
            {t("common.save")}
          </Button>
        </div>
      )}
    </form>
  );
}

function MemberRow({ room, member, selfId, manage }: { room: Conversation; member: Member; selfId: string; manage: boolean }) {
  const t = useT();
  const navigate = useNavigate();
  const presence = usePresence(member.participantId);
  const device = useAgentDevice(member.participantId);
  const activity = useAgentActivity(member.participantId);
  const [asking, setAsking] = useState(false);
  const remove = useRemoveMember(room.id);
  const create = useCreateRoom();
  const self = member.participantId === selfId;
  const agent = member.participant?.type === "agent";
  const name = member.participant?.displayName ?? t("common.unknown");
  const facts = [
    activity ? t(`activity.now.${activity.activity}`) : t(`presence.${presence}`),
    presence !== "away" && (device?.nickname || device?.name),
    room.createdBy === member.participantId || member.role === "admin" ? t("rooms.role.admin") : "",
  ].filter(Boolean);
  const write = () =>
    create.mutate(
      { type: "direct", memberIds: [member.participantId] },
      {
        onSuccess: (made) => void navigate({ to: "/rooms/$roomId", params: { roomId: made.id } }),
        onError: (e) => toast({ title: t("rooms.createFailed"), detail: errorLine(e), tone: "bad" }),
      },
    );
  return (
    <li className="group/member flex min-h-12 items-center gap-2.5 rounded-control px-2 py-1 hover:bg-hover">
      <Avatar
        id={member.participantId}
        name={name}
        kind={agent ? "agent" : "human"}
        src={member.participant?.avatarUrl}
        size={32}
        presence={presence}
      />
      <span className="min-w-0 flex-1">
        <span className="flex items-center gap-1.5">
          <span className="min-w-0 truncate font-medium text-side">{name}</span>
          {agent && <AgentBadge />}
          {self && <span className="shrink-0 text-meta text-text-3">{t("common.you")}</span>}
        </span>
        <span className="block truncate text-meta text-text-3">{facts.join(" · ")}</span>
      </span>
      {!self && (
        <Menu
          trigger={
            <IconButton size="sm" label={`${t("common.more")}: ${name}`}>
              <Ellipsis size={16} strokeWidth={1.75} />
            </IconButton>
          }
        >
          {room.type !== "direct" && (
            <MenuItem icon={<MessageSquare size={16} strokeWidth={1.75} />} onSelect={write}>
              {t("rooms.message", { name })}
            </MenuItem>
          )}
          {agent && (
            <MenuItem icon={<Settings2 size={16} strokeWidth={1.75} />} asChild>
              <Link to="/agents/$agentId" params={{ agentId: member.participantId }}>
                {t("rooms.openAgent")}
              </Link>
            </MenuItem>
          )}
          {manage && (
            <>
              <MenuSeparator />
              <MenuItem danger icon={<UserMinus size={16} strokeWidth={1.75} />} onSelect={() => setAsking(true)}>
                {t("rooms.removeMember")}
              </MenuItem>
            </>
          )}
        </Menu>
      )}
      <Confirm
        open={asking}
        onOpenChange={setAsking}
        title={t("rooms.removeTitle", { name })}
        hint={t("rooms.removeHint", { name })}
        action={t("common.remove")}
        busy={remove.isPending}
        onConfirm={() =>
          remove.mutate(
            { participantId: member.participantId, self: false },
            {
              onSuccess: () => setAsking(false),
              onError: (e) => toast({ title: t("rooms.removeFailed", { name }), detail: errorLine(e), tone: "bad" }),
            },
          )
        }
      />
    </li>
  );
}

function AddMembers({ room, open, onOpenChange }: { room: Conversation; open: boolean; onOpenChange: (open: boolean) => void }) {
  const t = useT();
  const self = useSelf();
  const inside = new Set(room.members?.map((m) => m.participantId));
  const people = useKnownPeople(self.id).filter((p) => !inside.has(p.id));
  const [picked, setPicked] = useState<Participant[]>([]);
  const [busy, setBusy] = useState(false);
  const add = useAddMember(room.id);
  const run = async () => {
    setBusy(true);
    const failed: Participant[] = [];
    for (const p of picked) {
      try {
        await add.mutateAsync(p.id);
      } catch (e) {
        failed.push(p);
        toast({ title: t("rooms.addFailed", { name: p.displayName }), detail: errorLine(e), tone: "bad" });
      }
    }
    setBusy(false);
    setPicked(failed);
    if (failed.length === 0) onOpenChange(false);
  };
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("rooms.addTitle")}
      footer={
        <Button variant="primary" disabled={picked.length === 0} busy={busy} onClick={() => void run()}>
          {t("rooms.add")}
        </Button>
      }
    >
      <PeoplePicker label={t("rooms.who")} people={people} picked={picked} onChange={setPicked} />
    </Dialog>
  );
}

function WayOut({ room, title, selfId, manage }: { room: Conversation; title: string; selfId: string; manage: boolean }) {
  const t = useT();
  const navigate = useNavigate();
  const [asking, setAsking] = useState<"leave" | "delete" | null>(null);
  const leave = useRemoveMember(room.id);
  const remove = useDeleteRoom(room.id);
  // Not callbacks of `mutate`: the news that the room is gone often comes before the answer, and takes this away with its callbacks.
  const go = (done: Promise<unknown>, failed: string) =>
    void done.then(
      () => navigate({ to: "/" }),
      (e: unknown) => toast({ title: failed, detail: errorLine(e), tone: "bad" }),
    );
  return (
    <div className="mt-6 flex flex-col items-start gap-1 border-line border-t pt-4">
      <Button variant="quiet" className="-ml-2" onClick={() => setAsking("leave")}>
        <LogOut size={16} strokeWidth={1.75} />
        {t("rooms.leave")}
      </Button>
      {manage && (
        <Button variant="quiet-danger" className="-ml-2" onClick={() => setAsking("delete")}>
          <Trash2 size={16} strokeWidth={1.75} />
          {t("rooms.delete")}
        </Button>
      )}
      <Confirm
        open={asking === "leave"}
        onOpenChange={(o) => setAsking(o ? "leave" : null)}
        title={t("rooms.leave")}
        hint={t("rooms.leaveHint", { room: title })}
        action={t("rooms.leave")}
        busy={leave.isPending}
        onConfirm={() => go(leave.mutateAsync({ participantId: selfId, self: true }), t("rooms.leaveFailed"))}
      />
      <Confirm
        open={asking === "delete"}
        onOpenChange={(o) => setAsking(o ? "delete" : null)}
        title={t("rooms.delete")}
        hint={t("rooms.deleteHint", { room: title })}
        action={t("rooms.delete")}
        busy={remove.isPending}
        onConfirm={() => go(remove.mutateAsync(), t("rooms.deleteFailed"))}
      />
    </div>
  );
}

type ConfirmProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  hint: string;
  action: string;
  busy: boolean;
  onConfirm: () => void;
};

function Confirm({ open, onOpenChange, title, hint, action, busy, onConfirm }: ConfirmProps) {
  const t = useT();
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      width="sm"
      title={title}
      description={hint}
      footer={
        <>
          <Button onClick={() => onOpenChange(false)}>{t("common.cancel")}</Button>
          <Button variant="danger" busy={busy} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    />
  );
}
