/** `aegis receipts`: lists the checks that the daemon ran, and whether their results still hold. */
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { Style } from "../../format/style.ts";
import { oneLine, plainText } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import type { receiptCommands } from "./spec.ts";

export const receipts: Handler<typeof receiptCommands.list> = async (cx, args) => {
  const { of, limit } = args;
  const answer = await cx.call("listReceipts", { query: { limit, ...(of === undefined ? {} : { of }) } });
  const none = of === undefined ? "No check was run yet." : `No check was run for ${of}: its results are unverified.`;
  cx.show(answer, () =>
    answer.receipts.length === 0
      ? none
      : answer.receipts.flatMap((receipt) => receiptLines(receipt, cx.style, args.output)),
  );
};

export function receiptLines(receipt: ReceiptView, style: Style, output = false): string[] {
  const about = `${receipt.kind} ${receipt.subject}, ${relativeTime(receipt.started_at, Date.now())}`;
  const tail = plainText(receipt.tail).trimEnd();
  return [
    receiptPaint(receipt, style)(oneLine(receiptWords(receipt))),
    style.dim(`  ${about}`),
    ...(output && tail !== "" ? tail.split("\n").map((line) => `  | ${line}`) : []),
  ];
}

export function receiptPaint({ state }: Pick<ReceiptView, "state">, style: Style): (text: string) => string {
  return { running: style.dim, passed: style.green, void: style.yellow, failed: style.red, refused: style.red }[state];
}
