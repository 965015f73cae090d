import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { serverOrigin } from "#/api/client";
import { keys } from "#/api/keys";
import { type FormerLetterAddress, getLetterAddresses, type LetterAddress } from "#/api/letters";
import type { Agent } from "#/api/types";
import { CopyLine } from "#/components/form/CopyLine";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { useT } from "#/i18n";
import { dateTime, exactTime } from "#/lib/format";
import { addLine, grouped, replaced, sendLine } from "#/lib/letters";
import { useSelf } from "#/lib/self";

/** Where the agent can be written to with encrypted letters, and how to be sure that it is this agent. */
export function LetterSection({ agent }: { agent: Agent }) {
  const t = useT();
  const mine = useSelf().id === agent.ownerId;
  const letters = useQuery({ queryKey: keys.agents.letters(agent.id), queryFn: ({ signal }) => getLetterAddresses(agent.id, signal) });
  const got = letters.data;
  // Most agents have no address: nothing is drawn before that is known.
  if (letters.isPending || got === null || (got && !got.letterAddress && got.former.length === 0 && !mine)) return null;
  if (agent.runtime === "external" && got && !got.letterAddress && got.former.length === 0) return null;
  const before = got ? replaced(got) : undefined;
  const last = got?.former[0];
  return (
    <Section title={t("letters.title")} hint={t("letters.hint")}>
      {!got ? (
        <ErrorNote error={letters.error} onRetry={() => void letters.refetch()} />
      ) : (
        <div className="flex flex-col gap-4">
          {before && got.letterAddress && (
            <Notice title={t("letters.changed", { time: dateTime(got.letterAddress.since) })}>
              <p>{t("letters.changedHint")}</p>
              <p className="mt-1 break-words font-mono text-[13px]">{t("letters.before", { address: grouped(before.fingerprint) })}</p>
            </Notice>
          )}
          {!got.letterAddress && last && (
            <Notice title={t("letters.gone", { time: dateTime(last.until) })}>
              <p>{t("letters.goneHint")}</p>
            </Notice>
          )}
          {got.letterAddress && <Address address={got.letterAddress} name={agent.displayName} />}
          {!got.letterAddress && mine && agent.status !== "deactivated" && (
            <div>
              <p className="mb-2 text-side text-text-2">{t("letters.none")}</p>
              <CopyLine text={`agnt bridge --url ${serverOrigin()} --agent-id ${agent.id} --letters`} label={t("letters.noneLine")} />
            </div>
          )}
          <Former list={got.former} />
        </div>
      )}
    </Section>
  );
}

function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div role="status" className="flex gap-2.5 rounded-control border border-wait-line bg-wait-soft px-3 py-2.5 text-side">
      <TriangleAlert size={16} strokeWidth={1.75} className="mt-0.5 shrink-0 text-wait-text" aria-hidden="true" />
      <div className="min-w-0 flex-1 text-text-2">
        <p className="font-medium text-wait-text">{title}</p>
        {children}
      </div>
    </div>
  );
}

function Address({ address, name }: { address: LetterAddress; name: string }) {
  const t = useT();
  return (
    <>
      <div>
        <CopyLine text={address.fingerprint} shown={grouped(address.fingerprint)} label={t("letters.address")} />
        <dl className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-side">
          <dt className="text-text-3">{t("letters.since")}</dt>
          <dd>
            <time dateTime={address.since} title={exactTime(address.since)}>
              {dateTime(address.since)}
            </time>
          </dd>
          <dt className="text-text-3">{t("letters.relay")}</dt>
          <dd className="break-words">{address.relayUrl}</dd>
        </dl>
      </div>
      <details>
        <summary className="w-fit text-side text-text-2 underline-offset-2 hover:underline">{t("letters.verify", { name })}</summary>
        <ol className="mt-3 flex list-decimal flex-col gap-4 pl-5 text-side text-text-2 marker:text-text-3">
          <li>
            <p className="mb-2">{t("letters.stepAdd")}</p>
            <CopyLine text={addLine(address.fingerprint, address.relayUrl, name)} label={t("letters.stepAddLine")} />
            <p className="mt-1.5 text-[13px] text-text-3 leading-4.5">{t("letters.stepInit")}</p>
          </li>
          <li>
            <p>{t("letters.stepCompare", { name })}</p>
          </li>
          <li>
            <p className="mb-2">{t("letters.stepSend")}</p>
            <CopyLine text={sendLine(address.relayUrl, name, t("letters.sample"))} label={t("letters.stepSendLine")} />
          </li>
        </ol>
      </details>
    </>
  );
}

function Former({ list }: { list: FormerLetterAddress[] }) {
  const t = useT();
  if (list.length === 0) return null;
  return (
    <details>
      <summary className="w-fit text-side text-text-2 underline-offset-2 hover:underline">{t("letters.former", { n: list.length })}</summary>
      <ul className="mt-2 flex flex-col gap-2 border-line border-l pl-4 text-side">
        {list.map((f) => (
          <li key={f.fingerprint + f.until}>
            <p className="break-words font-mono text-[13px]">{grouped(f.fingerprint)}</p>
            <p className="text-meta text-text-3">{t("letters.fromTo", { from: dateTime(f.since), until: dateTime(f.until) })}</p>
          </li>
        ))}
      </ul>
    </details>
  );
}
