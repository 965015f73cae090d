import { Link, useNavigate } from "@tanstack/react-router";
import { ArrowRight, Bot, Laptop, MessageSquare, Terminal } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { serverOrigin } from "#/api/client";
import type { Id, LocalSetup } from "#/api/types";
import { BridgeSteps, BridgeWait } from "#/components/BridgeSteps";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Field, Input } from "#/components/ui/input";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { writeDraft } from "#/lib/drafts";
import { useSelf } from "#/lib/self";
import { useAgentDevice, usePresence } from "#/realtime/hooks";
import { useGuideAgent, useLocalSetup, useMakeHere, useMakeRemote, useOpenRoom } from "./queries";

type Props = {
  agent: Id | undefined;
  onAgent: (agent: Id | undefined) => void;
  /** What keeps the agent from answering although it is online. */
  blocker: (agent: Id) => ReactNode;
};

/** From an empty account to a talking agent: pick how it runs, see it come online, write the first message. */
export function GuidePage({ agent, onAgent, blocker }: Props) {
  const t = useT();
  const [made, setMade] = useState<{ id: Id; apiKey?: string; here: boolean } | null>(null);
  const step = agent ? 2 : 1;
  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto flex min-h-full w-full max-w-[640px] flex-col px-4 py-8 sm:px-8 sm:py-14">
        {agent ? (
          <ConnectStep
            agentId={agent}
            apiKey={made?.id === agent ? made.apiKey : undefined}
            here={made?.id === agent ? made.here : false}
            onBack={() => onAgent(undefined)}
            blocker={blocker(agent)}
          />
        ) : (
          <ChooseStep
            onMade={(next) => {
              setMade(next);
              onAgent(next.id);
            }}
          />
        )}
        <footer className="mt-10 flex items-center justify-between gap-4 text-side text-text-3">
          <span>{t("guide.step", { n: step })}</span>
          <Link to="/" className="rounded-control text-text-2 underline-offset-2 hover:underline">
            {t("guide.later")}
          </Link>
        </footer>
      </div>
    </div>
  );
}

function ChooseStep({ onMade }: { onMade: (made: { id: Id; apiKey?: string; here: boolean }) => void }) {
  const t = useT();
  const self = useSelf();
  const setup = useLocalSetup();
  const here = useMakeHere();
  const offers = setup.data?.offers ?? [];
  const ready = offers.filter((o) => o.ready);
  return (
    <>
      <h1 className="text-balance font-semibold text-head">{t("guide.welcome", { name: self.firstName || self.displayName })}</h1>
      <p className="mt-1.5 text-pretty text-text-2">{t("guide.intro")}</p>
      <div className="mt-7 flex flex-col gap-3">
        {setup.isPending ? (
          <Skeleton className="h-20 w-full rounded-panel" />
        ) : (
          <>
            {ready.map((offer) => (
              <Card
                key={offer.backend}
                icon={<Laptop size={20} strokeWidth={1.75} />}
                title={t("guide.here", { label: offer.label })}
                hint={t("guide.hereHint")}
              >
                <Button
                  variant="primary"
                  busy={here.isPending && here.variables === offer.backend}
                  disabled={here.isPending}
                  onClick={() => here.mutate(offer.backend, { onSuccess: (agent) => onMade({ id: agent.id, here: true }) })}
                >
                  {t("guide.hereDo")}
                </Button>
              </Card>
            ))}
            {here.error && <ErrorNote error={here.error} area="guide" />}
            {offers.some((o) => !o.ready) && <NotReady offers={offers} />}
            {setup.data?.demoAgentId && <DemoCard agentId={setup.data.demoAgentId} prominent={ready.length === 0} />}
          </>
        )}
        <RemoteCard prominent={!setup.isPending && ready.length === 0 && !setup.data?.demoAgentId} onMade={onMade} />
      </div>
    </>
  );
}

function NotReady({ offers }: { offers: LocalSetup["offers"] }) {
  const t = useT();
  return (
    <p className="text-[13px] text-text-3 leading-4.5">
      {t("guide.notReady", {
        list: offers
          .filter((o) => !o.ready)
          .map((o) => o.label)
          .join(", "),
      })}
    </p>
  );
}

function Card({ icon, title, hint, children }: { icon: ReactNode; title: string; hint: string; children: ReactNode }) {
  return (
    <section className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-panel border border-line bg-raised px-4 py-4">
      <span className="grid size-10 shrink-0 place-items-center rounded-panel bg-accent-soft text-accent-text" aria-hidden="true">
        {icon}
      </span>
      <div className="min-w-0 flex-1 basis-52">
        <h2 className="font-medium text-body">{title}</h2>
        <p className="text-pretty text-side text-text-2">{hint}</p>
      </div>
      {children}
    </section>
  );
}

function DemoCard({ agentId, prominent }: { agentId: Id; prominent: boolean }) {
  const t = useT();
  const open = useOpenRoom();
  const navigate = useNavigate();
  return (
    <>
      <Card icon={<Bot size={20} strokeWidth={1.75} />} title={t("guide.demo")} hint={t("guide.demoHint")}>
        <Button
          variant={prominent ? "primary" : "secondary"}
          busy={open.isPending}
          onClick={() =>
            open.mutate(agentId, {
              onSuccess: (room) => {
                writeDraft(room.id, t("guide.demoFirst"));
                void navigate({ to: "/rooms/$roomId", params: { roomId: room.id } });
              },
            })
          }
        >
          {t("guide.demoDo")}
        </Button>
      </Card>
      {open.error && <ErrorNote error={open.error} area="guide" />}
    </>
  );
}

function RemoteCard({ prominent, onMade }: { prominent: boolean; onMade: (made: { id: Id; apiKey: string; here: boolean }) => void }) {
  const t = useT();
  const [name, setName] = useState("");
  const [tried, setTried] = useState(false);
  const make = useMakeRemote();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (name.trim()) make.mutate(name.trim(), { onSuccess: (agent) => onMade({ id: agent.id, apiKey: agent.apiKey, here: false }) });
  };
  return (
    <section className="rounded-panel border border-line bg-raised px-4 py-4">
      <div className="flex items-center gap-4">
        <span className="grid size-10 shrink-0 place-items-center rounded-panel bg-accent-soft text-accent-text" aria-hidden="true">
          <Terminal size={20} strokeWidth={1.75} />
        </span>
        <div className="min-w-0">
          <h2 className="font-medium text-body">{t("guide.remote")}</h2>
          <p className="text-pretty text-side text-text-2">{t("guide.remoteHint")}</p>
        </div>
      </div>
      <form onSubmit={submit} noValidate className="mt-4 flex flex-wrap items-start gap-2 sm:pl-14">
        <Field
          label={t("guide.name")}
          className="min-w-0 flex-1 basis-48"
          error={tried && !name.trim() ? t("agents.error.displayName.missing") : undefined}
        >
          {(c) => <Input {...c} maxLength={100} placeholder={t("agents.namePlaceholder")} value={name} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <Button type="submit" variant={prominent ? "primary" : "secondary"} busy={make.isPending} className="mt-6.5 h-9">
          {t("guide.remoteDo")}
        </Button>
      </form>
      {make.error && <ErrorNote error={make.error} area="agents" className="mt-3" />}
    </section>
  );
}

type ConnectProps = { agentId: Id; apiKey: string | undefined; here: boolean; onBack: () => void; blocker: ReactNode };

function ConnectStep({ agentId, apiKey, here, onBack, blocker }: ConnectProps) {
  const t = useT();
  const agent = useGuideAgent(agentId);
  const presence = usePresence(agentId);
  const device = useAgentDevice(agentId);
  const online = presence !== "away";
  const name = agent.data?.displayName ?? "";
  const where = device ? device.nickname || device.name : undefined;
  if (agent.isPending) return <Skeleton className="h-48 w-full rounded-panel" />;
  if (!agent.data) {
    return (
      <div className="flex flex-col gap-3">
        <ErrorNote error={agent.error} onRetry={() => void agent.refetch()} />
        <div>
          <Button onClick={onBack}>{t("common.back")}</Button>
        </div>
      </div>
    );
  }
  return (
    <>
      <div className="flex items-center gap-4">
        <Avatar id={agentId} name={name} kind="agent" src={agent.data.avatarUrl} size={48} presence={presence} />
        <div className="min-w-0">
          <h1 className="text-balance font-semibold text-head">
            {online ? t("guide.ready", { name }) : here ? t("guide.starting", { name }) : t("agents.bridge.title", { name })}
          </h1>
          {!online && <p className="text-pretty text-text-2">{here ? t("guide.startingHint") : t("agents.bridge.hint")}</p>}
        </div>
      </div>
      <div className="mt-6">
        {online ? (
          <div className="flex flex-col gap-5">
            {blocker}
            <FirstMessage agentId={agentId} />
          </div>
        ) : here ? (
          <BridgeWait name={name} online={false} device={where} />
        ) : (
          <BridgeSteps origin={serverOrigin()} agentId={agentId} name={name} apiKey={apiKey} online={online} device={where} />
        )}
      </div>
      {!online && (
        <div className="mt-4 flex flex-wrap gap-2">
          <Button variant="quiet" className="-ml-3.5" onClick={onBack}>
            {t("guide.otherWay")}
          </Button>
          <Button variant="quiet" asChild>
            <Link to="/agents/$agentId" params={{ agentId }}>
              {t("guide.agentPage")}
            </Link>
          </Button>
        </div>
      )}
    </>
  );
}

const suggestions = ["guide.first.hello", "guide.first.plan", "guide.first.explain"] as const;

/** Three ways to begin. The words go into the composer; the person sends them. */
function FirstMessage({ agentId }: { agentId: Id }) {
  const t = useT();
  const open = useOpenRoom();
  const navigate = useNavigate();
  const start = (text: string) =>
    open.mutate(agentId, {
      onSuccess: (room) => {
        if (text) writeDraft(room.id, text);
        void navigate({ to: "/rooms/$roomId", params: { roomId: room.id } });
      },
    });
  return (
    <div>
      <p className="mb-3 text-text-2">{t("guide.firstHint")}</p>
      <ul className="flex flex-col gap-2">
        {suggestions.map((key) => (
          <li key={key}>
            <button
              type="button"
              disabled={open.isPending}
              onClick={() => start(t(key))}
              className={cx(
                "group flex w-full items-center gap-3 rounded-panel border border-line bg-raised px-4 py-3 text-left transition-colors hover:border-accent-line hover:bg-accent-soft",
              )}
            >
              <MessageSquare size={16} strokeWidth={1.75} className="shrink-0 text-text-3 group-hover:text-accent-text" aria-hidden="true" />
              <span className="min-w-0 flex-1">{t(key)}</span>
              <ArrowRight size={16} strokeWidth={1.75} className="shrink-0 text-text-3 group-hover:text-accent-text" aria-hidden="true" />
            </button>
          </li>
        ))}
      </ul>
      <Button variant="quiet" className="mt-3 -ml-3.5" busy={open.isPending} onClick={() => start("")}>
        {t("guide.firstOwn")}
      </Button>
      <ErrorNote error={open.error} area="guide" className="mt-3" />
    </div>
  );
}
