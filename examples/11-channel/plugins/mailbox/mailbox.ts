/** A chat in two files: people append lines to in.jsonl, the channel appends its messages to out.jsonl. */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChannelAsk, ChannelError, type ChannelInbound, channel, type PluginContext, parseMessage } from "aegis";

type Line = { from: string; text?: string; choose?: string };
type Message = { id: string; key: string; to: string; text: string; choices?: ChannelAsk["choices"] };

export const mailbox = channel({
  description: "A chat in two files",
  longestText: 2_000,
  async connect(call) {
    await mkdir(folder(call), { recursive: true });
    return { id: folder(call), label: "the mailbox" };
  },
  async receive(host, call) {
    while (true) {
      const seen = Number((await host.cursor())?.position ?? 0);
      const lines = (await linesOf(join(folder(call), "in.jsonl"))).slice(seen);
      host.alive();
      // The position is stored together with the messages, so that none is lost or read twice.
      const batch = lines.map((line, index) => inbound(line, seen + index + 1));
      if (batch.length > 0) await host.admit(batch, String(seen + batch.length));
      else await sleep(100, null, { signal: call.signal });
    }
  },
  send: (place, content, call) => write({ key: call.key, to: place, text: content.text }, call),
  ask: (place, { text, choices, settles }, call) =>
    write({ key: call.key, to: place, text, ...(settles === null ? { choices } : {}) }, call),
});

function inbound(line: string, number: number): ChannelInbound {
  const { from, text = "", choose } = JSON.parse(line) as Line;
  const about = { key: String(number), peer: { id: from, name: from }, place: from };
  if (choose !== undefined) return { ...about, content: { kind: "press", press: String(number), data: choose } };
  return { ...about, content: parseMessage(text) };
}

/** The key is written with the message, so that a repeated delivery is recognised. */
async function write(message: Omit<Message, "id">, call: PluginContext & { repeated: boolean }): Promise<string> {
  const path = join(folder(call), "out.jsonl");
  const known = (await linesOf(path)).map((line) => JSON.parse(line) as Message);
  const before = call.repeated ? known.find(({ key }) => key === message.key) : undefined;
  if (before !== undefined) return before.id;
  const id = String(known.length + 1);
  await appendFile(path, `${JSON.stringify({ id, ...message })}\n`).catch((error: Error) => {
    throw new ChannelError("unreachable", error.message);
  });
  return id;
}

/** Only whole lines: the last one may still be written. */
async function linesOf(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").slice(0, -1);
}

function folder({ config, projectRoot }: PluginContext): string {
  return join(projectRoot, String(config.folder));
}
