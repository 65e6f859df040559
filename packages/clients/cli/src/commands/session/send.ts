/** `aegis send`: sends a message to a session and prints a receipt immediately, or waits for the answer. */
import { showOutcome } from "../../format/command-table.ts";
import type { Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { textArgument } from "../../terminal/input-text.ts";
import { askAndWait, readImages, reportAnswer } from "./answer.ts";
import { messageId } from "./sessions.ts";
import { runTyped } from "./slash-command.ts";
import type { sessionCommands } from "./spec.ts";

export const send: Handler<typeof sessionCommands.send> = async (
  cx,
  { interrupt, steer, images, timeoutMs, noAsk, ...args },
) => {
  const id = args.id === undefined ? undefined : messageId(args.id);
  const mode = interrupt ? "interrupt" : steer ? "steer" : "queue";
  const typed = await textArgument(cx, args.text, "text");
  const { client } = await cx.daemon();
  const warn = (handle: string, problem: string | null = null) => {
    if (problem !== null) cx.warn(cx.style.yellow(`${handle} cannot answer: ${problem}`));
  };
  const ran = await runTyped(client, typed, args.session);
  if (ran !== null && !showOutcome(cx, ran)) return;
  const text = ran?.prompt ?? typed;
  if (args.wait) {
    const { session } = await client.call("getSession", { path: { session: args.session } });
    warn(session.handle, session.agent_problem);
    const onReceipt = (receipt: { text: string }) => cx.warn(cx.style.dim(receipt.text));
    return reportAnswer(
      cx,
      await askAndWait(cx, client, { session, text, id, mode, images, timeoutMs, noAsk, onReceipt }),
    );
  }
  const answer = await client.call("sendMessage", {
    path: { session: args.session },
    body: { ...given({ id }), text, mode, attachments: await readImages(images) },
  });
  warn(answer.receipt.handle, answer.agent_problem);
  cx.show(answer, () => {
    cx.print(answer.receipt.text);
    if (answer.receipt.outcome === "queued") cx.warn(`cancel it with: aegis cancel ${answer.receipt.message}`);
  });
};
