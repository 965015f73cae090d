import { type ReactNode, useState } from "react";
import { type ApprovalRule, type Risk, type RulePlace, risks } from "#/api/limits";
import type { Id, NamedPerson, Participant } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Select } from "#/components/form/Select";
import { Button } from "#/components/ui/button";
import { Field } from "#/components/ui/input";
import { Skeleton } from "#/components/ui/states";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { useRule, useSetRule } from "./limitQueries";

/** Chooses people; the page brings it. */
export type Picker = (props: { label: string; picked: readonly Participant[]; onChange: (picked: Participant[]) => void }) => ReactNode;

type Props = {
  at: RulePlace;
  title: string;
  hint: string;
  /** Whom the person knows, for the pictures of those who were chosen before. */
  people: readonly Participant[];
  picker: Picker;
};

const MOST = 20;

/** From which risk on two different people have to allow what an agent wants to run, and who may beside its owner. */
export function TwoPeople({ at, title, hint, people, picker }: Props) {
  const rule = useRule(at);
  return (
    <Section title={title} hint={hint}>
      {rule.data !== undefined ? (
        <Form at={at} rule={rule.data} people={people} picker={picker} />
      ) : rule.isPending ? (
        <Skeleton className="h-16 w-full" />
      ) : (
        <ErrorNote error={rule.error} onRetry={() => void rule.refetch()} />
      )}
    </Section>
  );
}

function Form({ at, rule, people, picker }: Omit<Props, "title" | "hint"> & { rule: ApprovalRule | null }) {
  const t = useT();
  const self = useSelf();
  const save = useSetRule(at);
  // What was changed and not saved yet; else what the server says is shown.
  const [chosen, setLeast] = useState<Risk | "" | null>(null);
  const [changed, setPicked] = useState<readonly Participant[] | null>(null);
  const least = chosen ?? rule?.leastRisk ?? "";
  const held = rule?.deciders ?? [];
  const picked = changed ?? held.map((d) => person(d, people));
  const ids = picked.map((p) => p.id);
  const same =
    least === (rule?.leastRisk ?? "") &&
    (least === "" ||
      sameSet(
        ids,
        held.map((d) => d.id),
      ));
  const bad = least !== "" && (ids.length === 0 ? t("decisions.rule.nobody") : ids.length > MOST ? t("decisions.rule.tooMany", { n: MOST }) : "");
  return (
    <form
      className="flex max-w-xl flex-col gap-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (same || bad || save.isPending) return;
        save.mutate(least === "" ? null : { leastRisk: least, deciderIds: ids }, {
          onSuccess: () => {
            setLeast(null);
            setPicked(null);
            toast({ tone: "good", title: t(least === "" ? "decisions.rule.dropped" : "decisions.rule.saved") });
          },
        });
      }}
    >
      <Field label={t("decisions.rule.when")}>
        {(control) => (
          <Select {...control} value={least} onChange={(e) => setLeast(e.target.value as Risk | "")}>
            <option value="">{t("decisions.rule.never")}</option>
            {[...risks].reverse().map((r) => (
              <option key={r} value={r}>
                {t(`decisions.rule.from.${r}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {least !== "" && (
        <div>
          {picker({ label: t("decisions.rule.who"), picked, onChange: setPicked })}
          {bad && <p className="mt-1 text-[13px] text-text-2 leading-4.5">{bad}</p>}
        </div>
      )}
      {rule && same && (
        <p className="text-meta text-text-3">
          <time dateTime={rule.updatedAt} title={exactTime(rule.updatedAt)}>
            {rule.setBy.id === self.id
              ? t("decisions.rule.setByYou", { time: shortTime(rule.updatedAt) })
              : t("decisions.rule.setBy", { name: rule.setBy.displayName, time: shortTime(rule.updatedAt) })}
          </time>
        </p>
      )}
      <ErrorNote error={save.error} area="decisions" />
      <Button type="submit" variant="primary" className="self-start" busy={save.isPending} disabled={same || Boolean(bad)}>
        {t("common.save")}
      </Button>
    </form>
  );
}

/** With their picture where the person shares a room with them; by name else. */
function person(d: NamedPerson, people: readonly Participant[]): Participant {
  return people.find((p) => p.id === d.id) ?? { id: d.id, type: "human", displayName: d.displayName, avatarUrl: null };
}

function sameSet(a: readonly Id[], b: readonly Id[]): boolean {
  return a.length === b.length && a.every((x) => b.includes(x));
}
