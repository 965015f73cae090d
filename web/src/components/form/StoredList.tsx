import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { ErrorNote } from "./ErrorNote";
import { Section } from "./Section";

type Props<T> = {
  title: string;
  hint: string;
  list: { data: T[] | undefined; isPending: boolean; error: unknown; refetch: () => Promise<unknown> };
  /** What stands there while nothing is stored. */
  empty: { icon: ReactNode; title: string; hint: string };
  addLabel: string;
  onAdd: () => void;
  /** The words of one row, and its buttons before the one that removes it. */
  row: (item: T) => ReactNode;
  actions?: (item: T) => ReactNode;
  removal: {
    label: (item: T) => string;
    title: (item: T) => string;
    hint: string;
    run: { mutate: (id: string, options: { onSuccess: () => void }) => void; isPending: boolean; error: unknown; reset: () => void };
  };
  /** Dialogs, and errors of the row's own buttons. */
  children?: ReactNode;
};

/** A list of things that a person has stored: add, look, and remove after asking once more. */
export function StoredList<T extends { id: string }>({ title, hint, list, empty, addLabel, onAdd, row, actions, removal, children }: Props<T>) {
  const t = useT();
  const [removing, setRemoving] = useState<T | null>(null);
  const { run } = removal;
  const add = (
    <Button variant="primary" onClick={onAdd}>
      {addLabel}
    </Button>
  );
  return (
    <Section title={title} hint={hint} action={list.data && list.data.length > 0 ? add : null}>
      {list.isPending ? (
        <Skeleton className="h-24 w-full" />
      ) : !list.data ? (
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      ) : list.data.length === 0 ? (
        <Empty className="rounded-panel border border-line border-dashed" {...empty} action={add} />
      ) : (
        <ul className="divide-y divide-line rounded-panel border border-line">
          {list.data.map((item) => (
            <li key={item.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3">
              <div className="min-w-0 flex-1 basis-48">{row(item)}</div>
              {actions?.(item)}
              <IconButton label={removal.label(item)} onClick={() => setRemoving(item)}>
                <Trash2 size={16} strokeWidth={1.75} />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      {children}
      <Dialog
        open={removing !== null}
        onOpenChange={(open) => {
          if (open) return;
          setRemoving(null);
          run.reset();
        }}
        title={removing ? removal.title(removing) : ""}
        description={removal.hint}
        width="sm"
        footer={
          <>
            <Button autoFocus onClick={() => setRemoving(null)}>
              {t("common.cancel")}
            </Button>
            <Button variant="danger" busy={run.isPending} onClick={() => removing && run.mutate(removing.id, { onSuccess: () => setRemoving(null) })}>
              {t("common.remove")}
            </Button>
          </>
        }
      >
        <ErrorNote error={run.error} />
      </Dialog>
    </Section>
  );
}
