import { Monitor, Moon, Sun } from "lucide-react";
import { RadioGroup } from "radix-ui";
import { useMemo } from "react";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Select } from "#/components/form/Select";
import { Field } from "#/components/ui/input";
import { localeNames, locales, setLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { useSelf } from "#/lib/self";
import { readLocal, writeLocal } from "#/lib/storage";
import { setThemeChoice, type ThemeChoice, useThemeChoice } from "#/lib/theme";
import { allZones, CHOSEN_ZONE, deviceZone } from "#/lib/zone";
import { useSetLocale, useSetTimezone } from "./queries";

const icons = { system: Monitor, light: Sun, dark: Moon };

export function AppearanceTab() {
  const t = useT();
  const theme = useThemeChoice();
  const self = useSelf();
  const locale = useSetLocale();
  const zone = useSetTimezone();
  const zones = useMemo(allZones, []);
  const chosen = readLocal(CHOSEN_ZONE) !== null;

  const pickLocale = (value: string) => {
    const device = navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
    setLocale(locales.find((l) => l === value) ?? device);
    locale.mutate(value || null);
  };
  const pickZone = (value: string) => {
    writeLocal(CHOSEN_ZONE, value ? "chosen" : null);
    zone.mutate(value || deviceZone());
  };
  const current = self.locale ? (self.locale.toLowerCase().startsWith("zh") ? "zh-CN" : "en") : "";
  return (
    <div>
      <Section title={t("settings.theme")}>
        <RadioGroup.Root
          aria-label={t("settings.theme")}
          value={theme}
          onValueChange={(v) => setThemeChoice(v as ThemeChoice)}
          className="grid max-w-md grid-cols-3 gap-2"
        >
          {(["system", "light", "dark"] as const).map((name) => {
            const Icon = icons[name];
            return (
              <RadioGroup.Item
                key={name}
                value={name}
                className={cx(
                  "flex flex-col items-center gap-2 rounded-panel border border-line bg-raised px-3 py-4 text-side text-text-2 transition-colors hover:bg-hover",
                  "data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft data-[state=checked]:font-medium data-[state=checked]:text-text",
                )}
              >
                <Icon size={20} strokeWidth={1.75} aria-hidden="true" />
                {t(`settings.theme.${name}`)}
              </RadioGroup.Item>
            );
          })}
        </RadioGroup.Root>
      </Section>
      <Section title={t("settings.languageTime")} hint={t("settings.languageTimeHint")}>
        <div className="grid max-w-xl gap-4 sm:grid-cols-2">
          <Field label={t("settings.language")}>
            {(c) => (
              <Select {...c} value={current} onChange={(e) => pickLocale(e.target.value)}>
                <option value="">{t("settings.followDevice")}</option>
                {locales.map((l) => (
                  <option key={l} value={l} lang={l}>
                    {localeNames[l]}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t("settings.timezone")}>
            {(c) => (
              <Select {...c} value={chosen ? (self.timezone ?? "") : ""} onChange={(e) => pickZone(e.target.value)}>
                <option value="">{t("settings.deviceZone", { zone: deviceZone() })}</option>
                {zones.map((z) => (
                  <option key={z} value={z}>
                    {z.replaceAll("_", " ")}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        </div>
        <ErrorNote error={locale.error ?? zone.error} className="mt-4" />
      </Section>
    </div>
  );
}
