import type { KeyboardEvent, PointerEvent } from "react";

type Props = { label: string; value: number; min: number; max: number; side: "left" | "right"; onChange: (value: number) => void; initial: number };

/** A border that can be dragged, or moved with the arrow keys; a double press sets it back. `side` is the side of the panel it belongs to. */
export function Resizer({ label, value, min, max, side, onChange, initial }: Props) {
  const clamp = (v: number) => Math.round(Math.min(max, Math.max(min, v)));
  const sign = side === "right" ? 1 : -1;
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    event.preventDefault();
    const from = event.clientX;
    const target = event.currentTarget;
    target.setPointerCapture(event.pointerId);
    const move = (e: globalThis.PointerEvent) => onChange(clamp(value + sign * (e.clientX - from)));
    const end = () => {
      target.removeEventListener("pointermove", move);
      target.removeEventListener("pointerup", end);
      target.removeEventListener("pointercancel", end);
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", end);
    target.addEventListener("pointercancel", end);
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 16 : event.key === "ArrowLeft" ? -16 : 0;
    if (!step) return;
    event.preventDefault();
    onChange(clamp(value + sign * step));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator with a value is a window splitter; <hr> has none.
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onPointerDown={drag}
      onDoubleClick={() => onChange(initial)}
      onKeyDown={keys}
      className={`absolute inset-y-0 z-10 w-2 cursor-col-resize touch-none after:absolute after:inset-y-0 after:left-1/2 after:w-px after:-translate-x-1/2 after:bg-line after:transition-colors hover:after:bg-accent max-md:hidden ${
        side === "right" ? "-right-1" : "-left-1"
      }`}
    />
  );
}
