import { createFileRoute } from "@tanstack/react-router";
import { HomePage } from "#/shell/HomePage";

export const Route = createFileRoute("/_app/")({ component: HomePage });
