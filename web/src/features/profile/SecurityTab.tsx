import { type FormEvent, type ReactNode, useState } from "react";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Field } from "#/components/ui/input";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { exactTime, shortTime } from "#/lib/format";
import { checkPassword } from "#/lib/password";
import { useSelf } from "#/lib/self";
import { deviceName } from "./device";
import { useChangePassword, useRevokeSession, useSessions } from "./queries";

export function SecurityTab({ rules }: { rules?: ReactNode }) {
  return (
    <div>
      <PasswordSection />
      <SessionsSection />
      {rules}
    </div>
  );
}

function PasswordSection() {
  const t = useT();
  const self = useSelf();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [tried, setTried] = useState(false);
  const change = useChangePassword();
  const verdict = checkPassword(next, self.email ?? "");
  const weak = verdict.missing[0];
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (weak) return;
    change.mutate(
      { current, next },
      {
        onSuccess: () => {
          setCurrent("");
          setNext("");
          setTried(false);
        },
      },
    );
  };
  const currentProblem = fieldError(change.error, "currentPassword", "auth");
  const nextProblem =
    tried && weak ? t(`auth.rule.${weak}`) : (fieldError(change.error, "newPassword", "auth") ?? fieldError(change.error, "password", "auth"));
  return (
    <Section title={t("settings.password")} hint={t("settings.passwordHint")}>
      <form onSubmit={submit} noValidate className="flex max-w-sm flex-col gap-4">
        <Field label={t("settings.currentPassword")} hint={t("settings.currentHint")} error={currentProblem}>
          {(c) => <PasswordInput {...c} autoComplete="current-password" value={current} onChange={(e) => setCurrent(e.target.value)} />}
        </Field>
        <Field label={t("settings.newPassword")} hint={t("settings.passwordRules")} error={nextProblem}>
          {(c) => <PasswordInput {...c} autoComplete="new-password" value={next} onChange={(e) => setNext(e.target.value)} />}
        </Field>
        {change.error && !currentProblem && !nextProblem && <ErrorNote error={change.error} area="settings" />}
        <div className="flex items-center gap-3">
          <Button type="submit" busy={change.isPending}>
            {t("settings.changePassword")}
          </Button>
          <span role="status" className="text-side text-good-text">
            {change.isSuccess && !next ? t("settings.passwordChanged") : ""}
          </span>
        </div>
      </form>
    </Section>
  );
}

function SessionsSection() {
  const t = useT();
  const sessions = useSessions();
  const revoke = useRevokeSession();
  const rows = [...(sessions.data ?? [])].sort(
    (a, b) => Number(b.current) - Number(a.current) || ((a.lastSeenAt ?? "") < (b.lastSeenAt ?? "") ? 1 : -1),
  );
  return (
    <Section title={t("settings.sessions")} hint={t("settings.sessionsHint")}>
      {sessions.isPending ? (
        <Skeleton className="h-24 w-full" />
      ) : !sessions.data ? (
        <ErrorNote error={sessions.error} onRetry={() => void sessions.refetch()} />
      ) : (
        <ul className="divide-y divide-line rounded-panel border border-line">
          {rows.map((s) => (
            <li key={s.id} className="flex items-center gap-3 px-4 py-3">
              <div className="min-w-0 flex-1">
                <p className="truncate font-medium text-side">{deviceName(s.userAgent) || t("settings.unknownDevice")}</p>
                <p className="truncate text-meta text-text-3">
                  {s.current ? (
                    <span className="text-good-text">{t("settings.thisDevice")}</span>
                  ) : (
                    s.lastSeenAt && <span title={exactTime(s.lastSeenAt)}>{t("settings.lastSeen", { time: shortTime(s.lastSeenAt) })}</span>
                  )}
                  {s.ip && <span> · {s.ip}</span>}
                </p>
              </div>
              {!s.current && (
                <Button
                  size="sm"
                  busy={revoke.isPending && revoke.variables === s.id}
                  onClick={() => revoke.mutate(s.id)}
                  aria-label={t("settings.revokeOne", { device: deviceName(s.userAgent) })}
                >
                  {t("settings.revoke")}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      <ErrorNote error={revoke.error} className="mt-3" />
    </Section>
  );
}
