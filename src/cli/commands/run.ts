/** `aegis run`: one prompt, one answer, in a session of its own. */
import { askAndWait, reportAnswer } from "../answer.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { showOutcome } from "../format/command-table.ts";
import { createStyle } from "../format/style.ts";
import { textArgument } from "../input-text.ts";
import { sessionLabel } from "../session-names.ts";
import { runTyped } from "../slash-command.ts";
import type { Terminal } from "../terminal.ts";

export type RunArgs = {
  prompt: string | undefined;
  agent: string | undefined;
  timeoutMs: number | undefined;
  images: readonly string[];
  keep: boolean;
  /** Agree to what the folder's files would run. */
  yes: boolean;
  /** Deny at once whatever the agent would ask a person. */
  noAsk: boolean;
};

export async function run(cx: Terminal, args: RunArgs): Promise<number> {
  const prompt = await textArgument(cx, args.prompt, "prompt");
  if (args.yes) await (await import("./trust.ts")).trustHere(cx);
  const { client } = await ensureDaemon(cx);
  const ran = await runTyped(client, prompt, undefined);
  if (ran !== null && !showOutcome(cx, ran)) return exitCodes.ok;
  const text = ran?.prompt ?? prompt;
  const { session } = await client.call("createSession", {
    body: { ask_policy: args.noAsk ? "deny" : "wait", ...(args.agent === undefined ? {} : { agent: args.agent }) },
  });
  const style = createStyle(cx.color);
  /** Where the answer came from: a skill may have passed the prompt on to another agent. */
  let answered: string = session.id;
  try {
    if (cx.interactive || session.offline) cx.warn(style.dim(`${sessionLabel(session)}, agent ${session.agent}`));
    const result = await askAndWait(cx, client, {
      session,
      text,
      id: undefined,
      mode: "queue",
      images: args.images,
      timeoutMs: args.timeoutMs,
    });
    answered = result.answer.session;
    return reportAnswer(cx, result);
  } finally {
    if (args.keep) cx.warn(style.dim(`go on with: aegis chat ${session.handle}`));
    else
      for (const made of new Set([session.id, answered]))
        await client.call("closeSession", { path: { session: made } }).catch(() => {});
  }
}
