/** A channel for people on an injected clock, with a service that the test plays. */
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";
import { whyMessage } from "@aegis/sessions/inbox/why.ts";
import { type FakeClock, fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { completed, said, type TestRuntime, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Channel, ChannelHost, Content, Inbound } from "../src/channel.ts";
import { startConversation } from "../src/conversation/conversation.ts";
import { ChannelFault } from "../src/fault.ts";
import type { RunningChannel } from "../src/running.ts";

class PlayedService implements Channel {
  connects = 0;
  fault: ChannelFault | null = null;
  host: ChannelHost | null = null;
  readonly sent: { place: string; text: string }[] = [];
  #end: ((fault: ChannelFault) => void) | null = null;

  async connect() {
    this.connects += 1;
    if (this.fault !== null) throw this.fault;
    return { id: "played:1", label: "@played", notes: [], pairLink: () => null };
  }
  async receive(host: ChannelHost, signal: AbortSignal) {
    this.host = host;
    const { promise, reject } = Promise.withResolvers<void>();
    this.#end = reject;
    await Promise.race([promise, aborted(signal)]);
  }
  /** The connection breaks, and the next attempts fail in the same way. */
  breakWith(fault: ChannelFault) {
    this.fault = fault;
    this.host = null;
    this.#end?.(fault);
  }
  async send(place: string, content: Content) {
    if (this.fault !== null) throw this.fault;
    this.sent.push({ place, text: content.kind === "text" ? content.part.text : content.text });
    return String(this.sent.length);
  }
  ask = async () => "1";
  typing = async () => {};
  attach = async () => new Uint8Array();
  openThread = async () => null;
  acknowledge = async () => {};
  preview = null;
  format = (text: string) => [{ text, marks: [] }];
  paceMs = () => 0;
  chatOf = (place: string) => place;
}

type Setup = { service: PlayedService; clock: FakeClock; channel: RunningChannel; runtime: TestRuntime };

async function setup(): Promise<Setup> {
  const dir = await tempDir();
  const clock = fakeClock(1_000_000);
  const driver = testDriver(async function* ({ prompt }) {
    yield said(`answer to: ${prompt.text}`);
    yield completed;
  });
  const runtime = await testRuntime(dir, driver, { clock });
  const service = new PlayedService();
  const channel = startConversation({
    ...runtime,
    clock,
    log: silentLogger,
    name: "played",
    channel: service,
    agent: () => undefined,
    threads: () => false,
    users: ["7"],
    sharedPlaces: [],
    showAllAsks: false,
    fix: "fix it",
    random: () => 0,
    hub: null,
    root: dir,
    dir: join(dir, "files"),
  });
  onTestFinished(() => channel.stop(AbortSignal.timeout(5_000)));
  return { service, clock, channel, runtime };
}

const text = (key: string, said: string, peer = "7"): Inbound => ({
  key,
  peer: { id: peer, name: "Ada" },
  place: peer,
  shared: false,
  replyTo: null,
  content: { kind: "text", text: said, quoted: [], files: [] },
});

async function connected({ service, clock }: Setup): Promise<ChannelHost> {
  await waitUntil("it is connected", async () => {
    if (service.host === null) await clock.advance(30_000);
    return service.host !== null;
  });
  if (service.host === null) throw new Error("unreachable: it was connected");
  return service.host;
}

describe("a channel for people", () => {
  it("admits what it receives once, and nothing of others", async () => {
    const test = await setup();
    const host = await connected(test);
    await host.admit([text("1", "hello"), text("2", "psst", "8")], "2");
    await host.admit([text("1", "hello")], "2");
    await waitUntil("it was answered", () => test.service.sent.some(({ text: one }) => one.startsWith("answer to")));
    const [session, ...others] = await test.runtime.store.read.sessions.list({});
    expect(others).toEqual([]);
    const messages = await test.runtime.store.read.messages.list(session?.id ?? ("" as never));
    expect(messages.map(({ body }) => body)).toEqual(["hello"]);
    expect(test.service.sent.every(({ place }) => place === "7")).toBe(true);
    expect((await test.channel.view()).ignored).toBe(1);
    expect(await host.cursor()).toMatchObject({ position: "2" });
    expect(test.runtime.driver.turns).toHaveLength(1);
    expect(test.runtime.driver.turns[0]?.prompt.text).toMatch(/^> from channel:played · .*\nhello$/);
    const [message] = messages;
    if (message === undefined) throw new Error("unreachable: it was admitted");
    expect(message.sender).toEqual({ kind: "channel", name: "played" });
    const links = await whyMessage(test.runtime.store.read, message.id, (value) => value);
    expect(links.at(-1)).toMatchObject({ kind: "person", name: "played" });
  });

  it("keeps answers while the network is down for an hour and tries about once a minute", async () => {
    const test = await setup();
    const host = await connected(test);
    await host.admit([text("1", "hello")], "1");
    await waitUntil("it was answered", () => test.service.sent.length === 2);
    const before = test.service.connects;
    test.service.breakWith(new ChannelFault("unreachable", "no network"));
    await host.admit([text("2", "more")], "2");
    await waitUntil("it was answered", async () => (await test.channel.view()).waiting > 0);
    for (let minute = 0; minute < 60; minute++) await test.clock.advance(60_000);
    expect(test.service.connects - before).toBeGreaterThan(10);
    expect(test.service.connects - before).toBeLessThan(80);
    expect(await test.channel.view()).toMatchObject({ state: "unreachable", waiting: 1 });
    test.service.fault = null;
    await waitUntil("the answer was sent", async () => {
      await test.clock.advance(60_000);
      return test.service.sent.some(({ text: one }) => one.includes("more"));
    });
    await waitUntil("it is ok", async () => (await test.channel.view()).state === "ok");
    expect(test.service.sent).toHaveLength(3);
  });

  it("stops trying with a rejected token until a person tests it", async () => {
    const test = await setup();
    await connected(test);
    test.service.breakWith(new ChannelFault("unauthorized", "bad token"));
    await waitUntil("it is shown", async () => (await test.channel.view()).state === "unauthorized");
    const before = test.service.connects;
    await test.clock.advance(3_600_000);
    expect(test.service.connects).toBe(before);
    test.service.fault = null;
    await test.channel.test(AbortSignal.timeout(5_000));
    await connected(test);
    expect((await test.channel.view()).state).toBe("ok");
  });
});
