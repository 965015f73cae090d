import { useState } from "react";
import { cx } from "#/lib/cx";

export type AvatarKind = "human" | "agent" | "group";
export type PresenceState = "here" | "idle" | "away" | "working";

// Hues far enough apart to tell neighbours by; the lightness and chroma are fixed so that every one is readable.
const hues = [25, 65, 105, 150, 195, 235, 275, 320, 350];

/** A stable hue for an id, so that somebody looks the same everywhere. */
function hueOf(id: string): number {
  let hash = 0;
  for (const char of id) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) >>> 0;
  return hues[hash % hues.length] ?? 195;
}

/** One or two letters that stand for a name; the first character for scripts without letter case. */
function initials(name: string): string {
  const words = name.trim().split(/\s+/u).filter(Boolean);
  const first = firstGrapheme(words[0] ?? "");
  if (!/^\p{L}$/u.test(first) || !/\p{Script=Latin}|\p{Script=Cyrillic}|\p{Script=Greek}/u.test(first)) return first || "?";
  const second = words.length > 1 ? firstGrapheme(words[words.length - 1] ?? "") : "";
  return (first + (/^\p{L}$/u.test(second) ? second : "")).toLocaleUpperCase();
}

function firstGrapheme(text: string): string {
  const [segment] = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text);
  return segment?.segment ?? "";
}

type Props = {
  id: string;
  name: string;
  kind: AvatarKind;
  src?: string | null | undefined;
  size?: number;
  presence?: PresenceState | undefined;
  className?: string;
};

/** Who somebody is at a glance: people are circles, agents rounded squares. The name is read from the text beside it. */
export function Avatar({ id, name, kind, src, size = 32, presence, className }: Props) {
  const [broken, setBroken] = useState<string | null>(null);
  const radius = kind === "human" ? "9999px" : `${Math.round(size * 0.28)}px`;
  const hue = hueOf(id);
  const image = src && src !== broken ? src : null;
  return (
    <span className={cx("relative inline-block shrink-0", className)} style={{ width: size, height: size }} aria-hidden="true">
      <span
        className="avatar grid size-full place-items-center overflow-hidden font-semibold"
        style={{ borderRadius: radius, fontSize: Math.max(10, size * 0.38), ["--hue" as string]: hue }}
      >
        {image ? (
          <img src={image} alt="" className="size-full object-cover" onError={() => setBroken(image)} />
        ) : kind === "group" ? (
          <GroupGlyph size={size} />
        ) : (
          initials(name)
        )}
      </span>
      {presence && (
        <span className="absolute -right-0.5 -bottom-0.5 grid place-items-center">
          <PresenceMark state={presence} kind={kind === "agent" ? "agent" : "human"} size={Math.max(10, Math.round(size * 0.34))} />
        </span>
      )}
    </span>
  );
}

function GroupGlyph({ size }: { size: number }) {
  const s = size * 0.56;
  return (
    <svg width={s} height={s} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.75" aria-hidden="true">
      <circle cx="6.5" cy="10" r="4" />
      <rect x="11.5" y="6" width="7" height="8" rx="2.2" />
    </svg>
  );
}

/** Presence as shape and colour: filled is here, a ring idle, hollow away, moving dashes working. */
export function PresenceMark({ state, kind, size = 10 }: { state: PresenceState; kind: "human" | "agent"; size?: number }) {
  const r = kind === "human" ? 6 : 3;
  const tone = state === "here" || state === "idle" ? "var(--good)" : state === "working" ? "var(--accent)" : "var(--line-strong)";
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" className="block">
      <rect x="0" y="0" width="16" height="16" rx={kind === "human" ? 8 : 5} fill="var(--presence-halo, var(--page))" />
      <rect
        x="3"
        y="3"
        width="10"
        height="10"
        rx={r}
        fill={state === "here" ? tone : "var(--presence-halo, var(--page))"}
        stroke={tone}
        strokeWidth={state === "idle" ? 3 : 2}
        {...(state === "working" ? { strokeDasharray: "4 2.5", className: "animate-orbit" } : {})}
      />
    </svg>
  );
}
