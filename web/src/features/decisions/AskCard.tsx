import { Link } from "@tanstack/react-router";
import { useId } from "react";
import type { Decision } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { shortTime } from "#/lib/format";

/** A task waits for an answer; it is given where the question was asked. */
export function AskCard({ ask }: { ask: Decision }) {
  const t = useT();
  const id = useId();
  const name = ask.agent?.displayName ?? "";
  return (
    <article aria-labelledby={`${id}-title`} className="rounded-panel border border-line bg-raised p-4">
      <header className="flex items-start gap-3">
        <Avatar id={ask.agent?.id ?? ""} name={name} kind="agent" size={36} />
        <div className="min-w-0 flex-1">
          <h2 id={`${id}-title`} className="break-words font-medium text-body">
            {t("decisions.ask.wants", { name })}
          </h2>
          <p className="break-words text-meta text-text-3">
            {ask.title ? `${ask.title} · ` : ""}
            {shortTime(ask.insertedAt)}
          </p>
        </div>
      </header>
      <p className="mt-3 whitespace-pre-wrap break-words text-body">{ask.question}</p>
      {ask.conversationId && (
        <div className="mt-4">
          <Button variant="primary" asChild>
            <Link to="/rooms/$roomId" params={{ roomId: ask.conversationId }}>
              {t("decisions.ask.open")}
            </Link>
          </Button>
        </div>
      )}
    </article>
  );
}
