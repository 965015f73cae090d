import { ArrowUp, AtSign, CornerUpLeft, Paperclip, X } from "lucide-react";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type Ref,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";
import { Avatar } from "#/components/ui/avatar";
import { IconButton } from "#/components/ui/button";
import { Kbd } from "#/components/ui/kbd";
import { Tooltip } from "#/components/ui/tooltip";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { readDraft, writeDraft } from "#/lib/drafts";
import { encodeMentions, findMentionsOutsideCode, mentionQueryAt } from "#/lib/mention";
import { ChosenFiles, RefusedFiles } from "./ChosenFiles";
import { type Candidate, candidatesFor, complete } from "./candidates";
import { addFiles, chosenFor, keepChosen, named, type Refusal } from "./chosen";

const MAX_CONTENT = 100_000;

export interface ComposerHandle {
  focus: () => void;
  /** Takes files that were dropped on the room. */
  add: (files: readonly File[]) => void;
}

type Props = {
  roomId: string;
  title: string;
  /** Members and agents that may be added by a mention. */
  people: readonly Candidate[];
  reply: { id: string; name: string; text: string } | null;
  onCancelReply: () => void;
  onSend: (content: string, files: readonly File[]) => void;
  /** At every change of the text while there is any. */
  onTyping: () => void;
  offline: boolean;
  handle: Ref<ComposerHandle>;
};

const MAX_HEIGHT = 220;

/** Where one writes. Give it `key={roomId}`: the draft belongs to the room. */
export function Composer({ roomId, title, people, reply, onCancelReply, onSend, onTyping, offline, handle }: Props) {
  const t = useT();
  const listId = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  const mirror = useRef<HTMLDivElement>(null);
  const [text, setText] = useState(() => readDraft(roomId));
  const [caret, setCaret] = useState(text.length);
  const [dismissed, setDismissed] = useState(-1);
  const [picked, setPicked] = useState(0);
  const [focused, setFocused] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const [files, setFiles] = useState(() => chosenFor(roomId));
  const [refused, setRefused] = useState<readonly Refusal[]>([]);

  const choose = (next: readonly File[]) => {
    setFiles(next);
    keepChosen(roomId, next);
  };
  const add = (more: readonly File[]) => {
    const now = new Date();
    const taken = addFiles(
      chosenFor(roomId),
      more.map((f) => named(f, now)),
    );
    choose(taken.files);
    setRefused(taken.refused);
    box.current?.focus();
  };
  const addRef = useRef(add);
  addRef.current = add;
  useImperativeHandle(handle, () => ({ focus: () => box.current?.focus(), add: (more) => addRef.current(more) }), []);
  useEffect(() => {
    if (reply) box.current?.focus();
  }, [reply]);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    el.style.height = "0";
    el.style.height = `${Math.min(el.scrollHeight, MAX_HEIGHT)}px`;
    el.style.overflowY = el.scrollHeight > MAX_HEIGHT ? "auto" : "hidden";
  });

  const typed = mentionQueryAt(text, caret);
  const offered = typed && typed.start !== dismissed && focused ? candidatesFor(typed.query, people) : [];
  const open = offered.length > 0;
  const active = Math.min(picked, offered.length - 1);
  const over = text.length - MAX_CONTENT;
  const empty = text.trim() === "" && files.length === 0;

  const change = (next: string, at: number) => {
    setText(next);
    setCaret(at);
    setPicked(0);
    writeDraft(roomId, next);
    if (next.trim()) onTyping();
  };

  // At once: a key that is pressed next must find the caret behind what was put in.
  const put = (next: string, at: number) => {
    flushSync(() => change(next, at));
    box.current?.focus();
    box.current?.setSelectionRange(at, at);
  };

  const mention = (who: Candidate) => {
    if (!typed) return;
    const next = complete(text, typed.start, caret, who.displayName);
    put(next.text, next.caret);
  };

  const send = () => {
    if (empty || over > 0) return;
    onSend(encodeMentions(text.trim(), people), files);
    choose([]);
    setRefused([]);
    setText("");
    setCaret(0);
    writeDraft(roomId, "");
    box.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // While an input method composes, Enter and the arrows are its own.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (open) {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step) {
        event.preventDefault();
        setPicked((active + step + offered.length) % offered.length);
        return;
      }
      const who = offered[active];
      if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && who) {
        event.preventDefault();
        mention(who);
        return;
      }
      if (event.key === "Escape" && typed) {
        event.preventDefault();
        event.stopPropagation();
        setDismissed(typed.start);
        return;
      }
    }
    if (event.key === "Escape" && reply) {
      event.preventDefault();
      event.stopPropagation();
      onCancelReply();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      // On a touch keyboard Enter is the only way to a new line; sending has its button.
      if (window.matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      send();
    }
  };

  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files];
    // Office programs put a picture of the text beside it: the text is what was meant.
    if (pasted.length === 0 || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    add(pasted);
  };

  const openMentions = () => {
    const at = box.current?.selectionStart ?? text.length;
    const lead = at === 0 || /\s$/.test(text.slice(0, at)) ? "" : " ";
    const next = `${text.slice(0, at)}${lead}@${text.slice(at)}`;
    setDismissed(-1);
    put(next, at + lead.length + 1);
  };

  return (
    <div className="relative mx-auto w-[calc(100%-var(--scrollbar,0px))] max-w-[1120px] shrink-0 px-3 pb-[max(12px,env(safe-area-inset-bottom))] sm:px-5 sm:pb-4">
      {open && <Offers id={listId} offered={offered} active={active} onChoose={mention} onHover={setPicked} />}
      <div
        className={cx(
          "rounded-panel border bg-raised transition-colors",
          focused ? "border-accent shadow-[0_0_0_1px_var(--accent)]" : "border-line-strong/60 hover:border-line-strong",
        )}
      >
        {reply && (
          <div className="flex items-center gap-2 border-line border-b py-1 pr-1 pl-3 text-[13px]">
            <CornerUpLeft size={14} strokeWidth={1.75} className="shrink-0 text-text-3" />
            <span className="shrink-0 font-medium">{t("composer.replyingTo", { name: reply.name })}</span>
            <span className="min-w-0 flex-1 truncate text-text-2">{reply.text}</span>
            <IconButton size="sm" label={t("composer.cancelReply")} onClick={onCancelReply}>
              <X size={16} strokeWidth={1.75} />
            </IconButton>
          </div>
        )}
        {refused.length > 0 && (
          <RefusedFiles words={refused.map((r) => t(`composer.refused.${r.why}`, { name: r.name }))} onClose={() => setRefused([])} />
        )}
        {files.length > 0 && <ChosenFiles files={files} onRemove={(file) => choose(files.filter((f) => f !== file))} />}
        <div className="flex items-end gap-1 p-1">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            tabIndex={-1}
            aria-label={t("composer.attach")}
            onChange={(e) => {
              add([...(e.target.files ?? [])]);
              e.target.value = "";
            }}
          />
          <Tooltip content={t("composer.attach")}>
            <IconButton label={t("composer.attach")} onClick={() => picker.current?.click()}>
              <Paperclip size={18} strokeWidth={1.75} />
            </IconButton>
          </Tooltip>
          <Tooltip content={t("composer.mention")}>
            <IconButton label={t("composer.mention")} onClick={openMentions}>
              <AtSign size={18} strokeWidth={1.75} />
            </IconButton>
          </Tooltip>
          <div className="relative min-w-0 flex-1">
            <Mirror ref={mirror} text={text} people={people} />
            <textarea
              ref={box}
              rows={1}
              dir="auto"
              value={text}
              role="combobox"
              aria-label={t("composer.label", { room: title })}
              aria-autocomplete="list"
              aria-expanded={open}
              aria-controls={open ? listId : undefined}
              aria-activedescendant={open ? `${listId}-${active}` : undefined}
              aria-invalid={over > 0 || undefined}
              placeholder={t("composer.placeholder", { room: title })}
              enterKeyHint="enter"
              onChange={(e) => change(e.target.value, e.target.selectionStart)}
              onSelect={(e) => setCaret(e.currentTarget.selectionStart)}
              onScroll={(e) => {
                if (mirror.current) mirror.current.scrollTop = e.currentTarget.scrollTop;
              }}
              onFocus={() => setFocused(true)}
              onBlur={() => setFocused(false)}
              onKeyDown={onKeyDown}
              onPaste={onPaste}
              className="relative block w-full resize-none bg-transparent text-ellipsis px-1 py-[5.5px] text-body outline-none placeholder:truncate max-sm:text-[16px]"
            />
          </div>
          <Tooltip content={t("composer.send")} keys={["Enter"]}>
            <IconButton label={t("composer.send")} disabled={empty || over > 0} onClick={send} variant="accent">
              <ArrowUp size={18} strokeWidth={2} />
            </IconButton>
          </Tooltip>
        </div>
      </div>
      {over > 0 && (
        <p role="alert" className="pt-1 text-bad-text text-meta">
          {t("composer.tooLong", { over })}
        </p>
      )}
      {offline && over <= 0 && <p className="pt-1 text-meta text-text-3">{t("composer.offline")}</p>}
    </div>
  );
}

/** Lies exactly under the text and tints what will be a mention when it is sent. */
function Mirror({ ref, text, people }: { ref: Ref<HTMLDivElement>; text: string; people: readonly Candidate[] }) {
  const spans = useMemo(() => findMentionsOutsideCode(text, people), [text, people]);
  if (spans.length === 0) return null;
  const parts = [];
  let from = 0;
  for (const span of spans) {
    parts.push(text.slice(from, span.start));
    parts.push(
      <span key={span.start} className="rounded-[4px] bg-accent-soft shadow-[0_0_0_1px_var(--accent-line)]">
        {text.slice(span.start, span.end)}
      </span>,
    );
    from = span.end;
  }
  parts.push(text.slice(from), "\n");
  return (
    <div
      ref={ref}
      aria-hidden="true"
      dir="auto"
      className="pointer-events-none absolute inset-0 overflow-hidden whitespace-pre-wrap break-words px-1 py-[5.5px] text-body text-transparent max-sm:text-[16px]"
    >
      {parts}
    </div>
  );
}

type OffersProps = {
  id: string;
  offered: readonly Candidate[];
  active: number;
  onChoose: (who: Candidate) => void;
  onHover: (index: number) => void;
};

function Offers({ id, offered, active, onChoose, onHover }: OffersProps) {
  const t = useT();
  return (
    <div className="absolute bottom-full left-3 z-20 mb-1 w-80 max-w-[calc(100%-24px)] animate-pop rounded-panel border border-line bg-raised p-1 shadow-raised sm:left-5">
      <div id={id} role="listbox" aria-label={t("composer.mentions")}>
        {offered.map((who, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text box, which keeps the focus.
          <div
            key={who.id}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === active}
            onMouseDown={(e) => e.preventDefault()}
            onMouseMove={() => onHover(i)}
            onClick={() => onChoose(who)}
            className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-control px-2 text-side aria-selected:bg-hover coarse:min-h-11"
          >
            <Avatar id={who.id} name={who.displayName} kind={who.kind} src={who.avatarUrl} size={24} />
            <span className="min-w-0 flex-1 truncate">{who.displayName}</span>
            {who.outside && <span className="shrink-0 text-meta text-wait-text">{t("composer.add")}</span>}
            {i === active && <Kbd keys={["Enter"]} />}
          </div>
        ))}
      </div>
    </div>
  );
}
