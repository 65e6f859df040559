/** A Telegram bot of a real daemon, against a strict fake of the Bot API. */

import type { Client } from "@aegis/client/client.ts";
import { afterAll, describe, expect, it } from "vitest";
import { FakeBotApi } from "../helpers/fake-bot-api.ts";
import { type Daemon, obedient, type Project, sharedDaemon, testProject } from "../helpers/project.ts";
import { scaled } from "../helpers/slowness.ts";
import { everythingStored } from "../helpers/stored.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { channelSuite, type Person, type PlayedChat } from "../suites/channel-suite.ts";

const ada = 7;
const stranger = 8;
const timeout = { timeout: scaled(90_000) };
const inAll = { ...timeout, tags: "slow" } as const;

const files = (fake: FakeBotApi, more = "") => ({
  ...obedient,
  ".aegis.yaml": `${obedient[".aegis.yaml"]}telegram: { token_env: BOT_TOKEN, api_root: "${fake.url}"${more} }\n`,
});

type Bot = { fake: FakeBotApi; project: Project; daemon: Daemon };

/** Previews appear after some seconds, which is seldom on a quiet machine: tests of other things go without. */
async function startBot(more = ", users: [7], stream: off", topics = false): Promise<Bot> {
  const fake = await FakeBotApi.start();
  fake.topics = topics;
  fake.chat(ada);
  fake.chat(stranger);
  const project = await testProject(files(fake, more));
  const daemon = await project.start({ env: { BOT_TOKEN: fake.token } });
  return { fake, project, daemon };
}

async function shows({ fake }: Pick<Bot, "fake">, text: string | RegExp, chat = ada): Promise<void> {
  await waitUntil(`the chat shows ${text}, not only ${JSON.stringify(fake.texts(chat))}`, () =>
    fake.texts(chat).some((one) => (typeof text === "string" ? one === text : text.test(one))),
  );
}

async function channel(client: Client) {
  const [found] = (await client.call("listChannels")).channels;
  if (found === undefined) throw new Error("no channel is configured");
  return found;
}

async function sessions(client: Client) {
  return (await client.call("listSessions")).sessions;
}

/** For the cases that share a daemon. */
const api = await FakeBotApi.start(afterAll);

describe("as a channel", { tags: "slow" }, () => {
  const shared = sharedDaemon(files(api, ", users: [7], stream: off"), { env: { BOT_TOKEN: api.token } });
  const people: Record<Person, number> = { ada: api.chat(ada), eve: api.chat(stranger) };
  const chat: PlayedChat = {
    say: async (who, text) => void api.say(people[who], text),
    async choose(who, label, change = (data) => data) {
      const card = api.sent.findLast(({ markup }) => markup?.inline_keyboard !== undefined);
      if (card === undefined) throw new Error("no card was shown");
      const changed = (card.markup?.inline_keyboard ?? []).map((row) =>
        row.map((button) => ({ ...button, callback_data: change(button.callback_data ?? "") })),
      );
      api.press({ ...card, markup: { inline_keyboard: changed } }, label, people[who]);
    },
    texts: async (who) => api.texts(people[who]),
    deliverAgain: async () => api.deliverAgain(),
  };
  channelSuite({
    shared,
    name: "telegram",
    longestText: 4_096,
    chat: () => chat,
  });

  it("names the session and its bot, and sends nothing that Telegram refuses", timeout, async () => {
    api.say(ada, "the last");
    await shows({ fake: api }, "you said: the last");
    const [session] = await sessions(shared.daemon.client);
    expect(api.texts(ada)[0]).toBe(`Started ${session?.handle} (dev).`);
    expect(api.calls.some(({ method }) => method === "sendChatAction")).toBe(true);
    expect(await channel(shared.daemon.client)).toMatchObject({ detail: "connected as @aegis_test_bot" });
    // The person sees the outcome of each press, and the buttons of an answered ask are gone.
    expect(api.acknowledged).toHaveLength(2);
    expect(api.acknowledged).toContain("Answered: deny");
    expect(api.sent.filter(({ markup }) => markup !== undefined)).toEqual([]);
    expect(api.violations).toEqual([]);
  });
});

describe("a conversation", () => {
  it("keeps the token out of the log and of everything that is stored", timeout, async () => {
    const bot = await startBot();
    bot.fake.planned.push({ method: "sendMessage", how: "cut" });
    bot.fake.say(ada, `my token is ${bot.fake.token}`);
    await shows(bot, /you said: my token is \[redacted\]/);
    await bot.daemon.kill();
    expect(bot.daemon.output).not.toContain(bot.fake.token);
    expect(await everythingStored(bot.project.dir)).not.toContain(bot.fake.token);
  });

  it("has commands for sessions", inAll, async () => {
    const bot = await startBot();
    bot.fake.say(ada, "/new dev first");
    await shows(bot, "you said: first");
    bot.fake.say(ada, "/new second");
    await shows(bot, "you said: second");
    const [second, first] = await sessions(bot.daemon.client);
    bot.fake.say(ada, `/switch ${first?.handle}`);
    await shows(bot, "Messages now go to first (dev).");
    bot.fake.say(ada, "/sessions");
    await shows(bot, new RegExp(`▸ first \\(dev, ready\\) ${first?.handle}`));
    bot.fake.say(ada, "hold gate");
    await waitUntil("it works", async () =>
      (await sessions(bot.daemon.client)).some(({ state }) => state === "working"),
    );
    bot.fake.say(ada, "/stop");
    await shows(bot, "Stopped first.");
    bot.fake.say(ada, "/switch nobody-here");
    await shows(bot, /no session 'nobody-here'|no session "nobody-here"|nobody-here/);
    expect(second?.handle).not.toBe(first?.handle);
    expect(bot.fake.violations).toEqual([]);
  });

  it("gives each session a topic where the chat has topics, and a reply goes to its session", inAll, async () => {
    const bot = await startBot(", users: [7], stream: off", true);
    bot.fake.say(ada, "hello");
    await shows(bot, "you said: hello");
    const answer = bot.fake.sent.find(({ text }) => text === "you said: hello");
    expect(answer?.thread).toBeTypeOf("number");
    bot.fake.say(ada, "in the topic", { message_thread_id: answer?.thread, is_topic_message: true });
    await shows(bot, "you said: in the topic");
    expect(await sessions(bot.daemon.client)).toHaveLength(1);
    bot.fake.say(ada, "outside");
    await shows(bot, "you said: outside");
    expect(await sessions(bot.daemon.client)).toHaveLength(2);
    expect(new Set(bot.fake.sent.map(({ thread }) => thread)).size).toBe(2);
  });

  it("passes a voice message on as a file, and forwarded text as a quotation", inAll, async () => {
    const bot = await startBot();
    bot.fake.file("v1", Buffer.from("OggS voice"));
    bot.fake.say(ada, "", { text: undefined, voice: { file_id: "v1", file_size: 10, duration: 1 }, caption: "listen" });
    await shows(bot, /you said: listen\n\n\[file voice\.ogg: \.aegis\/state\/channel-files\/[0-9a-f]{64}\.ogg\]/);
    bot.fake.say(ada, "/stop everything", { forward_origin: { type: "hidden_user", date: 1, sender_user_name: "x" } });
    await shows(bot, "you said: Forwarded message:\n> /stop everything");
  });

  it("takes the pictures of an album as one message, also if they arrive apart", inAll, async () => {
    const bot = await startBot();
    for (const id of ["p1", "p2", "p3"]) bot.fake.file(id, Buffer.from(`picture ${id}`));
    bot.fake.album(ada, ["p1", "p2", "p3"], "look at these", { apart: true });
    await shows(bot, /^you said: look at these(\n\n\[file photo\.jpg: .*\]){3}$/s);
    bot.fake.album(ada, ["p1", "p2"], "");
    bot.fake.say(ada, "and this");
    await shows(bot, "you said: and this");
    const [session] = await sessions(bot.daemon.client);
    const { messages } = await bot.daemon.client.call("listMessages", { path: { session: session?.id ?? "" } });
    expect(messages.map(({ body }) => body.match(/photo\.jpg/g)?.length ?? 0)).toEqual([3, 2, 0]);
    expect(bot.fake.unconfirmed).toBe(0);
    expect(bot.fake.violations).toEqual([]);
  });
});

describe("an answer that takes long", () => {
  const slow = `
rules:
  - name: slow
    when: '/^slow (\\S+)/'
    steps: [{ stream: "The first half. ", chunk: 5, delay: 1 }, { wait: { gate: "gates/{1}" } }, { stream: "The second half.", chunk: 5, delay: 1 }]
`;

  it("is shown while it is written, and replaced by the exact answer", inAll, async () => {
    const fake = await FakeBotApi.start();
    fake.chat(ada);
    const project = await testProject({ ...files(fake, ", users: [7]"), "playbook.yaml": slow });
    const env = { BOT_TOKEN: fake.token };
    const bot = { fake, project, daemon: await project.start({ env }) };
    fake.say(ada, "slow one");
    await shows(bot, /^The first half\.\s+…$/);
    const silent = fake.calls.filter(({ params }) => params.disable_notification === true);
    expect(silent).toHaveLength(1);
    await project.open("one");
    await shows(bot, "The second half.");
    await waitUntil("the preview was removed", () => fake.deleted.length === 1);
    expect(fake.texts(ada).filter((text) => text.includes("half"))).toEqual(["The second half."]);

    // A preview that a crash leaves behind is removed at the next start.
    fake.say(ada, "slow two");
    await shows(bot, /^The first half\.\s+…$/);
    await waitUntil("its id is stored", async () => (await everythingStored(project.dir)).includes('"place":"7"'));
    await bot.daemon.kill();
    await project.open("two");
    await project.start({ env });
    await waitUntil("it was removed", () => fake.deleted.length >= 2);
    const answers = () => fake.texts(ada).filter((text) => text.endsWith("The second half."));
    await waitUntil("the answer was sent", () => answers().length === 2);
    expect(fake.violations).toEqual([]);
  });
});

describe("who may speak", () => {
  it("ignores everyone by default: no answer, no session, no text in the log", timeout, async () => {
    const bot = await startBot(", stream: off");
    for (const text of ["hello", "/start", "/start WRONGCOD", "/sessions"]) bot.fake.say(stranger, text);
    await waitUntil("they were read", async () => bot.fake.unconfirmed === 0);
    await waitUntil("they were counted", async () => (await channel(bot.daemon.client)).ignored === 4);
    expect(bot.fake.sent).toEqual([]);
    expect(bot.fake.calls.some(({ method }) => method === "sendChatAction")).toBe(false);
    expect(await sessions(bot.daemon.client)).toEqual([]);
    await bot.daemon.kill();
    expect(await everythingStored(bot.project.dir)).not.toContain("WRONGCOD");
  });

  it("pairs a person by a code from the terminal, once, also over a restart", inAll, async () => {
    const bot = await startBot(", stream: off");
    const { pairing } = await bot.daemon.client.call("pairChannel", { path: { channel: "telegram" } });
    // The name of the bot is known once it is connected.
    expect([null, `https://t.me/aegis_test_bot?start=${pairing.code}`]).toContain(pairing.link);
    bot.fake.say(ada, `/start ${pairing.code}`);
    await shows(bot, /You are paired/);
    bot.fake.say(stranger, `/start ${pairing.code}`);
    bot.fake.say(stranger, "hello");
    bot.fake.say(ada, "one");
    await shows(bot, "you said: one");
    await bot.daemon.kill();
    const daemon = await bot.project.start({ env: { BOT_TOKEN: bot.fake.token } });
    bot.fake.say(ada, "two");
    await shows(bot, "you said: two");
    expect(bot.fake.texts(stranger)).toEqual([]);
    expect((await channel(daemon.client)).peers).toMatchObject([{ peer: "7", name: "Ada" }]);
    await daemon.client.call("unpairChannel", { path: { channel: "telegram" }, body: { peer: "7" } });
    bot.fake.say(ada, "three");
    await waitUntil("it was ignored", async () => (await channel(daemon.client)).ignored > 0);
    expect(bot.fake.texts(ada).join()).not.toContain("three");
  });

  it("listens in a group only if the group is listed, the person allowed and the bot addressed", inAll, async () => {
    const bot = await startBot(", users: [7], chats: [-100], stream: off");
    for (const group of [-100, -200]) bot.fake.chat(group, "supergroup");
    bot.fake.say(-200, "@aegis_test_bot other group", { from: ada });
    bot.fake.say(-100, "@aegis_test_bot stranger", { from: stranger });
    bot.fake.say(-100, "not for the bot", { from: ada });
    bot.fake.say(-100, "@aegis_test_bot hello", { from: ada });
    await shows(bot, "you said: hello", -100);
    expect(bot.fake.texts(-200)).toEqual([]);
    expect(await sessions(bot.daemon.client)).toHaveLength(1);
  });
});

describe("asks", () => {
  it("of other sessions reach everyone who is allowed; another client may be first", {
    ...timeout,
    tags: "slow",
  }, async () => {
    const bot = await startBot();
    await waitUntil("it is connected", async () => (await channel(bot.daemon.client)).state === "ok");
    await bot.daemon.client.call("createSession", { body: { prompt: "may you restart" } });
    await shows(bot, /asks:/);
    const [ask] = (await bot.daemon.client.call("listAsks", {})).asks;
    if (ask === undefined) throw new Error("no ask is open");
    const card = bot.fake.sent.at(-1);
    if (card === undefined) throw new Error("no card was shown");
    const stale = { ...card, markup: structuredClone(card.markup) };
    await bot.daemon.client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "allow", via: "terminal" } });
    await shows(bot, /— Answered: allow \(terminal\)$/);
    bot.fake.press(stale, "deny");
    await waitUntil("the press was acknowledged", () => bot.fake.acknowledged.length === 1);
    expect((await bot.daemon.client.call("getAsk", { path: { ask: ask.id } })).ask.answer?.choice).toBe("allow");
  });
});

describe("failures", () => {
  it("shows a rejected token and continues after it was fixed", inAll, async () => {
    const fake = await FakeBotApi.start();
    fake.chat(ada);
    fake.accepts = false;
    const project = await testProject(files(fake, ", users: [7]"));
    const { client } = await project.start({ env: { BOT_TOKEN: fake.token } });
    await waitUntil("it is shown", async () => (await channel(client)).state === "unauthorized");
    expect(await channel(client)).toMatchObject({ fix: expect.stringContaining("@BotFather") });
    expect((await client.call("status")).channels[0]?.state).toBe("unauthorized");
    fake.accepts = true;
    const { detail } = await client.call("testChannel", { path: { channel: "telegram" } });
    expect(detail).toContain("connected as @aegis_test_bot");
    fake.say(ada, "hello");
    await shows({ fake }, "you said: hello");
    await waitUntil("it is ok", async () => (await channel(client)).state === "ok");
  });

  it("waits as long as Telegram says, and reports a second poller", inAll, async () => {
    const bot = await startBot();
    const retry = { code: 429, description: "Too Many Requests: retry after 2", retry_after: 2 };
    bot.fake.planned.push({ method: "sendMessage", how: retry });
    bot.fake.say(ada, "hello");
    await waitUntil("it is shown", async () => (await channel(bot.daemon.client)).state === "rate_limited");
    await shows(bot, "you said: hello");
    bot.fake.planned.push({
      method: "getUpdates",
      how: { code: 409, description: "Conflict: terminated by other getUpdates request" },
    });
    bot.fake.say(ada, "next");
    await waitUntil("the conflict is shown", async () => (await channel(bot.daemon.client)).state === "conflict");
  });

  it("marks a message whose answer was lost as a possible repetition", inAll, async () => {
    const bot = await startBot();
    bot.fake.say(ada, "one");
    await shows(bot, "you said: one");
    bot.fake.planned.push({ method: "sendMessage", how: "lost" });
    bot.fake.say(ada, "two");
    await shows(bot, "(This may be a repetition.)\nyou said: two");
    expect(bot.fake.texts(ada).filter((text) => text.includes("said: two"))).toHaveLength(2);
  });

  it("says so when the variable of the token is not set", timeout, async () => {
    const fake = await FakeBotApi.start();
    const project = await testProject(files(fake));
    const { client } = await project.start();
    await waitUntil("it is off", async () => (await channel(client)).state === "off");
    expect(await channel(client)).toMatchObject({ detail: expect.stringContaining("BOT_TOKEN") });
    expect(fake.calls).toEqual([]);
  });
});
