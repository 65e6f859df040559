/** MCP servers of a user and of a project that a driven CLI must leave alone. Each leaves a file when it is started. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Speaks enough of MCP over stdio that a CLI would offer its tool. */
const program = `
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
writeFileSync(process.argv[2], "");
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "decoy", version: "1.0.0" } }),
  "tools/list": () => ({ tools: [{ name: "decoy", description: "Must not be offered", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "the decoy answered" }] }),
  ping: () => ({}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const reply = answer ? { result: answer(params) } : { error: { code: -32601, message: "none" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...reply }) + "\\n");
}
`;

export type Decoys = {
  /** The command line of a server of this name. */
  server(name: string): { command: string; args: string[] };
  /** The names of those that were started. */
  started(): Promise<string[]>;
};

export async function makeDecoys(folder: string): Promise<Decoys> {
  const marks = join(folder, "started");
  await mkdir(marks, { recursive: true });
  const file = join(folder, "decoy.mjs");
  await writeFile(file, program);
  return {
    server: (name) => ({ command: process.execPath, args: [file, join(marks, name)] }),
    started: () => readdir(marks),
  };
}

/** Writes a settings file, making its folders. */
export async function writeSettings(path: string, content: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
}
