/** Takes the text of a turn apart into its messages, by the header line that stands before each but a person's. */
import { type SenderKind, senderKinds } from "./playbook/schema.ts";

export type Incoming = {
  kind: SenderKind;
  /** A peer's handle, or the name of what sent it; `human` for a person. */
  sender: string;
  body: string;
};

const header = /^> from ([a-z]+)(?::([^\s·]+))?(?: ·.*)?$/;

/** A person's message after another one cannot be told from a further paragraph of it, and is read as such. */
export function splitMessages(text: string): Incoming[] {
  const messages: Incoming[] = [];
  let body: string[] = [];
  let current: Omit<Incoming, "body"> = { kind: "human", sender: "human" };
  const close = () => {
    const joined = body.join("\n").trim();
    if (joined !== "" || current.kind !== "human") messages.push({ ...current, body: joined });
  };
  for (const line of text.split("\n")) {
    const next = parseHeader(line);
    if (next === null) {
      body.push(line);
      continue;
    }
    close();
    current = next;
    body = [];
  }
  close();
  return messages;
}

function parseHeader(line: string): Omit<Incoming, "body"> | null {
  const [, word, name] = header.exec(line) ?? [];
  const kind = senderKinds.find((candidate) => candidate === word);
  return kind === undefined ? null : { kind, sender: name ?? kind };
}
