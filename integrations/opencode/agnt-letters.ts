// Letters in opencode: unread ones are put before the model as quoted data when a turn begins, and those of verified contacts
// may begin a turn when their user turned that on. Installed as a plugin by `agnt letter install opencode`.
import type { Hooks, Plugin } from "@opencode-ai/plugin";
import type { UserMessage } from "@opencode-ai/sdk";
import { type Attached, attach } from "../agnt-letters/session.ts";

/** Who answers the person's last prompt; a wake goes there too, so that it never gets another agent's rights. */
type Manner = Pick<UserMessage, "agent" | "model">;

/** The plugin, and the only export: opencode takes every export for a plugin. It does nothing until letters are configured, and never throws into opencode. */
export const AgntLetters: Plugin = async ({ client, directory }) => {
  // One session at a time has the letters: the one that a person spoke in last. A wake of several would be answered several times.
  let session = "";
  let attached: Attached | undefined;
  let pending: string | undefined; // handed over when the session attached, for its next turn
  let manner: Manner | undefined; // nobody is woken before a person has spoken
  let busy = false;
  let quiet = false; // who stopped a turn wants no other until their next prompt
  let turn = Promise.resolve();

  /** Runs one change of the session after the other. What fails is as if there were no letters. */
  const inTurn = (run: () => Promise<void>): Promise<void> => {
    turn = turn.then(run).catch(() => undefined);
    return turn;
  };

  const detach = async (over: boolean): Promise<void> => {
    const ended = attached;
    attached = undefined;
    pending = undefined;
    session = "";
    await ended?.detach(over);
  };

  const isRoot = async (id: string): Promise<boolean> => {
    const { data } = await client.session.get({ path: { id } });
    return data !== undefined && data.parentID === undefined;
  };

  const enter = async (id: string): Promise<void> => {
    if (id === session) return;
    await detach(false);
    session = id;
    busy = false;
    quiet = false;
    manner = undefined;
    const door = {
      idle: () => session === id && manner !== undefined && !busy && !quiet,
      wake: async (text: string) => {
        const body = { ...manner, parts: [{ type: "text" as const, text }] };
        const { error } = await client.session.promptAsync({ path: { id }, body });
        if (error !== undefined) throw new Error("prompt refused");
      },
    };
    attached = await attach("opencode", id, directory, door);
    pending = attached?.unread;
    attached?.alarm.watch();
  };

  const hooks: Hooks = {
    event: async ({ event }) => {
      switch (event.type) {
        case "session.created":
          if (event.properties.info.parentID === undefined) await inTurn(() => enter(event.properties.info.id));
          break;
        case "session.deleted":
          if (event.properties.info.id === session) await inTurn(() => detach(true));
          break;
        case "session.status":
          if (event.properties.sessionID === session) busy = event.properties.status.type !== "idle";
          break;
        case "session.error":
          if (event.properties.sessionID === session && event.properties.error?.name === "MessageAbortedError") quiet = true;
          break;
        case "session.idle":
          if (event.properties.sessionID !== session) break;
          busy = false;
          void attached?.alarm.check();
          break;
      }
    },

    "chat.message": async (input, output) => {
      await inTurn(async () => {
        if (input.sessionID !== session && !(await isRoot(input.sessionID))) return;
        await enter(input.sessionID);
        busy = true;
        quiet = false;
        manner = { agent: output.message.agent, model: output.message.model };
        const prompt = output.parts.map((p) => (p.type === "text" && p.synthetic !== true ? p.text : "")).join("\n");
        const letters = [pending, await attached?.alarm.prompt(prompt)].filter((l) => l !== undefined);
        pending = undefined;
        for (const text of letters) {
          const id = nextPart(output.parts.map((p) => p.id));
          output.parts.push({ id, sessionID: input.sessionID, messageID: output.message.id, type: "text", text, synthetic: true });
        }
      });
    },

    // So that `agnt letter unread` in a shell of the agent knows whose letters it is asked for.
    "shell.env": async (input, output) => {
      if (attached && input.sessionID === session) output.env["AGNT_LETTERS_SESSION"] = session;
    },

    "tool.execute.after": async (input, output) => {
      if (input.sessionID !== session || typeof output.output !== "string") return;
      await inTurn(async () => {
        const letters = await attached?.alarm.during();
        if (letters !== undefined) output.output += `\n\n${letters}`;
      });
    },

    dispose: () => inTurn(() => detach(false)),
  };
  return hooks;
};

/** An id behind those of a message's parts, which opencode keeps in the order of their ids: a time in hexadecimal and random characters. */
function nextPart(ids: string[]): string {
  const last = ids.toSorted().at(-1) ?? "";
  const time = /^prt_([0-9a-f]{12})/.exec(last)?.[1];
  const next = time === undefined ? (BigInt(Date.now()) * 0x1000n) & 0xffffffffffffn : BigInt(`0x${time}`) + 1n;
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const random = Array.from(crypto.getRandomValues(new Uint8Array(14)), (b) => alphabet[b % alphabet.length]).join("");
  return `prt_${next.toString(16).padStart(12, "0").slice(-12)}${random}`;
}
