import { useMutation } from "@tanstack/react-query";
import { FileText } from "lucide-react";
import { fileAddress } from "#/api/files";
import type { FileAttachment } from "#/api/types";
import { Spinner } from "#/components/ui/spinner";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { errorWords } from "#/lib/errorText";
import { fileSize } from "./files";

/** A file of a message. Its address is asked for when it is opened: it works for a quarter of an hour only. */
export function FileLink({ file }: { file: FileAttachment }) {
  const t = useT();
  const open = useMutation({
    mutationFn: () => fileAddress(file.id),
    onSuccess: (address) => {
      const link = document.createElement("a");
      link.href = address;
      link.target = "_blank";
      link.rel = "noopener noreferrer";
      link.click();
    },
    onError: (err) => toast({ tone: "bad", title: t("files.failed"), detail: errorWords(err).title }),
  });
  return (
    <button
      type="button"
      disabled={open.isPending}
      onClick={() => open.mutate()}
      className="mt-1.5 inline-flex max-w-full items-center gap-2 rounded-control border border-line bg-raised px-2.5 py-1 text-side hover:bg-hover"
    >
      {open.isPending ? <Spinner size={14} /> : <FileText size={16} strokeWidth={1.75} className="shrink-0 text-text-3" aria-hidden="true" />}
      <span className="min-w-0 truncate">{file.filename || t("message.file")}</span>
      {file.sizeBytes ? <span className="shrink-0 text-meta text-text-3 tabular-nums">{fileSize(file.sizeBytes)}</span> : null}
    </button>
  );
}
