import { useNavigate } from "@tanstack/react-router";
import { Bot, Keyboard, LogOut, Settings } from "lucide-react";
import { useState } from "react";
import { setLocale as saveLocale } from "#/api/me";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Menu, MenuItem, MenuLabel, MenuRadio, MenuSeparator } from "#/components/ui/menu";
import { useSignOut } from "#/features/auth/session";
import { type Locale, localeNames, locales, setLocale, tn, useLocale, useT } from "#/i18n";
import { useSelf } from "#/lib/self";
import { setThemeChoice, type ThemeChoice, useThemeChoice } from "#/lib/theme";
import { useConnection } from "#/realtime/hooks";
import { setShell } from "./ui-state";

const themes: readonly ThemeChoice[] = ["system", "light", "dark"];

/** Oneself, at the foot of the side bar: settings, looks, language, the way out. */
export function UserMenu() {
  const t = useT();
  const self = useSelf();
  const theme = useThemeChoice();
  const locale = useLocale();
  const navigate = useNavigate();
  const { state } = useConnection();
  const online = state === "online";
  const { signOut, unsent } = useSignOut();
  const [losing, setLosing] = useState(0);
  const leave = () => {
    const waiting = unsent();
    if (waiting > 0) setLosing(waiting);
    else void signOut();
  };
  return (
    <>
      <Menu
        align="start"
        side="top"
        className="w-60"
        trigger={
          <button
            type="button"
            className="ring-inset-focus flex min-w-0 flex-1 items-center gap-2.5 rounded-control px-2 py-1.5 text-left hover:bg-hover data-[state=open]:bg-hover [--presence-halo:var(--rail)]"
          >
            <Avatar id={self.id} name={self.displayName} kind="human" src={self.avatarUrl} size={30} presence={online ? "here" : "away"} />
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium text-side">{self.displayName}</span>
              <span className="block truncate text-meta text-text-3">{t(online ? "shell.online" : "shell.connecting")}</span>
            </span>
          </button>
        }
      >
        <MenuItem icon={<Settings size={16} strokeWidth={1.75} />} onSelect={() => void navigate({ href: "/settings" })}>
          {t("shell.settings")}
        </MenuItem>
        <MenuItem icon={<Bot size={16} strokeWidth={1.75} />} onSelect={() => void navigate({ href: "/agents" })}>
          {t("shell.agents")}
        </MenuItem>
        <MenuItem icon={<Keyboard size={16} strokeWidth={1.75} />} hint="?" onSelect={() => setShell({ shortcuts: true })}>
          {t("shell.shortcuts")}
        </MenuItem>
        <MenuSeparator />
        <MenuLabel>{t("shell.theme")}</MenuLabel>
        <MenuRadio
          value={theme}
          onValueChange={(v) => setThemeChoice(v as ThemeChoice)}
          items={themes.map((v) => ({ value: v, label: t(`shell.theme.${v}`) }))}
        />
        <MenuLabel>{t("shell.language")}</MenuLabel>
        <MenuRadio
          value={locale}
          onValueChange={(v) => {
            setLocale(v as Locale);
            // The other devices follow; this one has switched already, whatever becomes of the call.
            saveLocale(v).catch(() => undefined);
          }}
          items={locales.map((v) => ({ value: v, label: localeNames[v] }))}
        />
        <MenuSeparator />
        <MenuItem icon={<LogOut size={16} strokeWidth={1.75} />} onSelect={leave}>
          {t("shell.signOut")}
        </MenuItem>
      </Menu>
      <Dialog
        open={losing > 0}
        onOpenChange={(o) => !o && setLosing(0)}
        width="sm"
        title={t("shell.signOut")}
        description={tn("shell.signOutUnsent", losing)}
        footer={
          <>
            <Button onClick={() => setLosing(0)}>{t("common.cancel")}</Button>
            <Button variant="danger" onClick={() => void signOut()}>
              {t("shell.signOut")}
            </Button>
          </>
        }
      />
    </>
  );
}
