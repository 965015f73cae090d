// A stand-in for a model's provider, in the form of OpenAI's chat completions: it remembers every request and answers as told.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Message {
  role: string;
  content: unknown;
}

/** What the model says: a text, or calls of a tool. */
export type Say = { text: string } | { tool: string; args: Record<string, unknown> };

export interface Model {
  url: string;
  /** The messages of every request that brought tools along, which those of titles and summaries do not. */
  turns: Message[][];
  /** Told what to answer to a turn; says "done" without it. May wait. */
  answer: (messages: Message[], turn: number) => Say | Promise<Say>;
  close(): Promise<void>;
}

/** All text of a message, whatever its parts are. */
export function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  if (!Array.isArray(message.content)) return "";
  return message.content.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : "")).join("\n");
}

export async function startModel(): Promise<Model> {
  const model: Model = { url: "", turns: [], answer: () => ({ text: "done" }), close: async () => undefined };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      void (async () => {
        const body = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}") as { messages?: Message[]; tools?: unknown[] };
        let say: Say = { text: "done" };
        if (body.tools && body.tools.length > 0) {
          const messages = body.messages ?? [];
          model.turns.push(messages);
          say = await model.answer(messages, model.turns.length);
        }
        stream(response, say);
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  model.close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return model;
}

function stream(response: ServerResponse, say: Say): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = (delta: Record<string, unknown>, finish: string | null) =>
    response.write(
      `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  if ("text" in say) {
    chunk({ role: "assistant", content: say.text }, null);
    chunk({}, "stop");
  } else {
    const call = { index: 0, id: "call_1", type: "function", function: { name: say.tool, arguments: JSON.stringify(say.args) } };
    chunk({ role: "assistant", tool_calls: [call] }, null);
    chunk({}, "tool_calls");
  }
  response.write(
    `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}
