/** What a conversation with every real CLI must do. Its own file holds what only that CLI does. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { describe, expect, test } from "vitest";
import type { DriverHostOptions } from "../../helpers/driver-host.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "../../helpers/turns.ts";
import type { LiveSeat } from "../live-seat.ts";

export type CliUnderTest = {
  seat(options?: DriverHostOptions & { agent?: Partial<Agent> }): Promise<LiveSeat>;
  /** The newest model call of a conversation. */
  lastRequest(): unknown;
  /** A tool of the plane as the model names it. */
  planeTool(name: string): string;
  /** A prompt whose tool call needs a person's consent and makes the file at this path, and how that is asked. */
  makeFile(path: string): string;
  asked: { kind: string; tool: string };
  /** What a denied call gives for the reason `not today`. */
  denied: unknown;
  /** Prompts that fail a model call, and the error their turn ends with. */
  failures: readonly (readonly [prompt: string, error: object])[];
};

export function conversationSuite(name: string, cli: CliUnderTest): void {
  const { seat, planeTool, makeFile } = cli;
  const remembers = (text: string) => expect(JSON.stringify(cli.lastRequest())).toContain(text);

  describe(`a conversation with ${name}`, () => {
    // One process for all that it must survive: the slowest CLI takes six seconds to start.
    test("goes on in its process after interrupts, failed model calls and thoughts, and hides its token", async () => {
      const { open, pids, plane } = await seat();
      const conversation = await open();
      const files = ["cmdline", "environ"].map((file) => readFile(`/proc/${pids[0]}/${file}`, "utf8"));
      expect((await Promise.all(files)).join()).not.toContain(plane.address.token);

      const streaming = watchTurn(conversation, "HOLD");
      await streaming.seen("text_delta");
      streaming.abort();
      expect(endOf(await streaming.done)).toMatchObject({ reason: "cancelled", error: null });
      expect(textOf(await runTurn(conversation, "still there?"))).toBe("reply: still there?");

      const justSent = watchTurn(conversation, "HOLD");
      await new Promise((resolve) => setImmediate(resolve));
      justSent.abort();
      expect(endOf(await justSent.done).reason).toBe("cancelled");
      expect(textOf(await runTurn(conversation, "next"))).toBe("reply: next");

      for (const [prompt, error] of cli.failures) {
        expect(endOf(await runTurn(conversation, prompt)), prompt).toMatchObject({ reason: "failed", error });
        expect(textOf(await runTurn(conversation, "and now?")), prompt).toBe("reply: and now?");
      }

      const thinking = await runTurn(conversation, "THINK hard");
      expect(eventsOf(thinking, "thinking")).toMatchObject([{ text: expect.stringContaining("about hard") }]);
      expect(textOf(thinking)).toBe("thought");

      const calling = watchTurn(conversation, `TOOL ${planeTool("wait")} {"text":"for ever"}`);
      await plane.called("wait");
      calling.abort();
      expect(endOf(await calling.done).reason).toBe("cancelled");
      expect(conversation.alive).toBe(true);
      expect(pids).toHaveLength(1);
    });

    test("an interrupt withdraws an open question", async () => {
      const withdrawn = Promise.withResolvers<void>();
      const { open, host, dir } = await seat({
        permission: (_request, signal) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              withdrawn.resolve();
              resolve({ decision: "deny", reason: "withdrawn" });
            });
          }),
      });
      const conversation = await open();
      const turn = watchTurn(conversation, makeFile(join(dir, "made")));
      await host.arrived("asked", 1);
      turn.abort();
      expect(endOf(await turn.done).reason).toBe("cancelled");
      await withdrawn.promise;
      expect(endOf(await runTurn(conversation, "still there?")).reason).toBe("completed");
    });

    test("a file is made only when a person allows it", async () => {
      const answers = ["deny", "allow"];
      const { open, host, dir } = await seat({
        permission: () =>
          answers.shift() === "allow"
            ? { decision: "allow", scope: "once" }
            : { decision: "deny", reason: "not today" },
      });
      const path = join(dir, "made");
      const conversation = await open();
      const denied = await runTurn(conversation, makeFile(path));
      expect(host.asked).toMatchObject([cli.asked]);
      expect(eventsOf(denied, "tool_result")).toMatchObject([{ output: cli.denied, is_error: true }]);
      expect(existsSync(path)).toBe(false);
      const allowed = await runTurn(conversation, makeFile(path));
      expect(eventsOf(allowed, "tool_result")).toMatchObject([{ is_error: false }]);
      expect(existsSync(path)).toBe(true);
    });

    test("a plane that cannot be reached is said loudly, and the turn goes on", async () => {
      const { open, host } = await seat();
      const never = async () => false;
      const nowhere = {
        url: "http://127.0.0.1:9/mcp",
        token: "secret",
        reached: never,
        listed: never,
        calls: () => ({ open: 0, answeredAt: 0 }),
      };
      const events = await runTurn(await open({ plane: nowhere }), "hello");
      expect([...host.notices, ...eventsOf(events, "notice")]).toMatchObject([{ level: "error" }]);
      expect(textOf(events)).toBe("reply: hello");
    });

    test("killed in a turn only that turn fails; resumed twice it has its memory", async () => {
      const { open, close, pids, host } = await seat();
      const first = await open();
      await runTurn(first, "remember 42");
      const cut = watchTurn(first, "HOLD");
      await cut.seen("text_delta");
      process.kill(pids.at(-1) ?? 0, "SIGKILL");
      expect(endOf(await cut.done)).toMatchObject({ reason: "failed", error: { code: "died" } });
      expect(first.alive).toBe(false);
      for (const round of ["second", "third"]) {
        await close();
        expect(textOf(await runTurn(await open(), round))).toBe(`reply: ${round}`);
        remembers("remember 42");
      }
      remembers("second");
      expect(host.remembered).toHaveLength(1);
      expect(host.notices).toEqual([]);
    });
  });
}
