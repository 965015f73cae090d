export const timeline = {
  "code.plain": "text",
  "code.wrap": "Wrap lines",
  "image.untitled": "Picture",
  "image.show": "Show from {host}",
} as const;
