/** What the app leaves in the scrollback of the terminal: the end of the conversation that was on the screen. */
import type { Transcript } from "@aegis/client/model/transcript.ts";
import { Items } from "./items.ts";
import type { Theme } from "./theme.ts";
import { itemLines } from "./view/transcript.ts";

const mostMessages = 3;
const mostRows = 200;

/** The last messages to the session, each with its answer; tool calls are one row each. */
export function lastAnswers(transcript: Transcript, width: number, theme: Theme): string[] {
  const items = new Items().of(transcript);
  const messages = items.flatMap(({ kind }, index) => (kind === "message" ? [index] : []));
  const shown = items.slice(messages.at(-mostMessages) ?? 0);
  const rows = shown.flatMap((item) => itemLines(item, width, { theme, unfolded: false }));
  return rows.slice(-mostRows);
}
