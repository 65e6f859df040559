/** What plugins, people and messages can do to a turn of a real CLI; where CLIs differ, the table says how. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import type { Conversation } from "@aegis/drivers/driver.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { additionOf, endOf, promptOf, runTurn, textOf, watchTurn } from "../helpers/turns.ts";
import { liveSeat } from "./live-seat.ts";
import type { LiveHarness } from "./support/harness.ts";
import { claudeCode } from "./support/harnesses/claude-code.ts";
import { codex } from "./support/harnesses/codex.ts";
import { gemini } from "./support/harnesses/gemini.ts";
import { opencode } from "./support/harnesses/opencode.ts";

type Reach = {
  harness: LiveHarness;
  /**
   * When the model learns why a call was denied: in the same turn, or with the next prompt. `either` for a harness that
   * gets the reason as a message of its own, which may come after the end of the turn.
   */
  denial: "same turn" | "next prompt" | "either";
  /** What plugins can do to a call besides denying it. */
  rewrites: boolean;
  changesResults: boolean;
  forks: boolean;
  steers: boolean;
};

const table: readonly Reach[] = [
  { harness: claudeCode, denial: "same turn", rewrites: true, changesResults: true, forks: true, steers: true },
  { harness: codex, denial: "either", rewrites: false, changesResults: false, forks: true, steers: true },
  { harness: gemini, denial: "next prompt", rewrites: false, changesResults: false, forks: false, steers: false },
  { harness: opencode, denial: "next prompt", rewrites: false, changesResults: false, forks: false, steers: false },
];

/** One pixel. */
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

async function sit(harness: LiveHarness, options: DriverHostOptions & { permission_?: Agent["permission"] } = {}) {
  const { permission_: permission = "auto", ...host } = options;
  const live = await harness.start(await tempDir());
  const seat = await liveSeat(
    (deps) => harness.createDriver(deps),
    { harness: harness.harness, permission, ...live.agent, env: { ...live.agent.env, IS_SANDBOX: "1" } },
    host,
  );
  onTestFinished(() => live.close());
  return { ...seat, calls: live.calls, made: join(seat.dir, "made.txt") };
}

/** Whether the last call of the model held this text. By hand: a diff of two requests fills screens. */
const told = ({ calls }: { calls(): string[] }, text: string) => calls().at(-1)?.includes(text) === true;

const say = async (conversation: Conversation, text: string) => textOf(await runTurn(conversation, text));

describe.each(table)("$harness.harness", ({ harness, denial, rewrites, changesResults, forks, steers }) => {
  test.each(["auto", "full"] as const)("a plugin denies a call although the permission is %s", async (permission_) => {
    const seat = await sit(harness, {
      permission_,
      permission: () => ({ decision: "allow", scope: "once" }),
      beforeTool: () => ({ decision: "deny", reason: "never on a Sunday" }),
    });
    const conversation = await seat.open();
    await say(conversation, harness.makeFile(seat.made));
    expect(existsSync(seat.made)).toBe(false);
    const isLate = denial === "next prompt" || (denial === "either" && !told(seat, "never on a Sunday"));
    if (isLate) await say(conversation, "and now?");
    expect(told(seat, "never on a Sunday")).toBe(true);
  });

  test("with full rights a call that no plugin minds runs without a question", async () => {
    const judged: string[] = [];
    const seat = await sit(harness, {
      permission_: "full",
      beforeTool: (use) => {
        judged.push(use.tool);
        return { decision: "allow" };
      },
    });
    await say(await seat.open(), harness.makeFile(seat.made));
    expect(existsSync(seat.made)).toBe(true);
    expect(judged.length).toBeGreaterThan(0);
    expect(seat.host.asked).toEqual([]);
  });

  test("a plugin has a person asked about a call that would have run", async () => {
    const seat = await sit(harness, {
      permission_: "full",
      beforeTool: () => ({ decision: "ask", reason: "is that wise" }),
      permission: () => ({ decision: "deny", reason: "it is not" }),
    });
    await say(await seat.open(), harness.makeFile(seat.made));
    expect(existsSync(seat.made)).toBe(false);
    expect(seat.host.asked[0]?.title).toContain("is that wise");
  });

  test(`a plugin ${rewrites ? "changes what a call does" : "that would change a call denies it"}`, async () => {
    const seat = await sit(harness, {
      permission_: "full",
      beforeTool: (use) => ({
        decision: "allow",
        input: JSON.parse(JSON.stringify(use.input).replaceAll("made.txt", "other.txt")),
      }),
    });
    await say(await seat.open(), harness.makeFile(seat.made));
    expect(existsSync(seat.made)).toBe(false);
    expect(existsSync(join(seat.dir, "other.txt"))).toBe(rewrites);
  });

  test(`a plugin ${changesResults ? "changes" : "sees"} what a tool gave`, async () => {
    const seen: string[] = [];
    const seat = await sit(harness, {
      permission_: "full",
      beforeTool: () => ({ decision: "allow" }),
      afterTool: (use) => {
        seen.push(use.tool);
        return "what the plugin made of it";
      },
    });
    await say(await seat.open(), harness.makeFile(seat.made));
    expect(seen).toHaveLength(1);
    if (changesResults) expect(told(seat, "what the plugin made of it")).toBe(true);
  });

  test("history that plugins add reaches the model", async () => {
    const seat = await sit(harness);
    const history = [{ role: "user" as const, text: "my cat is called Tom" }];
    await runTurn(await seat.open(), { ...promptOf("what is my cat called?"), history });
    expect(told(seat, "my cat is called Tom")).toBe(true);
  });

  test("the model sees an image", async () => {
    const seat = await sit(harness);
    const path = join(seat.dir, "pixel.png");
    await writeFile(path, pixel);
    const images = [{ path, media_type: "image/png" as const }];
    const end = endOf(await runTurn(await seat.open(), { ...promptOf("what is this?"), images }));
    expect(end).toMatchObject({ reason: "completed" });
    expect(told(seat, pixel.toString("base64").slice(0, 40))).toBe(true);
  });

  test.runIf(steers)("a message joins the running turn", async () => {
    const answer = Promise.withResolvers<{ decision: "deny"; reason: string }>();
    const seat = await sit(harness, { permission: () => answer.promise });
    const conversation = await seat.open();
    const turn = watchTurn(conversation, harness.makeFile(seat.made));
    await seat.host.arrived("asked", 1);
    const joined = conversation.steer?.(additionOf("and feed the cat"));
    answer.resolve({ decision: "deny", reason: "no" });
    expect(await joined).toBe(true);
    await turn.done;
    expect(told(seat, "and feed the cat")).toBe(true);
    expect(await conversation.steer?.(additionOf("too late"))).toBe(false);
    expect(await say(conversation, "next")).toBe("reply: next");
  });

  test.runIf(forks)("a fork begins with the other's memory and goes its own way", async () => {
    const seat = await sit(harness);
    await say(await seat.open(), "remember 42");
    const origin = seat.host.resume;
    const fork = await seat.open({ fork: origin });
    expect(seat.host.resume).not.toBe(origin);
    expect(await say(fork, "only the fork hears this")).toBe("reply: only the fork hears this");
    expect(told(seat, "remember 42")).toBe(true);
    const forkName = seat.host.resume;
    await seat.close();
    await seat.host.remember(origin);
    await say(await seat.open(), "back at the origin");
    expect(told(seat, "remember 42")).toBe(true);
    expect(told(seat, "only the fork")).toBe(false);
    await seat.close();
    await seat.host.remember(forkName);
    await say(await seat.open(), "and the fork again");
    expect(told(seat, "only the fork")).toBe(true);
  });
});
