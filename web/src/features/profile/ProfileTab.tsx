import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { DEFAULT_FIELD_LIMITS, fieldLimits } from "#/api/agents";
import { keys } from "#/api/keys";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Field, Input, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { useSelf } from "#/lib/self";
import { useUpdateMe } from "./queries";

const TAGLINE_MAX = 140;

export function ProfileTab() {
  const t = useT();
  const self = useSelf();
  const limits =
    useQuery({ queryKey: keys.fieldLimits, queryFn: ({ signal }) => fieldLimits(signal), staleTime: Number.POSITIVE_INFINITY }).data ??
    DEFAULT_FIELD_LIMITS;
  const stored = {
    firstName: self.firstName ?? self.displayName,
    lastName: self.lastName ?? "",
    tagline: typeof self.metadata?.["tagline"] === "string" ? self.metadata["tagline"] : "",
    description: self.description ?? "",
  };
  const [form, setForm] = useState(stored);
  const save = useUpdateMe();
  const dirty = (Object.keys(stored) as (keyof typeof stored)[]).some((k) => form[k].trim() !== stored[k]);
  const set = (key: keyof typeof stored) => (e: { target: { value: string } }) => setForm((f) => ({ ...f, [key]: e.target.value }));
  const nameProblem = form.firstName.trim() === "" ? t("auth.error.firstName.missing") : fieldError(save.error, "firstName", "auth");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!dirty || !form.firstName.trim()) return;
    save.mutate({
      firstName: form.firstName.trim(),
      lastName: form.lastName.trim() || null,
      tagline: form.tagline.trim(),
      description: form.description.trim(),
    });
  };
  const shownName = [form.firstName, form.lastName]
    .map((s) => s.trim())
    .filter(Boolean)
    .join(" ");
  return (
    <Section title={t("settings.tab.profile")} hint={t("settings.profileHint")}>
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        <div className="flex items-center gap-3.5 rounded-panel border border-line bg-raised px-4 py-3">
          <Avatar id={self.id} name={shownName || self.displayName} kind="human" src={self.avatarUrl} size={48} />
          <div className="min-w-0">
            <p className="truncate font-medium">{shownName || self.displayName}</p>
            <p className="truncate text-side text-text-2">{form.tagline || self.email}</p>
          </div>
        </div>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={t("auth.firstName")} error={nameProblem}>
            {(c) => (
              <Input {...c} autoComplete="given-name" maxLength={limits.profile.displayName} value={form.firstName} onChange={set("firstName")} />
            )}
          </Field>
          <Field label={t("auth.lastName")} error={fieldError(save.error, "lastName", "auth")}>
            {(c) => (
              <Input {...c} autoComplete="family-name" maxLength={limits.profile.displayName} value={form.lastName} onChange={set("lastName")} />
            )}
          </Field>
        </div>
        <Field label={t("settings.tagline")} hint={t("settings.taglineHint")} error={fieldError(save.error, "tagline", "settings")}>
          {(c) => <Input {...c} maxLength={TAGLINE_MAX} value={form.tagline} onChange={set("tagline")} />}
        </Field>
        <Field label={t("settings.about")} hint={t("settings.aboutHint")} error={fieldError(save.error, "description", "settings")}>
          {(c) => <Textarea {...c} rows={4} maxLength={limits.profile.description} value={form.description} onChange={set("description")} />}
        </Field>
        {save.error && <ErrorNote error={save.error} area="settings" />}
        <div className="flex items-center gap-2">
          <Button type="submit" variant="primary" disabled={!dirty} busy={save.isPending}>
            {t("common.save")}
          </Button>
          {dirty && !save.isPending && (
            <Button variant="quiet" onClick={() => setForm(stored)}>
              {t("common.undo")}
            </Button>
          )}
          <span role="status" className="text-side text-good-text">
            {save.isSuccess && !dirty ? t("form.saved") : ""}
          </span>
        </div>
      </form>
    </Section>
  );
}
