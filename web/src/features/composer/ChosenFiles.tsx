import { CircleAlert, FileText, X } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "#/components/ui/button";
import { useT } from "#/i18n";
import { fileSize, isPicture } from "#/lib/files";

/** What is chosen and not sent yet: a row above the text. */
export function ChosenFiles({ files, onRemove }: { files: readonly File[]; onRemove: (file: File) => void }) {
  const t = useT();
  return (
    <ul aria-label={t("composer.files")} className="flex flex-wrap gap-2 border-line border-b p-2">
      {files.map((file) => (
        <li
          key={`${file.name} ${file.size} ${file.lastModified}`}
          className="flex min-w-0 max-w-full items-center gap-2 rounded-control border border-line bg-page py-1 pr-1 pl-1.5"
        >
          {isPicture(file.type) ? (
            <Thumb file={file} />
          ) : (
            <FileText size={18} strokeWidth={1.75} className="mx-1 shrink-0 text-text-3" aria-hidden="true" />
          )}
          <span className="min-w-0">
            <span className="block max-w-60 truncate text-[13px] leading-4.5">{file.name}</span>
            <span className="block text-meta text-text-3 tabular-nums leading-4">{fileSize(file.size)}</span>
          </span>
          <IconButton size="sm" label={t("composer.removeFile", { name: file.name })} onClick={() => onRemove(file)}>
            <X size={16} strokeWidth={1.75} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function Thumb({ file }: { file: File }) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return (
    <span className="size-9 shrink-0 overflow-hidden rounded-[4px] bg-sunken">
      {address && <img src={address} alt="" className="size-full object-cover" />}
    </span>
  );
}

/** What could not be taken, and why. */
export function RefusedFiles({ words, onClose }: { words: readonly string[]; onClose: () => void }) {
  const t = useT();
  return (
    <div role="alert" className="flex items-start gap-2 border-line border-b px-3 py-1.5 text-[13px] text-bad-text leading-5">
      <CircleAlert size={16} strokeWidth={1.75} className="mt-0.5 shrink-0" aria-hidden="true" />
      <ul className="min-w-0 flex-1">
        {words.map((w) => (
          <li key={w} className="break-words">
            {w}
          </li>
        ))}
      </ul>
      <IconButton size="sm" label={t("common.close")} onClick={onClose}>
        <X size={16} strokeWidth={1.75} />
      </IconButton>
    </div>
  );
}
