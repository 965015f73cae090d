import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { exchangeOneTimeCode, login } from "#/api/auth";
import { isApiError } from "#/api/errors";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Button } from "#/components/ui/button";
import { Field, Input } from "#/components/ui/input";
import { Spinner } from "#/components/ui/spinner";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { looksLikeEmail } from "#/lib/password";
import { AuthFrame } from "./AuthFrame";
import { useBegin } from "./session";

/** Takes the code of a one-time link out of the address, so that it is neither bookmarked nor sent along. */
function takeCode(): string | null {
  const code = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (code) window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  return code;
}

export function LoginPage({ next, expired }: { next: string; expired: boolean }) {
  const t = useT();
  const begin = useBegin(next);
  const [code] = useState(takeCode);
  const exchange = useMutation({ mutationFn: exchangeOneTimeCode, onSuccess: begin });
  const started = useRef(false);
  useEffect(() => {
    if (!code || started.current) return;
    started.current = true;
    exchange.mutate(code);
  }, [code, exchange]);

  if (code && !exchange.isError) {
    return (
      <AuthFrame title={t("auth.oneTime.title")}>
        <p role="status" className="flex items-center gap-2.5 text-text-2">
          <Spinner />
          {t("auth.oneTime.busy")}
        </p>
      </AuthFrame>
    );
  }
  const refused = exchange.isError && !(isApiError(exchange.error) && exchange.error.retryable);
  return (
    <AuthFrame
      title={t("auth.signIn")}
      hint={expired ? t("auth.expired") : t("auth.signInHint")}
      below={
        <>
          {t("auth.noAccount")}{" "}
          <Link to="/signup" search={{ next }} className="font-medium text-accent-text underline-offset-2 hover:underline">
            {t("auth.signUp")}
          </Link>
        </>
      }
    >
      {refused && (
        <div role="alert" className="mb-5 rounded-control border border-wait-line bg-wait-soft px-3 py-2.5 text-side">
          <p className="font-medium text-wait-text">{t("auth.oneTime.used")}</p>
          <p className="mt-0.5 text-text-2">{t("auth.oneTime.usedHint")}</p>
        </div>
      )}
      {exchange.isError && !refused && code && <ErrorNote error={exchange.error} onRetry={() => exchange.mutate(code)} className="mb-5" />}
      <LoginForm onDone={begin} />
    </AuthFrame>
  );
}

function LoginForm({ onDone }: { onDone: ReturnType<typeof useBegin> }) {
  const t = useT();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const passwordRef = useRef<HTMLInputElement>(null);
  const signIn = useMutation({
    mutationFn: () => login(email.trim(), password),
    onSuccess: onDone,
    onError: () => passwordRef.current?.select(),
  });
  const emailProblem = tried && !looksLikeEmail(email) ? t("auth.error.email.invalid") : fieldError(signIn.error, "email", "auth");
  const passwordProblem = tried && password === "" ? t("auth.error.password.missing") : fieldError(signIn.error, "password", "auth");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (looksLikeEmail(email) && password !== "") signIn.mutate();
  };
  const elsewhere = signIn.error && !fieldError(signIn.error, "email", "auth") && !fieldError(signIn.error, "password", "auth");
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <Field label={t("auth.email")} error={emailProblem}>
        {(c) => (
          <Input
            {...c}
            type="email"
            name="email"
            autoComplete="username"
            inputMode="email"
            autoFocus
            value={email}
            onChange={(e) => setEmail(e.target.value)}
          />
        )}
      </Field>
      <Field label={t("auth.password")} error={passwordProblem}>
        {(c) => (
          <PasswordInput
            {...c}
            ref={passwordRef}
            name="password"
            autoComplete="current-password"
            value={password}
            onChange={(e) => setPassword(e.target.value)}
          />
        )}
      </Field>
      {elsewhere && <ErrorNote error={signIn.error} area="auth" />}
      <Button type="submit" variant="primary" size="lg" busy={signIn.isPending} className="mt-1">
        {t("auth.signIn")}
      </Button>
    </form>
  );
}
