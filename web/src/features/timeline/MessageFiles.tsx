import { useMutation, useQuery } from "@tanstack/react-query";
import { CircleAlert, Download, File, FileArchive, FileAudio, FileImage, FileText, FileVideo, FileX, Trash2 } from "lucide-react";
import { useState } from "react";
import { deleteFile, fileAddress } from "#/api/files";
import { keys } from "#/api/keys";
import type { FileAttachment } from "#/api/types";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Spinner } from "#/components/ui/spinner";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { errorWords } from "#/lib/errorText";
import { fileKind, fileSize, isPicture } from "#/lib/files";
import { useUnsentBytes, useUploadProgress } from "#/realtime/hooks";
import type { LocalFile } from "./rows";

/** An address works for a quarter of an hour. */
const ADDRESS_FRESH_MS = 10 * 60_000;

const chip = "inline-flex min-w-0 max-w-full items-center gap-2.5 rounded-control border border-line bg-raised px-2.5 py-1.5 text-left text-side";

/** The files of a message: pictures drawn, others as chips. Who may delete one finds the button beside it. */
export function MessageFiles({ files, mayDelete }: { files: readonly FileAttachment[]; mayDelete: boolean }) {
  const t = useT();
  if (files.length === 0) return null;
  return (
    <ul aria-label={t("files.label")} className="mt-1.5 flex flex-col items-start gap-1.5">
      {files.map((file) => (
        <li key={file.id} className="group/file flex max-w-full items-end gap-1">
          {file.deleted ? <Gone file={file} /> : isPicture(file.contentType) ? <Picture file={file} /> : <Chip file={file} />}
          {mayDelete && !file.deleted && <DeleteFile file={file} />}
        </li>
      ))}
    </ul>
  );
}

function Gone({ file }: { file: FileAttachment }) {
  const t = useT();
  return (
    <span className={`${chip} border-dashed bg-transparent text-text-3`}>
      <FileX size={18} strokeWidth={1.75} className="shrink-0" aria-hidden="true" />
      <span className="min-w-0 truncate line-through">{file.filename || t("message.file")}</span>
      <span className="shrink-0 text-meta">{t("files.deleted")}</span>
    </span>
  );
}

function iconOf(contentType: string | undefined) {
  const type = contentType ?? "";
  if (type.startsWith("image/")) return FileImage;
  if (type.startsWith("audio/")) return FileAudio;
  if (type.startsWith("video/")) return FileVideo;
  if (/zip|compressed|tar|gzip/.test(type)) return FileArchive;
  return type.startsWith("text/") || type.includes("pdf") || type.includes("json") ? FileText : File;
}

function useOpen(file: FileAttachment) {
  const t = useT();
  return useMutation({
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
}

function Chip({ file }: { file: FileAttachment }) {
  const t = useT();
  const open = useOpen(file);
  const Icon = iconOf(file.contentType);
  const name = file.filename || t("message.file");
  return (
    <button type="button" disabled={open.isPending} onClick={() => open.mutate()} className={`hit ${chip} hover:bg-hover`}>
      {open.isPending ? <Spinner size={18} /> : <Icon size={18} strokeWidth={1.75} className="shrink-0 text-text-3" aria-hidden="true" />}
      <span className="sr-only">{t("files.openIt")} </span>
      <Facts name={name} kind={fileKind(file.filename, file.contentType)} size={file.sizeBytes} />
    </button>
  );
}

function Facts({ name, kind, size }: { name: string; kind: string; size: number | undefined }) {
  return (
    <span className="min-w-0">
      <span className="block truncate leading-5">{name}</span>
      <span className="block text-meta text-text-3 tabular-nums leading-4">{[kind, size ? fileSize(size) : ""].filter(Boolean).join(" · ")}</span>
    </span>
  );
}

/** A picture keeps its height before it is there, so that nothing moves when it comes. */
function Picture({ file }: { file: FileAttachment }) {
  const t = useT();
  const [large, setLarge] = useState(false);
  const [broken, setBroken] = useState(false);
  const name = file.filename || t("message.file");
  const address = useQuery({
    queryKey: keys.file(file.id),
    queryFn: ({ signal }) => fileAddress(file.id, signal),
    staleTime: ADDRESS_FRESH_MS,
    retry: 1,
  });
  if (broken || address.isError) return <Chip file={file} />;
  return (
    <>
      <button
        type="button"
        aria-label={t("files.show", { name })}
        onClick={() => setLarge(true)}
        className="grid h-48 min-w-16 max-w-full place-items-center overflow-hidden rounded-panel border border-line bg-sunken hover:border-line-strong"
      >
        {address.data ? (
          <img src={address.data} alt={name} onError={() => setBroken(true)} className="h-full max-w-full object-contain" />
        ) : (
          <span className="w-40">
            <Spinner size={16} />
          </span>
        )}
      </button>
      <Dialog
        open={large}
        onOpenChange={setLarge}
        width="lg"
        title={<span className="block truncate">{name}</span>}
        footer={<SavePicture file={file} />}
      >
        {address.data && <img src={address.data} alt={name} className="mx-auto max-h-[65dvh] max-w-full object-contain" />}
      </Dialog>
    </>
  );
}

function SavePicture({ file }: { file: FileAttachment }) {
  const t = useT();
  const open = useOpen(file);
  return (
    <Button busy={open.isPending} onClick={() => open.mutate()}>
      <Download size={16} strokeWidth={1.75} />
      {t("files.openAlone")}
    </Button>
  );
}

function DeleteFile({ file }: { file: FileAttachment }) {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const name = file.filename || t("message.file");
  const gone = useMutation({
    mutationFn: () => deleteFile(file.id),
    onSuccess: () => setAsking(false),
    onError: (err) => toast({ tone: "bad", title: t("files.deleteFailed"), detail: errorWords(err).title }),
  });
  return (
    <>
      <IconButton
        size="sm"
        label={t("files.delete", { name })}
        onClick={() => setAsking(true)}
        className="opacity-0 focus-visible:opacity-100 group-hover/file:opacity-100 group-focus-within/file:opacity-100 coarse:opacity-100"
      >
        <Trash2 size={16} strokeWidth={1.75} />
      </IconButton>
      <Dialog
        open={asking}
        onOpenChange={setAsking}
        width="sm"
        title={t("files.deleteTitle")}
        description={t("files.deleteHint", { name })}
        footer={
          <>
            <Button onClick={() => setAsking(false)}>{t("common.cancel")}</Button>
            <Button variant="danger" busy={gone.isPending} onClick={() => gone.mutate()}>
              {t("message.delete")}
            </Button>
          </>
        }
      />
    </>
  );
}

/** The files of a message that is not sent yet, with how far each has come. */
export function UnsentFiles({ files, onStop }: { files: readonly LocalFile[]; onStop: (() => void) | null }) {
  const t = useT();
  return (
    <ul aria-label={t("files.label")} className="mt-1.5 flex flex-col items-start gap-1.5">
      {files.map((file) => (
        <Unsent key={file.key} file={file} onStop={onStop} />
      ))}
    </ul>
  );
}

function Unsent({ file, onStop }: { file: LocalFile; onStop: (() => void) | null }) {
  const t = useT();
  const sent = useUploadProgress(file.key);
  const picture = isPicture(file.contentType);
  const address = useUnsentBytes(file.key, picture);
  const Icon = iconOf(file.contentType);
  return (
    <li className={`${chip} min-w-52`}>
      {address ? (
        <img src={address} alt="" className="size-9 shrink-0 rounded-[4px] object-cover" />
      ) : (
        <Icon size={18} strokeWidth={1.75} className="shrink-0 text-text-3" aria-hidden="true" />
      )}
      <span className="min-w-0 flex-1">
        <Facts name={file.filename} kind={fileKind(file.filename, file.contentType)} size={file.sizeBytes} />
        {sent !== null && (
          <progress
            value={sent}
            max={1}
            aria-label={t("files.sending", { name: file.filename })}
            className="mt-1 block h-1 w-full appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
          />
        )}
      </span>
      {sent !== null && onStop && (
        <Button size="sm" variant="quiet" onClick={onStop}>
          {t("common.cancel")}
        </Button>
      )}
      {sent === null && file.storageKey === undefined && onStop === null && (
        <CircleAlert size={16} className="shrink-0 text-bad-text" aria-hidden="true" />
      )}
    </li>
  );
}
