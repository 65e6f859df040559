/** Webhooks of a real daemon: signed requests out, signed requests in, over failures and kills. */
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { verifyStandard } from "@aegis/channels/webhooks/sign.ts";
import { describe, expect, it } from "vitest";
import { agreeToStore } from "../helpers/cluster.ts";
import { type Daemon, obedient, type Project, testProject } from "../helpers/project.ts";
import { type Receiver, startReceiver } from "../helpers/receiver.ts";
import { hookSecret as secret, signedHook } from "../helpers/signed-hook.ts";
import { scaled } from "../helpers/slowness.ts";
import { everythingStored } from "../helpers/stored.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const env = { HOOK_SECRET: secret, GITHUB_SECRET: "a secret for GitHub" };
const timeout = { timeout: scaled(60_000) };

const outgoing = (url: string, more = "") => ({
  ...obedient,
  ".aegis.yaml": `${obedient[".aegis.yaml"]}webhooks:
  out:
    ci: { url: "${url}", secret_env: HOOK_SECRET, allow_private: true, events: [turn.ended, ask.opened]${more} }
`,
});

const incoming = {
  ...obedient,
  ".aegis.yaml": `${obedient[".aegis.yaml"]}queues:
  work: { agent: dev }
webhooks:
  in:
    ci: { secret_env: HOOK_SECRET, agent: dev, prompt: "Look at this build." }
    gh: { secret_env: GITHUB_SECRET, scheme: github, queue: work }
`,
};

/** A hook sends nothing about what happened before its first start. */
async function say(daemon: Daemon, text: string): Promise<void> {
  await waitUntil("all channels have started", async () => {
    const { channels } = await daemon.client.call("listChannels");
    return channels.every(({ state }) => state !== "starting");
  });
  await daemon.client.call("createSession", { body: { prompt: text } });
}

const idsOf = ({ requests }: Receiver) => requests.map(({ headers }) => headers["webhook-id"]);

describe("outgoing webhooks", () => {
  it("sends each event once, signed, with no secret in the log or the store", timeout, async () => {
    const receiver = await startReceiver();
    const project = await testProject(outgoing(receiver.url));
    const daemon = await project.start({ env });
    await say(daemon, "hello");
    await waitUntil("the turn was sent", () => receiver.requests.length === 1);
    const [request] = receiver.requests;
    expect(
      verifyStandard(secret, request?.headers as Record<string, string>, request?.body ?? Buffer.alloc(0), Date.now()),
    ).toMatch(/^evt_\d+_ci$/);
    expect(JSON.parse(String(request?.body))).toMatchObject({
      type: "turn.ended",
      text: "you said: hello",
      data: { reason: "completed", session: { agent: "dev" } },
    });
    const { channels } = await daemon.client.call("status");
    expect(channels).toMatchObject([{ name: "out:ci", kind: "webhook_out", state: "ok", waiting: 0, failed: 0 }]);
    await daemon.kill();
    expect(daemon.output).not.toContain(secret);
    expect(await everythingStored(project.dir)).not.toContain(secret);
  });

  it("keeps the id when it retries, and shows the failure meanwhile", timeout, async () => {
    const receiver = await startReceiver();
    receiver.answers.push(500);
    const project = await testProject(outgoing(receiver.url));
    const daemon = await project.start({ env });
    await say(daemon, "hello");
    await waitUntil("the failure is shown", async () => {
      const [channel] = (await daemon.client.call("listChannels")).channels;
      return channel?.state === "unreachable" && channel.waiting === 1;
    });
    // A successful test means that the receiver works again: what waits is sent at once.
    await daemon.client.call("testChannel", { path: { channel: "out:ci" } });
    await waitUntil("the delivery was repeated", () => receiver.requests.length === 3);
    const [first, test, repeated] = idsOf(receiver);
    expect(repeated).toBe(first);
    expect(test).toMatch(/^test_/);
  });

  it("loses nothing over kills, and repeats only with the same id", { ...timeout, tags: "slow" }, async () => {
    const receiver = await startReceiver();
    const project = await testProject(outgoing(receiver.url));
    // The connection breaks after the request was read: the daemon cannot know that it arrived.
    receiver.answers.push("cut");
    const first = await project.start({ env });
    await say(first, "one");
    await waitUntil("the first request arrived", () => receiver.requests.length === 1);
    await say(first, "two");
    await waitUntil("the second request arrived", () => receiver.requests.length === 2);
    await first.kill();
    const second = await project.start({ env });
    await second.client.call("testChannel", { path: { channel: "out:ci" } });
    const ids = () => idsOf(receiver).filter((id) => !String(id).startsWith("test_"));
    // The second may be repeated before it: the daemon was killed with both of them unanswered.
    await waitUntil("the first was repeated", () => ids().filter((id) => id === ids()[0]).length > 1);
    expect(new Set(ids()).size).toBe(2);
    await waitUntil("nothing waits", async () => (await second.client.call("listChannels")).channels[0]?.waiting === 0);
  });

  it("stops when the receiver is gone for good, and when the address is private", timeout, async () => {
    const receiver = await startReceiver();
    receiver.answers.push(410);
    const project = await testProject(outgoing(receiver.url));
    const daemon = await project.start({ env });
    await say(daemon, "hello");
    const state = async () => (await daemon.client.call("listChannels")).channels[0];
    await waitUntil("it is off", async () => (await state())?.state === "off");
    expect(await state()).toMatchObject({ failed: 1, detail: expect.stringContaining("410") });
    await project.write(".aegis.yaml", outgoing(receiver.url)[".aegis.yaml"].replace(", allow_private: true", ""));
    await daemon.client.call("reloadConfig");
    const refused = daemon.client.call("testChannel", { path: { channel: "out:ci" } });
    await expect(refused).rejects.toThrow(/only https: is allowed/);
    expect(receiver.requests).toHaveLength(1);
  });

  it("is off before the first delivery if its address needs a permission, and says which", timeout, async () => {
    const config = outgoing("http://127.0.0.1:9/x")[".aegis.yaml"].replace(", allow_private: true", "");
    const project = await testProject({ ...outgoing("http://127.0.0.1:9/x"), ".aegis.yaml": config });
    const { client } = await project.start({ env });
    const channel = async () => (await client.call("listChannels")).channels[0];
    await waitUntil("it has started", async () => ((await channel())?.state ?? "starting") !== "starting");
    const fix = expect.stringContaining("webhooks.out.ci.allow_private");
    expect(await channel()).toMatchObject({ state: "off", detail: expect.stringContaining("only https:"), fix });
    await expect(client.call("testChannel", { path: { channel: "out:ci" } })).rejects.toMatchObject({ hint: fix });
  });

  it("says which variable is missing", timeout, async () => {
    const project = await testProject(outgoing("https://example.com/x"));
    const { client } = await project.start();
    const channel = async () => (await client.call("listChannels")).channels[0];
    await waitUntil("it is off", async () => (await channel())?.state === "off");
    expect(await channel()).toMatchObject({ detail: expect.stringContaining("HOOK_SECRET") });
  });
});

describe("incoming webhooks", () => {
  const body = Buffer.from('{"build": 7, "note": "```"}');

  function send(daemon: Daemon, hook: string, headers: Record<string, string>, bytes: Uint8Array = body) {
    return fetch(`${daemon.file.url}/v1/hooks/${hook}`, { method: "POST", headers, body: Buffer.from(bytes) });
  }

  const signed = (id: string, bytes: Uint8Array = body, at?: number) => signedHook(id, bytes, at);

  async function sessionsOf({ client }: Daemon) {
    return (await client.call("listSessions", { query: { closed: true } })).sessions;
  }

  it("starts a session for a signed request, once for each id", timeout, async () => {
    const project = await testProject(incoming);
    const daemon = await project.start({ env });
    const first = await send(daemon, "ci", signed("build-7"));
    expect(first.status).toBe(200);
    const again = await send(daemon, "ci", signed("build-7"));
    expect([again.status, await again.json()]).toEqual([200, await first.json()]);
    await waitUntil("it was answered", async () => (await sessionsOf(daemon))[0]?.unseen === 1);
    const [session, ...others] = await sessionsOf(daemon);
    expect(others).toEqual([]);
    const path = { session: session?.id ?? "" };
    const [message] = (await daemon.client.call("listMessages", { path })).messages;
    expect(message).toMatchObject({ sender: { kind: "webhook", name: "ci" } });
    expect(message?.body).toMatch(/^Look at this build\.\n\nA delivery of the webhook ci\..*\n\n````\n\{"build": 7/s);
  });

  it("stores a request that arrives while the daemon still loads plugins", timeout, async () => {
    const waits = "while (!existsSync(process.cwd() + '/gate')) await new Promise((done) => setTimeout(done, 10));\n";
    const plugin = `import { existsSync } from "node:fs";\nimport { tool } from "aegis";\n${waits}export const t = tool({ description: "d", permission: "read" }, () => "t");\n`;
    const project = await testProject({ ...incoming, ".aegis/plugins/late.js": plugin });
    const daemon = await project.start({ env });
    expect((await send(daemon, "ci", signed("early"))).status).toBe(200);
    expect((await daemon.client.call("status")).plugins_loading).toBe(1);
    expect(await sessionsOf(daemon)).toEqual([]);
    await project.write("../gate", "");
    await waitUntil("it was answered", async () => (await sessionsOf(daemon))[0]?.unseen === 1);
  });

  it("tells the sender to come back while the daemon stops and while the secret is missing", {
    ...timeout,
    tags: "slow",
  }, async () => {
    const project = await testProject(incoming);
    const daemon = await project.start({ env });
    await say(daemon, "hold gate");
    await waitUntil("it works", async () => (await sessionsOf(daemon)).some(({ state }) => state === "working"));
    await daemon.client.call("shutdown", { body: {} });
    let refused = await send(daemon, "ci", signed("late"));
    // Before the stop reaches the channels, requests are stored and handled after the next start.
    for (let count = 0; refused.status === 200; count++) refused = await send(daemon, "ci", signed(`late-${count}`));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "10"]);
    expect((await send(daemon, "unknown", signed("x"))).status).toBe(401);
    await daemon.kill();
    const poor = await project.start({ env: { GITHUB_SECRET: env.GITHUB_SECRET } });
    expect((await send(poor, "ci", signed("late"))).status).toBe(503);
    await poor.kill();
    const again = await project.start({ env });
    expect((await send(again, "ci", signed("late"))).status).toBe(200);
  });

  it("accepts a body of GitHub once, whatever its other headers say", timeout, async () => {
    const project = await testProject(incoming);
    const daemon = await project.start({ env });
    const hash = createHmac("sha256", env.GITHUB_SECRET).update(body).digest("hex");
    for (const delivery of ["a", "b"]) {
      const headers = {
        "x-hub-signature-256": `sha256=${hash}`,
        "x-github-delivery": delivery,
        "x-github-event": "push",
      };
      expect((await send(daemon, "gh", headers)).status).toBe(200);
    }
    const tasks = async () => (await daemon.client.call("listTasks", { query: { queue: "work" } })).tasks;
    await waitUntil("the task is there", async () => (await tasks()).length > 0);
    expect(await tasks()).toHaveLength(1);
    expect((await tasks())[0]?.payload).toContain("GitHub event push");
  });

  it("refuses everything else with the same words and starts nothing", timeout, async () => {
    const project = await testProject(incoming);
    const daemon = await project.start({ env });
    const old = Math.floor(Date.now() / 1000) - 400;
    const refused = [
      await send(daemon, "ci", {}),
      await send(daemon, "ci", { authorization: `Bearer ${daemon.file.token}` }),
      await send(daemon, "ci", { ...signed("x"), "webhook-id": "y" }),
      await send(daemon, "ci", signed("x", body, old)),
      await send(daemon, "ci", signed("x"), Buffer.from("other")),
      await send(daemon, "gh", signed("x")),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401));
    const texts = new Set(await Promise.all(refused.map((answer) => answer.text())));
    expect(texts.size).toBe(1);
    expect((await send(daemon, "unknown", signed("x"))).status).toBe(401);
    const large = Buffer.alloc(1024 * 1024 + 1);
    expect((await send(daemon, "ci", signed("x", large), large)).status).toBe(413);
    expect(await sessionsOf(daemon)).toEqual([]);
    const { channels } = await daemon.client.call("listChannels");
    expect(channels.find(({ name }) => name === "in:ci")?.ignored).toBe(5);
  });

  it("is not served before the user agrees to it", timeout, async () => {
    const project: Project = await testProject(incoming);
    const home = join(project.dir, "other-home");
    await agreeToStore(project.dir, home);
    const daemon = await project.start({ env: { ...env, HOME: home } });
    expect((await send(daemon, "ci", signed("x"))).status).toBe(401);
    const { channels, untrusted } = await daemon.client.call("status");
    expect(channels).toEqual([]);
    expect(untrusted.join()).toContain("webhooks.in.ci.secret_env");
  });
});
