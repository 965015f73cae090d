import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env["AGNTCHAT_DEV_SERVER"] ?? "http://127.0.0.1:4000";

export default defineConfig({
  plugins: [tanstackRouter({ target: "react", autoCodeSplitting: true }), react(), tailwindcss()],
  resolve: { alias: { "#": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    port: 5173,
    proxy: {
      "/api": { target: server, changeOrigin: false },
      "/socket": { target: server, ws: true, changeOrigin: false },
    },
  },
  build: {
    outDir: "dist",
    // Emptied by hand (scripts/clean-dist.mjs) so that the committed placeholder stays.
    emptyOutDir: false,
    target: "es2022",
    sourcemap: false,
    chunkSizeWarningLimit: 700,
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["./src/lib/vitest-setup.ts"],
    restoreMocks: true,
  },
});
