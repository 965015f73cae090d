import { common, createLowlight } from "lowlight";

export const lowlight = createLowlight(common);
lowlight.registerAlias({ typescript: ["tsx"], javascript: ["jsx", "mjs", "cjs"], bash: ["console", "shell-session"], ini: ["toml"], xml: ["vue"] });
