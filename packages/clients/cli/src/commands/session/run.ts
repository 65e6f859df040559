/** `aegis run`: sends one prompt to a new session and prints the answer. */

import type { Client } from "@aegis/client/client.ts";
import { tellAttention } from "../../format/attention.ts";
import { showOutcome } from "../../format/command-table.ts";
import { sessionLabel } from "../../format/session-names.ts";
import type { Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { textArgument } from "../../terminal/input-text.ts";
import { type Answer, askAndWait, reportAnswer } from "./answer.ts";
import { runTyped } from "./slash-command.ts";
import type { sessionCommands } from "./spec.ts";

export const run: Handler<typeof sessionCommands.run> = async (cx, args) => {
  const prompt = await textArgument(cx, args.prompt, "prompt");
  if (args.yes) await (await import("../plugin/trust.ts")).trustHere(cx);
  const { client } = await cx.daemon();
  const [status, ran] = await Promise.all([client.call("status"), runTyped(client, prompt, undefined)]);
  tellAttention(cx, status);
  if (ran !== null && !showOutcome(cx, ran)) return;
  const text = ran?.prompt ?? prompt;
  const { session } = await client.call("createSession", {
    body: { ask_policy: args.noAsk ? "deny" : "wait", ...given({ agent: args.agent }) },
  });
  const style = cx.style;
  /** The session that answered: a skill may have routed the prompt to another agent. */
  let answered: string = session.id;
  try {
    if (cx.interactive || session.offline) cx.warn(style.dim(`${sessionLabel(session)}, agent ${session.agent}`));
    const { images, timeoutMs } = args;
    const question = { session, text, id: undefined, mode: "queue", images, timeoutMs } as const;
    const result = await askAndWait(cx, client, question);
    answered = result.answer.session;
    const used = cx.json ? await usedBelow(client, result.answer) : {};
    return reportAnswer(cx, result, { ...used, attention: status.attention });
  } finally {
    if (args.keep) cx.warn(style.dim(`continue with: aegis chat ${session.handle}`));
    else
      for (const made of new Set([session.id, answered]))
        await client.call("closeSession", { path: { session: made } }).catch(() => {});
  }
};

/**
 * The usage of the agents that worked on the answer, each and in total, with known costs only. Empty if the daemon no
 * longer answers: a missing total must not fail the command.
 */
async function usedBelow(client: Client, { session, usage }: Answer): Promise<Record<string, unknown>> {
  const found = await client.call("listTrees", { query: { root: session } }).catch(() => null);
  const tree = found?.trees[0];
  if (tree === undefined) return {};
  const { spawned, pooled, output_tokens, cost, untold } = tree;
  const own = usage?.cost ?? null;
  return {
    children: { started: spawned, pooled: pooled.length, output_tokens, cost, untold },
    total: {
      output_tokens: output_tokens + (usage?.output ?? 0),
      cost: own === null && cost === 0 ? null : cost + (own ?? 0),
    },
  };
}
