import { Paperclip } from "lucide-react";
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useT } from "#/i18n";

const carriesFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");

/** A file that is dropped where nothing takes it would take the place of the page. */
export function useNoStrayDrops(): void {
  useEffect(() => {
    const refuse = (event: globalThis.DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "none";
    };
    window.addEventListener("dragover", refuse);
    window.addEventListener("drop", refuse);
    return () => {
      window.removeEventListener("dragover", refuse);
      window.removeEventListener("drop", refuse);
    };
  }, []);
}

/** A room takes files that are dropped anywhere on it. `onFiles` null: it takes none. */
export function DropZone({ onFiles, children }: { onFiles: ((files: readonly File[]) => void) | null; children: ReactNode }) {
  const t = useT();
  const [over, setOver] = useState(false);
  // Moving from one element to another within the room leaves one and enters the other.
  const depth = useRef(0);
  const end = () => {
    depth.current = 0;
    setOver(false);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only a pointer drags; the keyboard has the button of the composer.
    <div
      className="relative flex min-h-0 flex-1 flex-col"
      onDragEnter={(e) => {
        if (!onFiles || !carriesFiles(e)) return;
        e.preventDefault();
        depth.current++;
        setOver(true);
      }}
      onDragOver={(e) => {
        if (!onFiles || !carriesFiles(e)) return;
        e.preventDefault();
        e.stopPropagation();
        e.dataTransfer.dropEffect = "copy";
      }}
      onDragLeave={(e) => {
        if (carriesFiles(e) && --depth.current <= 0) end();
      }}
      onDrop={(e) => {
        if (!onFiles || !carriesFiles(e)) return;
        e.preventDefault();
        e.stopPropagation();
        end();
        onFiles([...e.dataTransfer.files]);
      }}
    >
      {children}
      {over && (
        <div className="pointer-events-none absolute inset-2 z-40 grid animate-fade place-items-center rounded-panel border-2 border-accent border-dashed bg-page/90">
          <p className="flex items-center gap-2 font-medium text-accent-text text-body">
            <Paperclip size={20} strokeWidth={1.75} aria-hidden="true" />
            {t("composer.drop")}
          </p>
        </div>
      )}
    </div>
  );
}
