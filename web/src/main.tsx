import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./styles/app.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Toaster } from "./components/ui/toast";
import { TooltipProvider } from "./components/ui/tooltip";
import { watchInput } from "./lib/input";
import { queryClient } from "./lib/query";
import { startTheme } from "./lib/theme";
import { router } from "./router";

startTheme();
watchInput();

// A page from before an update asks for files that are gone: load the new one, but not over and over.
window.addEventListener("vite:preloadError", (event) => {
  const last = Number(sessionStorage.getItem("agntchat.reloaded") ?? 0);
  if (Date.now() - last < 30_000) return;
  sessionStorage.setItem("agntchat.reloaded", String(Date.now()));
  event.preventDefault();
  window.location.reload();
});

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TooltipProvider delayDuration={350} skipDelayDuration={200}>
        <RouterProvider router={router} />
        <Toaster />
      </TooltipProvider>
    </QueryClientProvider>
  </StrictMode>,
);
