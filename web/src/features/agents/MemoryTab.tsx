import { Brain, Pencil, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { type Category, categories, type Memory, type Whose } from "#/api/memory";
import type { Agent } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Select } from "#/components/form/Select";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { useMemories, useMemoryEvents, useRemoveMemory, useSaveMemory } from "./memoryQueries";

/** What the agent remembers, and what it shares with the person's other agents. */
export function MemoryTab({ agent }: { agent: Agent }) {
  const t = useT();
  const self = useSelf();
  useMemoryEvents();
  return (
    <div>
      <MemoryList whose={{ agent: agent.id }} title={t("memory.own", { name: agent.displayName })} hint={t("memory.ownHint")} />
      <MemoryList whose={{ workspace: self.activeOrganizationId ?? null }} title={t("memory.shared")} hint={t("memory.sharedHint")} />
    </div>
  );
}

function MemoryList({ whose, title, hint }: { whose: Whose; title: string; hint: string }) {
  const t = useT();
  const [q, setQ] = useState("");
  const [category, setCategory] = useState<Category | "">("");
  const [editing, setEditing] = useState<Memory | "new" | null>(null);
  const [removing, setRemoving] = useState<Memory | null>(null);
  const list = useMemories(whose, { q, category });
  const remove = useRemoveMemory(whose);
  const found = list.data?.pages.flatMap((p) => p.memories) ?? [];
  const filtered = q.trim() !== "" || category !== "";
  const add = <Button onClick={() => setEditing("new")}>{t("memory.add")}</Button>;
  const none = list.data && found.length === 0;
  return (
    <Section title={title} hint={hint} action={none && !filtered ? null : add}>
      {!(none && !filtered) && (
        <div className="mb-3 flex flex-wrap gap-2">
          <Input
            type="search"
            className="min-w-0 flex-1 basis-52"
            aria-label={t("memory.search", { what: title })}
            placeholder={t("memory.searchShort")}
            maxLength={200}
            value={q}
            onChange={(e) => setQ(e.target.value)}
          />
          <div className="basis-44">
            <Select aria-label={t("memory.category")} value={category} onChange={(e) => setCategory(e.target.value as Category | "")}>
              <option value="">{t("memory.allCategories")}</option>
              {categories.map((c) => (
                <option key={c} value={c}>
                  {t(`memory.category.${c}`)}
                </option>
              ))}
            </Select>
          </div>
        </div>
      )}
      {list.isPending ? (
        <Skeleton className="h-28 w-full" />
      ) : !list.data ? (
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      ) : none ? (
        filtered ? (
          <p role="status" className="text-side text-text-3">
            {t("memory.noMatch")}
          </p>
        ) : (
          <Empty
            className="rounded-panel border border-line border-dashed"
            icon={<Brain size={24} strokeWidth={1.5} />}
            title={t("memory.none")}
            hint={t("memory.noneHint")}
            action={add}
          />
        )
      ) : (
        <ul className="divide-y divide-line rounded-panel border border-line">
          {found.map((m) => (
            <Row key={m.id} memory={m} onEdit={() => setEditing(m)} onRemove={() => setRemoving(m)} />
          ))}
        </ul>
      )}
      {list.hasNextPage && (
        <Button className="mt-3" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("memory.more")}
        </Button>
      )}
      <Dialog
        open={editing !== null}
        onOpenChange={(open) => !open && setEditing(null)}
        title={editing === "new" || editing === null ? t("memory.add") : t("memory.edit", { key: editing.key })}
        description={t("memory.formHint")}
      >
        {editing !== null && <MemoryForm whose={whose} memory={editing === "new" ? undefined : editing} onDone={() => setEditing(null)} />}
      </Dialog>
      <Dialog
        open={removing !== null}
        onOpenChange={(open) => {
          if (open) return;
          setRemoving(null);
          remove.reset();
        }}
        title={removing ? t("memory.remove", { key: removing.key }) : ""}
        description={t("memory.removeHint")}
        width="sm"
        footer={
          <>
            <Button autoFocus onClick={() => setRemoving(null)}>
              {t("common.cancel")}
            </Button>
            <Button
              variant="danger"
              busy={remove.isPending}
              onClick={() => removing && remove.mutate(removing.id, { onSuccess: () => setRemoving(null) })}
            >
              {t("memory.forget")}
            </Button>
          </>
        }
      >
        <ErrorNote error={remove.error} />
      </Dialog>
    </Section>
  );
}

function Row({ memory, onEdit, onRemove }: { memory: Memory; onEdit: () => void; onRemove: () => void }) {
  const t = useT();
  return (
    <li className="flex items-start gap-2 py-3 pr-2 pl-4">
      <div className="min-w-0 flex-1">
        <p className="break-words font-medium text-side">{memory.key}</p>
        <p className="mt-0.5 whitespace-pre-wrap break-words text-body">{memory.content}</p>
        <p className="mt-1 flex flex-wrap items-baseline gap-x-3 gap-y-0.5 text-meta text-text-3">
          <span>{t(`memory.category.${memory.category}`)}</span>
          {memory.tags.length > 0 && <span className="break-words">{memory.tags.map((tag) => `#${tag}`).join(" ")}</span>}
          {memory.organizationId && <span>{t("memory.inWorkspace")}</span>}
          {memory.untrusted && <span className="text-wait-text">{t("memory.untrusted")}</span>}
          <time dateTime={memory.updatedAt} title={exactTime(memory.updatedAt)}>
            {shortTime(memory.updatedAt)}
          </time>
        </p>
      </div>
      <IconButton label={t("memory.edit", { key: memory.key })} onClick={onEdit}>
        <Pencil size={16} strokeWidth={1.75} />
      </IconButton>
      <IconButton label={t("memory.remove", { key: memory.key })} onClick={onRemove}>
        <Trash2 size={16} strokeWidth={1.75} />
      </IconButton>
    </li>
  );
}

function MemoryForm({ whose, memory, onDone }: { whose: Whose; memory?: Memory | undefined; onDone: () => void }) {
  const t = useT();
  const save = useSaveMemory(whose, memory);
  const [category, setCategory] = useState<Category>(memory?.category ?? "fact");
  const [key, setKey] = useState(memory?.key ?? "");
  const [content, setContent] = useState(memory?.content ?? "");
  const [tags, setTags] = useState(memory?.tags.join(", ") ?? "");
  const ready = key.trim() !== "" && content.trim() !== "";
  const problem = (field: string) => fieldError(save.error, field, "memory");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!ready) return;
    const words = tags.split(/[,，、]/).map((x) => x.trim());
    save.mutate({ category, key: key.trim(), content: content.trim(), tags: words.filter(Boolean) }, { onSuccess: onDone });
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4 pb-1">
      {!memory && (
        <div className="grid gap-4 sm:grid-cols-[11rem_minmax(0,1fr)]">
          <Field label={t("memory.category")} error={problem("category")}>
            {(c) => (
              <Select {...c} value={category} onChange={(e) => setCategory(e.target.value as Category)}>
                {categories.map((x) => (
                  <option key={x} value={x}>
                    {t(`memory.category.${x}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t("memory.key")} hint={t("memory.keyHint")} error={problem("key")}>
            {(c) => <Input {...c} autoFocus maxLength={200} value={key} onChange={(e) => setKey(e.target.value)} />}
          </Field>
        </div>
      )}
      <Field label={t("memory.content")} error={problem("content")}>
        {(c) => <Textarea {...c} rows={5} maxLength={8000} value={content} onChange={(e) => setContent(e.target.value)} />}
      </Field>
      <Field label={t("memory.tags")} hint={t("memory.tagsHint")} error={problem("tags")}>
        {(c) => <Input {...c} maxLength={400} value={tags} onChange={(e) => setTags(e.target.value)} />}
      </Field>
      {save.error && !["category", "key", "content", "tags"].some(problem) && <ErrorNote error={save.error} area="memory" />}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{t("common.cancel")}</Button>
        <Button type="submit" variant="primary" disabled={!ready} busy={save.isPending}>
          {t("common.save")}
        </Button>
      </div>
    </form>
  );
}
