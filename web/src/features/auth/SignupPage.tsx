import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { MailCheck } from "lucide-react";
import { type FormEvent, useRef, useState } from "react";
import { type SignupInput, signup, signupPolicy } from "#/api/auth";
import { keys } from "#/api/keys";
import { CheckboxRow } from "#/components/form/Checkbox";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Button } from "#/components/ui/button";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { checkPassword, looksLikeEmail, MIN_AGE, oldEnough } from "#/lib/password";
import { deviceZone } from "#/lib/zone";
import { AuthFrame } from "./AuthFrame";
import { StrengthMeter } from "./StrengthMeter";
import { useBegin } from "./session";

const inviteCodes = new Set(["invite_code_required", "invite_code_invalid", "invite_code_used", "invite_code_expired", "invite_code_email_mismatch"]);

interface Form {
  firstName: string;
  lastName: string;
  email: string;
  password: string;
  birthDate: string;
  inviteCode: string;
  terms: boolean;
}

export function SignupPage({ next, invite }: { next: string; invite: string }) {
  const t = useT();
  const begin = useBegin(next);
  const [form, setForm] = useState<Form>({ firstName: "", lastName: "", email: "", password: "", birthDate: "", inviteCode: invite, terms: false });
  const [tried, setTried] = useState(false);
  const [sentTo, setSentTo] = useState<string | null>(null);
  const formRef = useRef<HTMLFormElement>(null);
  // Unknown means required (contract 2.1), but the field stays optional to fill in until the server says so.
  const policy = useQuery({ queryKey: keys.signupPolicy, queryFn: ({ signal }) => signupPolicy(signal), staleTime: Number.POSITIVE_INFINITY });
  const inviteRequired = policy.data?.inviteRequired === true;

  const join = useMutation({
    mutationFn: () => signup(toInput(form)),
    onSuccess: (result) => {
      if (result.kind === "signed_in") begin(result.session);
      else setSentTo(form.email.trim());
    },
    onError: () => requestAnimationFrame(() => formRef.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus()),
  });

  if (sentTo) {
    return (
      <AuthFrame title={t("auth.confirm.title")} hint={t("auth.confirm.hint", { email: sentTo })}>
        <div className="flex items-center gap-3">
          <MailCheck size={20} strokeWidth={1.75} className="text-good-text" aria-hidden="true" />
          <Button asChild variant="primary">
            <Link to="/login" search={{ next }}>
              {t("auth.signIn")}
            </Link>
          </Button>
        </div>
      </AuthFrame>
    );
  }

  const verdict = checkPassword(form.password, form.email);
  const code = join.error && "code" in join.error ? String(join.error.code) : "";
  const inviteFailed = inviteCodes.has(code);
  const problem = {
    firstName: tried && !form.firstName.trim() ? t("auth.error.firstName.missing") : fieldError(join.error, "firstName", "auth"),
    lastName: fieldError(join.error, "lastName", "auth"),
    email:
      tried && !looksLikeEmail(form.email)
        ? t("auth.error.email.invalid")
        : (fieldError(join.error, "email", "auth") ?? (code === "email_taken" ? t("auth.error.email_taken") : undefined)),
    password: tried && verdict.score < 2 ? t("auth.error.password.weak") : fieldError(join.error, "password", "auth"),
    birthDate:
      tried && !form.birthDate
        ? t("auth.error.birthDate.missing")
        : tried && !oldEnough(form.birthDate)
          ? t("auth.error.birthDate.young", { age: MIN_AGE })
          : fieldError(join.error, "birthDate", "auth"),
    inviteCode:
      tried && inviteRequired && !form.inviteCode.trim()
        ? t("auth.error.invite_code_required")
        : inviteFailed
          ? t(`auth.error.${code}` as "auth.error.invite_code_used")
          : fieldError(join.error, "inviteCode", "auth"),
    terms: tried && !form.terms ? t("auth.error.terms") : fieldError(join.error, "acceptedTerms", "auth"),
  };
  const valid =
    form.firstName.trim() !== "" &&
    looksLikeEmail(form.email) &&
    verdict.score >= 2 &&
    oldEnough(form.birthDate) &&
    form.terms &&
    (!inviteRequired || form.inviteCode.trim() !== "");
  const set = <K extends keyof Form>(key: K, value: Form[K]) => {
    setForm((f) => ({ ...f, [key]: value }));
    if (join.isError) join.reset();
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (valid) join.mutate();
    else requestAnimationFrame(() => formRef.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const elsewhere = join.error && !Object.values(problem).some(Boolean);

  return (
    <AuthFrame
      title={t("auth.signUp")}
      hint={t("auth.signUpHint")}
      below={
        <>
          {t("auth.haveAccount")}{" "}
          <Link to="/login" search={{ next }} className="font-medium text-accent-text underline-offset-2 hover:underline">
            {t("auth.signIn")}
          </Link>
        </>
      }
    >
      <form ref={formRef} onSubmit={submit} noValidate className="flex flex-col gap-4">
        {(inviteRequired || invite || inviteFailed) && (
          <Field label={t("auth.inviteCode")} error={problem.inviteCode}>
            {(c) => <Input {...c} name="inviteCode" autoComplete="off" value={form.inviteCode} onChange={(e) => set("inviteCode", e.target.value)} />}
          </Field>
        )}
        <div className="grid grid-cols-2 gap-3">
          <Field label={t("auth.firstName")} error={problem.firstName}>
            {(c) => (
              <Input
                {...c}
                name="firstName"
                autoComplete="given-name"
                autoFocus
                maxLength={60}
                value={form.firstName}
                onChange={(e) => set("firstName", e.target.value)}
              />
            )}
          </Field>
          <Field label={t("auth.lastName")} error={problem.lastName}>
            {(c) => (
              <Input
                {...c}
                name="lastName"
                autoComplete="family-name"
                maxLength={60}
                placeholder={t("form.optional")}
                value={form.lastName}
                onChange={(e) => set("lastName", e.target.value)}
              />
            )}
          </Field>
        </div>
        <Field label={t("auth.email")} error={problem.email}>
          {(c) => (
            <Input
              {...c}
              type="email"
              name="email"
              autoComplete="email"
              inputMode="email"
              value={form.email}
              onChange={(e) => set("email", e.target.value)}
            />
          )}
        </Field>
        <div>
          <Field label={t("auth.password")} error={problem.password}>
            {(c) => (
              <PasswordInput
                {...c}
                name="password"
                autoComplete="new-password"
                value={form.password}
                onChange={(e) => set("password", e.target.value)}
              />
            )}
          </Field>
          <StrengthMeter verdict={verdict} />
        </div>
        <Field label={t("auth.birthDate")} hint={t("auth.birthDateHint", { age: MIN_AGE })} error={problem.birthDate}>
          {(c) => (
            <Input
              {...c}
              type="date"
              name="birthDate"
              autoComplete="bday"
              max={new Date().toISOString().slice(0, 10)}
              value={form.birthDate}
              onChange={(e) => set("birthDate", e.target.value)}
            />
          )}
        </Field>
        <div className="flex flex-col gap-1.5">
          <CheckboxRow name="terms" checked={form.terms} onChange={(v) => set("terms", v)} error={problem.terms} label={t("auth.terms")} />
          <details className="pl-7 text-[13px] text-text-2 leading-5">
            <summary className="w-fit text-text-2 underline underline-offset-2">{t("auth.termsMore")}</summary>
            <p className="mt-1.5">{t("auth.termsText")}</p>
          </details>
        </div>
        {elsewhere && <ErrorNote error={join.error} area="auth" />}
        <Button type="submit" variant="primary" size="lg" busy={join.isPending} className="mt-1">
          {t("auth.signUp")}
        </Button>
      </form>
    </AuthFrame>
  );
}

function toInput(form: Form): SignupInput {
  return {
    email: form.email.trim(),
    password: form.password,
    firstName: form.firstName.trim(),
    ...(form.lastName.trim() ? { lastName: form.lastName.trim() } : {}),
    ...(form.inviteCode.trim() ? { inviteCode: form.inviteCode.trim() } : {}),
    acceptedTerms: true,
    birthDate: form.birthDate,
    marketingOptIn: false,
    analyticsOptIn: false,
    timezone: deviceZone(),
  };
}
