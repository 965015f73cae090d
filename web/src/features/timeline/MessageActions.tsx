import { Copy, CornerUpLeft, Ellipsis, Hash, Trash2 } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Menu, MenuItem, MenuSeparator } from "#/components/ui/menu";
import { toast } from "#/components/ui/toast";
import { Tooltip } from "#/components/ui/tooltip";
import { useT } from "#/i18n";
import { copyText } from "#/lib/clipboard";
import { cx } from "#/lib/cx";
import { plainMentions } from "#/lib/mention";
import { useSelf } from "#/lib/self";
import type { MessageHandlers } from "./MessageRow";
import type { TimelineMessage } from "./rows";

const emojis = ["👍", "❤️", "😄", "🎉", "👀", "✅"];

/** The bar at the corner of a message, on hover, on keyboard focus, and (as one button) on touch. Keys: R, C, Delete on the focused message. */
export function MessageActions({ message, own, handlers }: { message: TimelineMessage; own: boolean; handlers: MessageHandlers }) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const [asking, setAsking] = useState(false);
  const canReact = useSelf().features?.["reactions"] === true;
  const copy = async (text: string) => {
    if (await copyText(text)) toast({ title: t("common.copied"), tone: "good", duration: 1600 });
  };
  return (
    <div
      className={cx(
        "absolute -top-3.5 right-4 z-10 flex rounded-panel border border-line bg-raised p-0.5 shadow-raised transition-opacity max-sm:top-0 max-sm:right-1.5 max-sm:border-transparent max-sm:bg-transparent max-sm:shadow-none",
        open ? "opacity-100" : "opacity-0 group-hover/row:opacity-100 group-focus-within/row:opacity-100 coarse:opacity-100",
      )}
    >
      <span className="flex max-sm:hidden">
        {canReact &&
          emojis.slice(0, 1).map((emoji) => (
            <IconButton key={emoji} size="sm" label={`${t("message.react")} ${emoji}`} onClick={() => handlers.react(message, emoji, true)}>
              <span className="text-[14px]">{emoji}</span>
            </IconButton>
          ))}
        <Tooltip content={t("message.reply")} keys={["R"]}>
          <IconButton size="sm" label={t("message.reply")} data-action="reply" onClick={() => handlers.reply(message)}>
            <CornerUpLeft size={16} strokeWidth={1.75} />
          </IconButton>
        </Tooltip>
        <Tooltip content={t("message.copy")} keys={["C"]}>
          <IconButton size="sm" label={t("message.copy")} data-action="copy" onClick={() => void copy(plainMentions(message.content))}>
            <Copy size={16} strokeWidth={1.75} />
          </IconButton>
        </Tooltip>
      </span>
      <Menu
        open={open}
        onOpenChange={setOpen}
        trigger={
          <IconButton size="sm" label={t("message.actions")} data-action="menu">
            <Ellipsis size={16} strokeWidth={1.75} />
          </IconButton>
        }
      >
        {canReact && (
          <>
            <div className="flex gap-0.5 px-1 py-1">
              {emojis.map((emoji) => (
                <MenuItem
                  key={emoji}
                  aria-label={`${t("message.react")} ${emoji}`}
                  className="justify-center px-1.5"
                  onSelect={() => handlers.react(message, emoji, true)}
                >
                  <span className="text-[16px]">{emoji}</span>
                </MenuItem>
              ))}
            </div>
            <MenuSeparator />
          </>
        )}
        <MenuItem icon={<CornerUpLeft size={16} strokeWidth={1.75} />} hint="R" onSelect={() => handlers.reply(message)}>
          {t("message.reply")}
        </MenuItem>
        <MenuItem icon={<Copy size={16} strokeWidth={1.75} />} hint="C" onSelect={() => void copy(plainMentions(message.content))}>
          {t("message.copy")}
        </MenuItem>
        <MenuItem icon={<Hash size={16} strokeWidth={1.75} />} onSelect={() => void copy(message.id)}>
          {t("message.copyId")}
        </MenuItem>
        {own && (
          <>
            <MenuSeparator />
            <MenuItem danger icon={<Trash2 size={16} strokeWidth={1.75} />} onSelect={() => setAsking(true)}>
              {t("message.delete")}
            </MenuItem>
          </>
        )}
      </Menu>
      {own && (
        <>
          <button type="button" hidden data-action="delete" onClick={() => setAsking(true)} />
          <Dialog
            open={asking}
            onOpenChange={setAsking}
            width="sm"
            title={t("message.deleteTitle")}
            description={t("message.deleteHint")}
            footer={
              <>
                <Button onClick={() => setAsking(false)}>{t("common.cancel")}</Button>
                <Button
                  variant="danger"
                  onClick={() => {
                    setAsking(false);
                    handlers.remove(message);
                  }}
                >
                  {t("message.delete")}
                </Button>
              </>
            }
          />
        </>
      )}
    </div>
  );
}
