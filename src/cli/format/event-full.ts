/** Formats events with all their content, for `history --full`. Truncates nothing. */

import { senderName } from "../../client/views/words.ts";
import type { Event } from "../../contract/event.ts";
import { receiptWords } from "../../contract/receipt.ts";
import { unifiedDiff } from "../../lib/unified-diff.ts";
import { eventLine, type LineOptions } from "./event-line.ts";
import { plainText } from "./text.ts";
import { clockTime } from "./time.ts";

type Part = { head: string; body: string };

/** The lines, or null for events that are not shown. */
export function fullLines(event: Event, options: Omit<LineOptions, "width">): string[] | null {
  const part = partOf(event);
  if (part === null) {
    const line = eventLine(event, { ...options, width: Number.POSITIVE_INFINITY });
    return line === null ? null : [line];
  }
  const { style, names } = options;
  const who = event.session === null ? "aegis" : names.label(event.session);
  const body = plainText(part.body).replace(/\n$/, "");
  return [
    `${style.dim(clockTime(event.at))}  ${style.cyan(who)}  ${style.dim(plainText(part.head))}`,
    ...(body === "" ? [] : body.split("\n").map((line) => (line === "" ? "" : `  ${line}`))),
  ];
}

/** Null for events that one line describes completely. */
function partOf(event: Event): Part | null {
  switch (event.type) {
    case "message.admitted":
      return { head: `← ${senderName(event.data.message)}:`, body: event.data.message.body };
    case "turn.text":
      return { head: "says:", body: event.data.text };
    case "turn.thinking":
      return { head: "thinking:", body: event.data.text };
    case "turn.tool_call": {
      const { name, title, input, diff } = event.data;
      const changed = diff === null ? [] : [diff.path, ...unifiedDiff(diff.before, diff.after)];
      const given = input === undefined ? [] : [typeof input === "string" ? input : JSON.stringify(input, null, 2)];
      return {
        head: `→ ${title === "" || title === name ? name : `${name}: ${title}`}`,
        body: [...given, ...changed].join("\n"),
      };
    }
    case "turn.tool_result": {
      const { output, is_error, diff } = event.data;
      const changed = diff === null ? [] : [diff.path, ...unifiedDiff(diff.before, diff.after)];
      return { head: is_error ? "← tool failed:" : "← result:", body: [output, ...changed].join("\n") };
    }
    case "receipt.recorded":
      return { head: receiptWords(event.data.receipt), body: event.data.receipt.tail };
    case "turn.compaction":
      return { head: "the conversation was summarised to fit the model's context:", body: event.data.summary };
    default:
      return null;
  }
}
