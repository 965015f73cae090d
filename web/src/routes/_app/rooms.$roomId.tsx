import { createFileRoute } from "@tanstack/react-router";
import { RoomPage } from "#/shell/RoomPage";

export const Route = createFileRoute("/_app/rooms/$roomId")({ component: Page });

function Page() {
  const { roomId } = Route.useParams();
  return <RoomPage roomId={roomId} />;
}
