/** `aegis send`: a message to a session, with a receipt at once or the answer when it is there. */
import { askAndWait, type DeliveryMode, reportAnswer } from "../answer.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { showOutcome } from "../format/command-table.ts";
import { createStyle } from "../format/style.ts";
import { readImages } from "../images.ts";
import { textArgument } from "../input-text.ts";
import { runTyped } from "../slash-command.ts";
import type { Terminal } from "../terminal.ts";
import { messageId } from "./sessions.ts";

export type SendArgs = {
  session: string;
  text: string | undefined;
  mode: DeliveryMode;
  images: readonly string[];
  wait: boolean;
  timeoutMs: number | undefined;
  id: string | undefined;
};

export async function send(cx: Terminal, args: SendArgs): Promise<number> {
  const id = args.id === undefined ? undefined : messageId(args.id);
  const typed = await textArgument(cx, args.text, "text");
  const { client } = await ensureDaemon(cx);
  const { session } = await client.call("getSession", { path: { session: args.session } });
  const ran = await runTyped(client, typed, session.id);
  if (ran !== null && !showOutcome(cx, ran)) return exitCodes.ok;
  const text = ran?.prompt ?? typed;
  if (args.wait) {
    const style = createStyle(cx.color);
    const result = await askAndWait(cx, client, {
      session,
      text,
      id,
      mode: args.mode,
      images: args.images,
      timeoutMs: args.timeoutMs,
      onReceipt: (receipt) => cx.warn(style.dim(receipt.text)),
    });
    return reportAnswer(cx, result);
  }
  const answer = await client.call("sendMessage", {
    path: { session: session.id },
    body: {
      ...(id === undefined ? {} : { id }),
      text,
      mode: args.mode,
      attachments: await readImages(args.images),
    },
  });
  if (cx.json) cx.printJson(answer);
  else {
    cx.print(answer.receipt.text);
    if (answer.receipt.outcome === "queued") cx.warn(`take it back with: aegis cancel ${answer.receipt.message}`);
  }
  return exitCodes.ok;
}
