import { CircleCheck, Download } from "lucide-react";
import { CopyLine } from "#/components/form/CopyLine";
import { PresenceMark } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { bridgeLine } from "#/lib/bridge";
import { cx } from "#/lib/cx";

type Props = {
  origin: string;
  agentId: string;
  name: string;
  /** Only right after it was made. */
  apiKey: string | undefined;
  online: boolean;
  /** The machine it runs on, while online. */
  device?: string | undefined;
};

/** How to bring an agent online: one line to copy, and a state that turns by itself. */
export function BridgeSteps({ origin, agentId, name, apiKey, online, device }: Props) {
  const t = useT();
  const line = bridgeLine(origin, agentId, apiKey);
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="mb-2 text-side text-text-2">{t("agents.bridge.run")}</p>
        <CopyLine text={line.text} shown={line.shown} label={t("agents.bridge.line")} />
        {!line.complete && <p className="mt-1.5 text-[13px] text-text-3 leading-4.5">{t("agents.bridge.placeholder")}</p>}
      </div>
      <p className="flex items-start gap-2 text-[13px] text-text-3 leading-4.5">
        <Download size={14} strokeWidth={1.75} className="mt-0.5 shrink-0" aria-hidden="true" />
        <span className="min-w-0">{t("agents.bridge.install")}</span>
      </p>
      <BridgeWait name={name} online={online} device={device} />
    </div>
  );
}

/** "Waiting for the bridge", which becomes "online" when it is. */
export function BridgeWait({ name, online, device }: { name: string; online: boolean; device?: string | undefined }) {
  const t = useT();
  return (
    <div
      role="status"
      className={cx(
        "flex items-center gap-2.5 rounded-control border px-3 py-2.5 text-side transition-colors",
        online ? "border-transparent bg-good-soft text-good-text" : "border-line bg-raised text-text-2",
      )}
    >
      {online ? (
        <>
          <CircleCheck size={18} strokeWidth={1.75} className="shrink-0" aria-hidden="true" />
          <span className="font-medium">{device ? t("agents.bridge.onlineOn", { name, device }) : t("agents.bridge.online", { name })}</span>
        </>
      ) : (
        <>
          <span className="shrink-0 [--presence-halo:var(--raised)]">
            <PresenceMark state="working" kind="agent" size={18} />
          </span>
          <span>{t("agents.bridge.waiting", { name })}</span>
        </>
      )}
    </div>
  );
}
