/** Channels that plugins bring, in a real daemon. The chat is the two files of examples/11-channel. */
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client } from "@aegis/client/client.ts";
import { describe, expect, it } from "vitest";
import { obedient, type Project, sharedDaemon, testProject } from "../helpers/project.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { channelSuite } from "../suites/channel-suite.ts";

const example = join(import.meta.dirname, "../../examples/11-channel/plugins/mailbox");
const source = await readFile(join(example, "mailbox.ts"), "utf8");
const manifest = await readFile(join(example, "plugin.toml"), "utf8");
const timeout = { timeout: scaled(90_000) };

const simple = (name: string, connect: string, more = "") => `
import { ChannelError, channel } from "aegis";
export const ${name} = channel({
  name: "${name}", description: "d",
  connect() { ${connect} },
  async receive(_host, { signal }) { await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))); },
  send: () => "1", ask: () => "1",${more}
});
`;

const files = {
  ...obedient,
  ".aegis.yaml": `${obedient[".aegis.yaml"]}plugins:
  mailbox: { folder: chat, channels: { mailbox: { users: [ada], chats: [room] } } }
  wrong: { channels: { wrong: { user: [ada] }, wrnog: {} } }
`,
  ".aegis/plugins/mailbox/plugin.toml": manifest,
  ".aegis/plugins/mailbox/mailbox.ts": source,
  ".aegis/plugins/refused.ts": simple("refused", 'throw new ChannelError("unauthorized", "the key is wrong");'),
  ".aegis/plugins/wrong.ts": simple("wrong", 'return { id: "w", label: "w" };'),
  ".aegis/plugins/stolen.ts": simple("telegram", 'return { id: "t", label: "t" };'),
};

type Message = { id: string; to: string; text: string; choices?: { label: string; data: string }[] };

function chat({ dir }: Project) {
  const sent = async (): Promise<Message[]> => {
    const text = await readFile(join(dir, "chat/out.jsonl"), "utf8").catch(() => "");
    const lines = text.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Message);
  };
  return {
    sent,
    async say(...lines: object[]) {
      await mkdir(join(dir, "chat"), { recursive: true });
      await appendFile(join(dir, "chat/in.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    },
    async shows(text: string | RegExp, to = "ada"): Promise<Message> {
      const matches = (one: string) => (typeof text === "string" ? one === text : text.test(one));
      const isIt = (one: Message) => one.to === to && matches(one.text);
      await waitUntil(`${to} sees ${text}`, async () => (await sent()).some(isIt));
      return (await sent()).findLast(isIt) as Message;
    },
  };
}

async function channel(client: Client, name = "mailbox") {
  const { channels } = await client.call("listChannels");
  const found = channels.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no channel ${name} in ${channels.map((one) => one.name)}`);
  return found;
}

describe("a channel of a plugin", () => {
  // The test can make the service deliver everything again, once.
  const again = source
    .replace(
      "const seen =",
      'const isAgain = await unlink(join(folder(call), "again")).then(() => true, () => false);\n      const seen = isAgain ? 0 :',
    )
    .replace("import { appendFile,", "import { unlink, appendFile,");
  const shared = sharedDaemon({ ...files, ".aegis/plugins/mailbox/mailbox.ts": again });

  channelSuite({
    shared,
    name: "mailbox",
    longestText: 2_000,
    chat() {
      const { say, sent, shows } = chat(shared.project);
      return {
        say: (from, text) => say({ from, text }),
        async choose(from, label, change = (data) => data) {
          const { choices } = await shows(/asks:/);
          await say({ from, choose: change(choices?.find((one) => one.label === label)?.data ?? "") });
        },
        texts: async (who) => (await sent()).filter(({ to }) => to === who).map(({ text }) => text),
        deliverAgain: () => shared.project.write("chat/again", ""),
      };
    },
  });

  it("is shown by status with its kind, and names its sessions after the first message", timeout, async () => {
    const { client } = shared.daemon;
    expect((await client.call("listSessions")).sessions[0]?.title).toBe("the first");
    expect(await channel(client)).toMatchObject({ kind: "people" });
    expect((await client.call("status")).channels.map(({ name }) => name)).toContain("mailbox");
  });

  it("pairs a person by a code from the terminal", timeout, async () => {
    const { say, shows } = chat(shared.project);
    const { client } = shared.daemon;
    const { pairing } = await client.call("pairChannel", { path: { channel: "mailbox" } });
    await say({ from: "bob", text: `/start ${pairing.code}` });
    await shows(/You are paired/, "bob");
    await say({ from: "bob", text: "/sessions" });
    await shows(/dev/, "bob");
    await client.call("unpairChannel", { path: { channel: "mailbox" }, body: { peer: "bob" } });
  });

  it("keeps blocks of code closed when it splits an answer", { ...timeout, tags: "slow" }, async () => {
    const { say, sent, shows } = chat(shared.project);
    const code = Array.from({ length: 90 }, (_, index) => `const line${index} = "${"x".repeat(20)}";`).join("\n");
    await say({ from: "ada", text: `stream \`\`\`ts\n${code}\n\`\`\`\nthe end` });
    await shows(/the end$/);
    const parts = (await sent()).filter(({ text }) => text.includes("const line"));
    expect(parts.length).toBeGreaterThan(1);
    for (const { text } of parts) {
      expect(text.length).toBeLessThanOrEqual(2_000);
      expect(text.match(/```/g)).toHaveLength(2);
    }
  });

  it("continues with the new code after a reload, and after a crash of the worker", {
    ...timeout,
    tags: "slow",
  }, async () => {
    const { say, sent, shows } = chat(shared.project);
    const { client } = shared.daemon;
    const crashes = source.replace(
      "const seen =",
      'if (await linesOf(join(folder(call), "crash")).then((all) => all.length > 0)) process.exit(3);\n      const seen =',
    );
    expect(crashes).not.toBe(source);
    await shared.project.write(
      ".aegis/plugins/mailbox/mailbox.ts",
      crashes.replace("the mailbox", "the other mailbox"),
    );
    await waitUntil("it was replaced", async () => /other/.test((await channel(client)).detail));
    await say({ from: "ada", text: "to the new code" });
    await shows("you said: to the new code");
    await shared.project.write("chat/crash", "now\n");
    await waitUntil("it is shown", async () => (await channel(client)).state === "unreachable");
    await writeFile(join(shared.project.dir, "chat/crash"), "");
    await say({ from: "ada", text: "after the crash" });
    await shows("you said: after the crash");
    await waitUntil("it is ok", async () => (await channel(client)).state === "ok");
    for (const text of ["you said: to the new code", "you said: after the crash"])
      expect((await sent()).filter((one) => one.text === text)).toHaveLength(1);
  });

  it("shows what is wrong with a channel, its settings or its name", timeout, async () => {
    const { client } = shared.daemon;
    await waitUntil("it is refused", async () => (await channel(client, "refused")).state === "unauthorized");
    expect(await channel(client, "refused")).toMatchObject({ detail: "refused: the key is wrong" });
    expect(await channel(client, "wrong")).toMatchObject({
      state: "off",
      detail: expect.stringMatching(/^plugins\.wrong\.channels\.wrong: .*user/),
    });
    const { plugin } = await client.call("getPlugin", { path: { plugin: "wrong" } });
    expect(plugin.diagnostics.map(({ message }) => message)).toContainEqual(
      'plugins.wrong.channels.wrnog: the plugin has no such channel (did you mean "wrong"?)',
    );
    expect(plugin.brings.channels).toEqual([{ name: "wrong", description: "d" }]);
    const stolen = await client.call("getPlugin", { path: { plugin: "stolen" } });
    expect(stolen.plugin).toMatchObject({ status: "failed", reason: expect.stringContaining("belongs to Aegis") });
  });
});

it("does not repeat a message that was sent before the daemon died", { ...timeout, tags: "slow" }, async () => {
  const slow = source.replace(
    "  return id;\n",
    '  while ((await linesOf(join(folder(call), "hold"))).length > 0) await sleep(10);\n  return id;\n',
  );
  expect(slow).not.toBe(source);
  const project = await testProject({ ...files, ".aegis/plugins/mailbox/mailbox.ts": slow, "chat/hold": "yes\n" });
  const { say, sent } = chat(project);
  const first = await project.start();
  await say({ from: "ada", text: "hello" });
  await waitUntil("it was written", async () => (await sent()).length === 1);
  await first.kill();
  await project.write("chat/hold", "");
  const { client } = await project.start();
  await waitUntil("the answer was sent", async () => (await sent()).some(({ text }) => text === "you said: hello"));
  await waitUntil("all is sent", async () => (await channel(client)).waiting === 0);
  expect((await sent()).map(({ text }) => text)).toEqual([expect.stringMatching(/^Started/), "you said: hello"]);
});

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;
/** `npm test` takes one of so many instants; AEGIS_EVERY_INSTANT=1 takes all of them. */
const stride = process.env.AEGIS_EVERY_INSTANT === "1" ? 1 : 6;

/** One life. False when the answer was sent before so many instants had passed. */
async function killedAt(last: number): Promise<boolean> {
  const project = await testProject(files);
  const { say, sent } = chat(project);
  const file = join(project.dir, "..", "kill-at");
  const first = await project.start({ env: { NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
  await waitUntil("it receives", async () => (await channel(first.client).catch(() => null))?.state === "ok");
  await writeFile(file, String(last));
  await say({ from: "ada", text: "the work" });
  let isDead = false;
  void first.exited.then(() => {
    isDead = true;
  });
  const answers = async () => (await sent()).filter(({ text }) => text.includes("you said: the work"));
  const instants = async () => (await readFile(`${file}.instants`, "utf8").catch(() => "")).trim().split("\n");
  await waitUntil("it died or answered", async () => isDead || (await answers()).length > 0);
  if (!isDead && (await instants()).length < last) return false;
  await first.exited;

  const { client } = await project.start();
  await waitUntil("it was answered", async () => (await answers()).length > 0);
  await waitUntil("all is sent", async () => (await channel(client)).waiting === 0);
  const where = `killed at instant ${last}: ${(await instants()).join(", ")}`;
  const { sessions } = await client.call("listSessions", { query: { closed: true } });
  expect(sessions, where).toHaveLength(1);
  const { messages } = await client.call("listMessages", { path: { session: sessions[0]?.id ?? "" } });
  expect(
    messages.filter(({ sender }) => sender.kind === "channel").map(({ body }) => body),
    where,
  ).toEqual(["the work"]);
  // The chat recognises keys, so that nothing is written twice.
  expect(await answers(), where).toHaveLength(1);
  return true;
}

it("neither loses nor doubles a message, wherever the daemon is killed", {
  tags: "slow",
  timeout: scaled(240_000),
}, async () => {
  let tried = 0;
  for (let last = 1; await killedAt(last); last += stride) tried += 1;
  expect(tried).toBeGreaterThan(1);
});
