import { createFileRoute } from "@tanstack/react-router";

export const Route = createFileRoute("/_app/rooms/$roomId")({ component: Room });

function Room() {
  return <main className="h-full" />;
}
