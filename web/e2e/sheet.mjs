// Puts pictures of e2e/out side by side: `node e2e/sheet.mjs sheet.png a b c`.
import { readFileSync } from "node:fs";
import { launch } from "./fixtures/browser.mjs";

const [target, ...names] = process.argv.slice(2);
const out = new URL("./out/", import.meta.url).pathname;
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1800, height: 900 } });
const images = names.map(
  (n) => `<img style="height:880px;border:1px solid #888" src="data:image/png;base64,${readFileSync(`${out}${n}.png`).toString("base64")}">`,
);
await page.setContent(`<body style="margin:4px;display:flex;gap:8px;background:#777;width:max-content">${images.join("")}</body>`);
await page.locator("body").screenshot({ path: target });
await browser.close();
