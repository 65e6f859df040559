/** Splits the text of a turn into its messages. */
import { messageSeparator, parseHeader, personOrigin } from "../../contract/message-header.ts";
import type { Prompt } from "../driver.ts";
import { type SenderKind, senderKinds } from "./playbook/schema.ts";

export type Incoming = {
  kind: SenderKind;
  /** A peer's handle or the name of another sender; `human` for a person. */
  sender: string;
  body: string;
};

type Origin = Omit<Incoming, "body">;

const person: Origin = { kind: "human", sender: "human" };

/**
 * Every message is a separate request, even if several of one person have no headers. Text that plugins put before the
 * messages stays with the first one; text that plugins replaced is split by its headers.
 */
export function readTurn({ text, parts }: Pick<Prompt, "text" | "parts">): Incoming[] {
  const said = parts.join(messageSeparator);
  const [first = "", ...others] = parts;
  if (parts.length === 0 || !text.endsWith(said)) return splitMessages(text);
  return [text.slice(0, text.length - said.length) + first, ...others].flatMap(splitMessages);
}

/** Splits at header lines; text before the first one is a person's message. */
export function splitMessages(text: string): Incoming[] {
  const messages: Incoming[] = [];
  let lines: string[] = [];
  let origin: Origin | null = null;
  const close = () => {
    const body = lines.join("\n");
    if (origin !== null || body.trim() !== "") messages.push({ ...(origin ?? person), body });
  };
  for (const line of text.split("\n")) {
    const next = originOf(line);
    if (next === null) {
      lines.push(line);
      continue;
    }
    // The blank line before a header separates two messages and belongs to neither.
    if (lines.at(-1) === "") lines.pop();
    close();
    origin = next;
    lines = [];
  }
  close();
  return messages;
}

function originOf(line: string): Origin | null {
  const header = parseHeader(line);
  if (header === null) return null;
  if (header.word === personOrigin) return person;
  const kind = senderKinds.find((candidate) => candidate === header.word);
  return kind === undefined ? null : { kind, sender: header.name ?? kind };
}
