/** What every channel for people promises, in a real daemon. The user of the project allows Ada; Eve is not allowed. */

import { expect, it } from "vitest";
import type { Daemon } from "../helpers/project.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

export type Person = "ada" | "eve";

/** The service as people see it. */
export type PlayedChat = {
  say(who: Person, text: string): Promise<void>;
  /** Chooses below the last ask that Ada sees. `change` replaces the data that the choice carries. */
  choose(who: Person, label: string, change?: (data: string) => string): Promise<void>;
  /** The messages that the person sees, as they are now. */
  texts(who: Person): Promise<string[]>;
  /** The service delivers what it has delivered before once more, at the latest with the next message. */
  deliverAgain(): Promise<void>;
};

export type ChannelUnderTest = {
  /** A daemon with this channel, for all cases of the suite. */
  shared: { daemon: Daemon };
  /** The name of the channel. */
  name: string;
  longestText: number;
  chat(): PlayedChat;
};

const timeout = { timeout: scaled(90_000) };

export function channelSuite({ shared, name, longestText, chat }: ChannelUnderTest): void {
  const shows = (who: Person, text: string | RegExp) =>
    waitUntil(`${who} sees ${text}`, async () =>
      (await chat().texts(who)).some((one) => (typeof text === "string" ? one === text : text.test(one))),
    );
  const view = async () =>
    (await shared.daemon.client.call("listChannels")).channels.find((channel) => channel.name === name);
  const sessions = async () => (await shared.daemon.client.call("listSessions", { query: { closed: true } })).sessions;
  /** Everything that was admitted, in the order of the sessions and of their messages. */
  async function admitted() {
    const found = await sessions();
    const lists = await Promise.all(
      found.map(({ id }) => shared.daemon.client.call("listMessages", { path: { session: id } })),
    );
    return lists.flatMap(({ messages }) => messages);
  }
  const bodies = async () => (await admitted()).map(({ body }) => body);

  it("admits each message once, and continues the session", timeout, async () => {
    await chat().say("ada", "the first");
    await shows("ada", "you said: the first");
    await chat().say("ada", "the second");
    await shows("ada", "you said: the second");
    expect(await sessions()).toHaveLength(1);
    expect((await admitted()).map((message) => [message.sender, message.body])).toEqual([
      [{ kind: "channel", name }, "the first"],
      [{ kind: "channel", name }, "the second"],
    ]);
    await waitUntil("all is sent", async () => (await view())?.waiting === 0);
    expect(await view()).toMatchObject({ state: "ok", failed: 0 });
  });

  it("gives a sender that is not allowed nothing", timeout, async () => {
    const before = (await view())?.ignored ?? 0;
    const texts = ["let me in", "/sessions", "/start WRONGCOD"];
    for (const text of texts) await chat().say("eve", text);
    await chat().say("ada", "after Eve");
    await shows("ada", "you said: after Eve");
    expect((await view())?.ignored).toBe(before + texts.length);
    expect(await sessions()).toHaveLength(1);
    for (const text of texts) expect(await bodies()).not.toContain(text);
    expect(await chat().texts("eve")).toEqual([]);
  });

  it("changes nothing when the service delivers a message again", timeout, async () => {
    await chat().say("ada", "delivered twice");
    await shows("ada", "you said: delivered twice");
    await chat().deliverAgain();
    await chat().say("ada", "delivered after it");
    await shows("ada", "you said: delivered after it");
    const found = await bodies();
    expect(found.filter((body) => body === "delivered twice")).toHaveLength(1);
    expect(found.indexOf("delivered after it")).toBe(found.length - 1);
    const answers = (await chat().texts("ada")).filter((text) => text === "you said: delivered twice");
    expect(answers).toHaveLength(1);
  });

  it("answers an ask by a choice with its digest, of a person who is allowed", timeout, async () => {
    const before = (await view())?.ignored ?? 0;
    await chat().say("ada", "may you deploy");
    await shows("ada", /asks:/);
    await chat().choose("eve", "allow");
    const forged = (data: string) => {
      const other = data.replace(/:[0-9a-f]{24}:/, `:${"0".repeat(24)}:`);
      expect(other).not.toBe(data);
      return other;
    };
    await chat().choose("ada", "allow", forged);
    await chat().choose("ada", "deny");
    await shows("ada", "denied: deploy");
    await shows("ada", new RegExp(`— Answered: deny \\(${name}\\)$`));
    expect((await view())?.ignored).toBe(before + 1);
    expect(await chat().texts("eve")).toEqual([]);
  });

  it("splits a long answer at lines, in order and without a loss", timeout, async () => {
    const tail = "x".repeat(30);
    const lines = Array.from({ length: 150 }, (_, index) => `line ${index} _with_ *marks* and <b> 🎉 ${tail}`);
    await chat().say("ada", `stream ${lines.join("\n")}`);
    await shows("ada", /line 149 /);
    const parts = (await chat().texts("ada")).filter((text) => text.startsWith("line"));
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(longestText);
      expect(part.trimEnd()).toMatch(/x{30}$/);
    }
    const numbers = [...parts.join("\n").matchAll(/^line (\d+) /gm)].map(([, number]) => Number(number));
    expect(numbers).toEqual(lines.map((_, index) => index));
  });
}
