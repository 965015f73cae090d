import { Languages } from "lucide-react";
import type { ReactNode } from "react";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Menu, MenuRadio } from "#/components/ui/menu";
import { type Locale, localeNames, locales, setLocale, useLocale, useT } from "#/i18n";

type Props = { title: ReactNode; hint?: ReactNode; children: ReactNode; below?: ReactNode };

/** The page around sign-in and sign-up: the form, and on wide screens a quiet picture of what is behind it. */
export function AuthFrame({ title, hint, children, below }: Props) {
  return (
    <div className="grid h-full overflow-y-auto lg:grid-cols-[minmax(480px,1fr)_minmax(0,1.1fr)]">
      <div className="flex min-h-full flex-col px-5 py-6 sm:px-10">
        <header className="flex items-center justify-between">
          <Wordmark />
          <LanguageMenu />
        </header>
        <main className="mx-auto flex w-full max-w-[400px] flex-1 flex-col justify-center py-10">
          <h1 className="text-balance font-semibold text-head">{title}</h1>
          {hint && <p className="mt-1.5 text-pretty text-text-2">{hint}</p>}
          <div className="mt-7">{children}</div>
          {below && <div className="mt-7 text-side text-text-2">{below}</div>}
        </main>
      </div>
      <Scene />
    </div>
  );
}

function Wordmark() {
  return (
    <span className="inline-flex items-center gap-2 font-semibold text-title tracking-[-0.01em]">
      <svg width="26" height="20" viewBox="0 0 26 20" aria-hidden="true">
        <circle cx="8" cy="10" r="6.25" fill="none" stroke="var(--accent)" strokeWidth="2.5" />
        <rect x="12.5" y="4" width="12" height="12" rx="3.6" fill="var(--accent)" />
      </svg>
      agntchat
    </span>
  );
}

function LanguageMenu() {
  const t = useT();
  const locale = useLocale();
  return (
    <Menu
      trigger={
        <Button variant="quiet" size="sm" aria-label={t("auth.language", { name: localeNames[locale] })}>
          <Languages size={16} strokeWidth={1.75} />
          {localeNames[locale]}
        </Button>
      }
    >
      <MenuRadio
        value={locale}
        onValueChange={(v) => setLocale(v as Locale)}
        items={locales.map((l) => ({ value: l, label: <span lang={l}>{localeNames[l]}</span> }))}
      />
    </Menu>
  );
}

/** A moment of a room, drawn with the real parts: who is a person, who is an agent, who works. Decoration. */
function Scene() {
  const t = useT();
  return (
    <aside
      aria-hidden="true"
      className="relative hidden overflow-hidden border-line border-l bg-rail lg:grid lg:place-items-center [--presence-halo:var(--raised)]"
    >
      <div className="w-full max-w-[460px] px-10">
        <div className="flex flex-col gap-5 rounded-dialog border border-line bg-raised p-6 shadow-raised">
          <Line id="ada" name="Ada" kind="human" text={t("auth.scene.ask")} presence="here" />
          <Line id="nova-7" name="Nova" kind="agent" text={t("auth.scene.answer")} presence="here" />
          <Line id="lin" name="林晓" kind="human" text={t("auth.scene.thanks")} presence="idle" />
          <div className="flex items-center gap-3 text-side text-text-3">
            <Avatar id="quill" name="Quill" kind="agent" size={32} presence="working" />
            <span>{t("auth.scene.working")}</span>
          </div>
        </div>
        <p className="mt-6 text-balance text-center text-side text-text-2">{t("auth.scene.line")}</p>
      </div>
    </aside>
  );
}

function Line({ id, name, kind, text, presence }: { id: string; name: string; kind: "human" | "agent"; text: string; presence: "here" | "idle" }) {
  return (
    <div className="flex gap-3">
      <Avatar id={id} name={name} kind={kind} size={32} presence={presence} />
      <div className="min-w-0">
        <p className="font-medium text-side">{name}</p>
        <p className="text-text-2">{text}</p>
      </div>
    </div>
  );
}
