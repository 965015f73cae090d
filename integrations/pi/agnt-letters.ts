// Letters in pi: unread ones are put before the model as quoted data when a turn begins, and those of verified contacts may
// begin a turn when their user turned that on. Installed as an extension by `agnt letter install pi`.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { nudge } from "../agnt-letters/quote.ts";
import { type Attached, attach } from "../agnt-letters/session.ts";

const customType = "agnt-letters";

/** The extension. It does nothing until letters are configured, and never throws into pi. */
export default function agntLetters(pi: ExtensionAPI): void {
  let attached: Attached | undefined;
  // Who pressed Escape wants quiet until their next prompt.
  let quiet = false;

  const quoted = (content: string) => ({ customType, content, display: true });

  pi.on("session_start", async (_event, ctx) => {
    attached?.alarm.close();
    quiet = false;
    const door = {
      // Without a person at the other end pi ends with its prompt: nothing is to be woken.
      idle: () => !quiet && ctx.hasUI && ctx.isIdle() && !ctx.hasPendingMessages(),
      // The fixed text begins the turn; the letters come beside it in before_agent_start, as in every other turn.
      wake: (text: string) => {
        if (ctx.isIdle()) pi.sendMessage({ customType: `${customType}-wake`, content: text, display: true }, { triggerTurn: true });
      },
    };
    attached = await attach("pi", ctx.sessionManager.getSessionId(), ctx.cwd, door);
    if (attached?.unread !== undefined) pi.sendMessage(quoted(attached.unread));
    attached?.alarm.watch();
  });

  pi.on("before_agent_start", async (event) => {
    quiet = false;
    // A run that a message of an extension begins is no person's, whoever wrote that message.
    const letters = await attached?.alarm.prompt(event.messageType === "user" ? event.prompt : nudge);
    return letters === undefined ? undefined : { message: quoted(letters) };
  });

  pi.on("turn_end", async (event) => {
    // A turn without tool calls is the last of its run.
    if (event.toolResults.length === 0) return;
    const letters = await attached?.alarm.during();
    return letters === undefined ? undefined : { entries: [{ type: "custom_message", ...quoted(letters) }] };
  });

  pi.on("agent_settled", (event) => {
    quiet = event.aborted;
    void attached?.alarm.check();
  });

  pi.on("session_shutdown", async () => {
    const ended = attached;
    attached = undefined;
    await ended?.detach(false);
  });
}
