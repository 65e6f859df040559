/** What every driver promises, driven through its own fixture agent (see `driver-behaviours.ts`). */

import { DriverError, type Prompt } from "@aegis/drivers/driver.ts";
import { printOf } from "@aegis/lib/text-digest.ts";
import { describe, expect, test } from "vitest";
import type { DriverHostOptions } from "../helpers/driver-host.ts";
import { isRunning } from "../helpers/pids.ts";
import { scaled } from "../helpers/slowness.ts";
import { additionOf, endOf, eventsOf, promptOf, runTurn, textOf, watchEvents, watchTurn } from "../helpers/turns.ts";
import { type Behaviour, behaviours, type DriverUnderTest, hugeTextLength, promptFor } from "./driver-behaviours.ts";
import { createBench } from "./driver-bench.ts";

/** Far below any harness's own deadline, far above a loaded machine's pauses. */
const promptlyMs = 8000;

export function driverSuite(name: string, underTest: DriverUnderTest): void {
  const can = (behaviour: Behaviour) => underTest.absent[behaviour] === undefined;
  const bench = (behaviour: Behaviour, options?: DriverHostOptions) => createBench(underTest, behaviour, options);

  /** Registers a case unless the fixture cannot show one of the behaviours. */
  const shows = (
    needs: readonly Behaviour[],
    title: string,
    run: () => Promise<void>,
    options: { tags?: "slow" } = {},
  ) => {
    if (needs.every(can)) test(title, options, run);
  };

  describe(`driver ${name}`, () => {
    for (const [behaviour, reason] of Object.entries(underTest.absent)) {
      test(`cannot show "${behaviour}": ${reason}`, async () => {
        expect(Object.keys(behaviours)).toContain(behaviour);
        expect(reason.length).toBeGreaterThan(10);
        const { driver } = await bench("reply");
        if (behaviour === "asks") expect(driver.capabilities.permissions).toBe(false);
        if (behaviour === "steered") expect(driver.capabilities.steer).toBe(false);
        if (behaviour === "picture") expect(driver.capabilities.images).toBe(false);
      });
    }

    shows(["reply"], "a turn ends once, last, with what was said", async () => {
      const { conversation } = await (await bench("reply")).open();
      const events = await runTurn(conversation, promptFor("reply"));
      expect(textOf(events)).toContain("pong");
      expect(endOf(events).reason).toBe("completed");
      expect(conversation.alive).toBe(true);
    });

    shows(["reply"], "a turn follows another on the same conversation", async () => {
      const { conversation } = await (await bench("reply")).open();
      await runTurn(conversation, promptFor("reply"));
      const events = await runTurn(conversation, promptFor("reply"));
      expect(textOf(events)).toContain("pong");
      expect(endOf(events).reason).toBe("completed");
    });

    shows(["stream"], "a turn streams deltas that add up to the text", async () => {
      const { conversation } = await (await bench("stream")).open();
      const events = await runTurn(conversation, promptFor("stream"));
      expect(eventsOf(events, "text_delta").length).toBeGreaterThanOrEqual(3);
      expect(
        eventsOf(events, "text_delta")
          .map((event) => event.text)
          .join(""),
      ).toBe("one two three");
      expect(textOf(events)).toBe("one two three");
    });

    shows(["think"], "a turn shows thinking apart from text", async () => {
      const { conversation } = await (await bench("think")).open();
      const events = await runTurn(conversation, promptFor("think"));
      const thoughts = eventsOf(events, "thinking");
      expect(thoughts.map((event) => event.text.length > 0)).toContain(true);
      expect(textOf(events)).toBe("pong");
    });

    shows(["tool"], "a turn shows a tool's call and its result", async () => {
      const { conversation } = await (await bench("tool")).open();
      const events = await runTurn(conversation, promptFor("tool"));
      const [call] = eventsOf(events, "tool_call");
      const [result] = eventsOf(events, "tool_result");
      expect(call?.name).toBeTruthy();
      expect(call?.title).toBeTruthy();
      expect(result).toMatchObject({ call: call?.call, is_error: false });
      expect(textOf(events)).toContain("pong");
    });

    shows(["fail", "reply"], "a turn that fails says why, and the conversation goes on", async () => {
      const { conversation } = await (await bench("fail")).open();
      const end = endOf(await runTurn(conversation, promptFor("fail")));
      expect(end).toMatchObject({ reason: "failed", error: { message: expect.stringContaining("boom") } });
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
    });

    shows(["refuse", "reply"], "a turn may be refused, and the conversation goes on", async () => {
      const { conversation } = await (await bench("refuse")).open();
      expect(endOf(await runTurn(conversation, promptFor("refuse"))).reason).toBe("refused");
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
    });

    shows(["slow", "reply"], "cancelling ends a turn promptly, and the session goes on", async () => {
      const seat = await bench("slow");
      const opened = await seat.open();
      const turn = watchTurn(opened.conversation, promptFor("slow"));
      await turn.seen("text_delta");
      const began = performance.now();
      turn.abort();
      expect(endOf(await turn.done).reason).toBe("cancelled");
      expect(performance.now() - began).toBeLessThan(scaled(promptlyMs));
      const { conversation } = opened.conversation.alive ? opened : await seat.reopen();
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
    });

    shows(["hang"], "cancelling ends a turn in which the agent is silent", async () => {
      const { conversation } = await (await bench("hang")).open();
      const turn = watchTurn(conversation, promptFor("hang"));
      turn.abort();
      expect(endOf(await turn.done).reason).toBe("cancelled");
    });

    shows(["reply"], "cancelling before the turn starts sends nothing", async () => {
      const { conversation } = await (await bench("reply")).open();
      const events = await Array.fromAsync(
        conversation.send(
          { text: promptFor("reply"), parts: [], images: [], history: [], turn: "trn-0", key: "key-0" },
          AbortSignal.abort(),
        ),
      );
      expect(events).toMatchObject([{ type: "turn.ended", reason: "cancelled" }]);
    });

    shows(["hang"], "cancelling by closing the conversation ends the turn and every process", async () => {
      const { conversation, scope } = await (await bench("hang")).open();
      const turn = watchTurn(conversation, promptFor("hang"));
      await scope.disposeAsync();
      expect(["cancelled", "failed"]).toContain(endOf(await turn.done).reason);
      expect(conversation.alive).toBe(false);
    });

    shows(
      ["die", "reply"],
      "the harness's process that dies fails the turn with its last words; the next one runs in a new process",
      async () => {
        const seat = await bench("die");
        const { conversation } = await seat.open();
        const end = endOf(await runTurn(conversation, promptFor("die")));
        expect(end).toMatchObject({ reason: "failed", error: { code: "died" } });
        if (seat.host.spawns.length > 0) expect(end.error?.stderr).toContain("dying words");
        expect(conversation.alive).toBe(false);
        const reopened = await seat.reopen();
        expect(textOf(await runTurn(reopened.conversation, promptFor("reply")))).toContain("pong");
      },
    );

    shows(
      ["ignoresTerm"],
      "the harness's process ends with its scope, also a grandchild that ignores SIGTERM",
      async () => {
        const { conversation, scope } = await (await bench("ignoresTerm")).open();
        const events = await runTurn(conversation, promptFor("ignoresTerm"));
        const pids = textOf(events).match(/\d+/g)?.map(Number) ?? [];
        expect(pids.map(isRunning)).toEqual([true, true]);
        await scope.disposeAsync();
        expect(pids.map(isRunning)).toEqual([false, false]);
        expect(conversation.alive).toBe(false);
      },
      { tags: "slow" },
    );

    shows(
      ["reply"],
      "the harness's process is started as the host prepared it, without a secret in its arguments",
      async () => {
        const seat = await bench("reply");
        const { conversation } = await seat.open();
        await runTurn(conversation, promptFor("reply"));
        for (const { argv } of seat.host.spawns) expect(argv.join(" ")).not.toContain(seat.planeToken);
      },
    );

    shows(["reply"], "the harness's process is not started when the host blocks it", async () => {
      const blocked = new DriverError({ code: "blocked", message: "a plugin says no" });
      const seat = await bench("reply", {
        prepareSpawn: () => {
          throw blocked;
        },
      });
      const outcome = await seat.open().then(
        async ({ conversation }) => endOf(await runTurn(conversation, promptFor("reply"))).error,
        (error: unknown) => (error instanceof DriverError ? error.turnError : error),
      );
      // A driver without processes has nothing to block.
      if (outcome !== null) expect(outcome).toMatchObject({ code: "blocked", message: "a plugin says no" });
      else expect(seat.host.spawns).toEqual([]);
    });

    shows(["garbage"], "output that is no protocol does not end the turn", async () => {
      const { conversation } = await (await bench("garbage")).open();
      const events = await runTurn(conversation, promptFor("garbage"));
      expect(textOf(events)).toContain("pong");
      expect(endOf(events).reason).toBe("completed");
    });

    shows(
      ["hugeLine"],
      "output of nearly 16 MB in one line arrives whole",
      async () => {
        const { conversation } = await (await bench("hugeLine")).open();
        const text = textOf(await runTurn(conversation, promptFor("hugeLine")));
        expect(text.length).toBe(hugeTextLength);
        expect(text === "x".repeat(hugeTextLength)).toBe(true);
      },
      { tags: "slow" },
    );

    shows(["unknownEvent"], "unknown output is kept verbatim", async () => {
      const { driver, open } = await bench("unknownEvent");
      const { conversation } = await open();
      const events = await runTurn(conversation, promptFor("unknownEvent"));
      expect(eventsOf(events, "raw").map((event) => event.harness)).toContain(driver.harness);
      expect(textOf(events)).toContain("pong");
    });

    shows(["notice", "reply"], "output between turns reaches the host and starts no turn", async () => {
      const { host, open } = await bench("notice");
      const { conversation } = await open();
      await runTurn(conversation, promptFor("notice"));
      await host.arrived("notices", 1);
      expect(host.spontaneous).toEqual([]);
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
    });

    shows(["spontaneous", "reply"], "output of a turn the harness starts itself is a turn of its own", async () => {
      const { host, open } = await bench("spontaneous");
      const { conversation } = await open();
      const events = await runTurn(conversation, promptFor("spontaneous"));
      expect(textOf(events)).toContain("pong");
      expect(textOf(events)).not.toContain("by myself");
      await host.arrived("spontaneous", 1);
      const [own] = host.spontaneous;
      if (own === undefined) throw new Error("no spontaneous turn");
      expect(textOf(await watchEvents(own).done)).toContain("by myself");
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
    });

    shows(["asks"], "permission is asked, and granted", async () => {
      const seat = await bench("asks", { permission: () => ({ decision: "allow", scope: "once" }) });
      const { conversation } = await seat.open();
      expect(textOf(await runTurn(conversation, promptFor("asks")))).toContain("allowed");
      expect(seat.host.asked).toHaveLength(1);
      expect(seat.host.asked[0]?.tool).toBeTruthy();
      expect(seat.host.asked[0]?.title).toBeTruthy();
    });

    shows(["asks"], "permission is asked, and denied", async () => {
      const seat = await bench("asks", { permission: () => ({ decision: "deny", reason: "not today" }) });
      const { conversation } = await seat.open();
      expect(textOf(await runTurn(conversation, promptFor("asks")))).toContain("denied");
    });

    shows(["asks"], "permission that is still open is withdrawn when the turn is cancelled", async () => {
      const withdrawn = Promise.withResolvers<void>();
      const seat = await bench("asks", {
        permission: (_request, signal) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              withdrawn.resolve();
              resolve({ decision: "deny", reason: "withdrawn" });
            });
          }),
      });
      const { conversation } = await seat.open();
      const turn = watchTurn(conversation, promptFor("asks"));
      await seat.host.arrived("asked", 1);
      turn.abort();
      expect(endOf(await turn.done).reason).toBe("cancelled");
      await withdrawn.promise;
    });

    test("its claims are those the probe and the port allow", async () => {
      const { driver } = await bench("reply");
      const probe = await driver.probe(AbortSignal.timeout(promptlyMs));
      expect(["ready", "missing", "broken"]).toContain(probe.status);
      expect(probe.detail).toBeTruthy();
      if (probe.status !== "ready") expect(probe.fix).toBeTruthy();
      if (driver.capabilities.permissions) expect(can("asks")).toBe(true);
    });

    shows(["reply"], "its claims resume: a reopened conversation takes the next turn", async () => {
      const seat = await bench("reply");
      const first = await seat.open();
      await runTurn(first.conversation, promptFor("reply"));
      await first.scope.disposeAsync();
      const { conversation } = await seat.reopen();
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
      if (!seat.driver.capabilities.resume) expect(seat.host.resume).toBeNull();
    });

    shows(["recall"], "its claims resume: a reopened conversation has its memory", async () => {
      const seat = await bench("recall");
      expect(seat.driver.capabilities.resume).not.toBe(false);
      const first = await seat.open();
      expect(textOf(await seat.run(first.conversation, promptFor("recall")))).toContain("prompts: 1");
      await first.scope.disposeAsync();
      const { conversation } = await seat.reopen();
      expect(textOf(await seat.run(conversation, promptFor("recall")))).toContain("prompts: 2");
    });

    shows(["reply"], "a reopened conversation says what it has: each prompt it was sent, and no other", async () => {
      const seat = await bench("reply");
      const first = await seat.open();
      const asked = ({ key, text }: Prompt, ...earlier: Prompt[]) => ({
        prompts: [{ key, print: printOf(text) }],
        earlier: earlier.map((prompt) => printOf(prompt.text)),
      });
      const [one, two, never] = [promptOf("do:reply one"), promptOf("do:reply two"), promptOf("do:reply never")];
      for (const prompt of [one, two]) await seat.run(first.conversation, prompt);
      await first.scope.disposeAsync();
      const { restored } = (await seat.reopen()).conversation;
      expect(restored.conversation).toBe(true);
      // What keeps no memory has no prompt either.
      const has = can("recall") ? "yes" : "no";
      expect(await restored.holds(asked(two, one))).toBe(has);
      expect(await restored.holds(asked(one, two))).toBe(has);
      expect(await restored.holds(asked(never, one, two))).toBe("no");
    });

    shows(["reply"], "a conversation that its harness does not know any more says that it begins anew", async () => {
      const seat = await bench("reply");
      const first = await seat.open();
      await seat.run(first.conversation, promptFor("reply"));
      await first.scope.disposeAsync();
      // What a driver inside the daemon remembers is not the harness's.
      if (seat.host.resume === null) return;
      const { restored } = (await seat.reopen(crypto.randomUUID())).conversation;
      expect(restored.conversation).toBe(false);
    });

    shows(["slow"], "its claims steer: only a running turn takes an addition, if the driver offers it", async () => {
      const { driver, open } = await bench("slow");
      const { conversation } = await open();
      if (!driver.capabilities.steer) {
        expect(conversation.steer).toBeUndefined();
        return;
      }
      expect(await conversation.steer?.(additionOf("too early"))).toBe(false);
      const turn = watchTurn(conversation, promptFor("slow"));
      await turn.seen("text_delta");
      turn.abort();
      await turn.done;
      expect(await conversation.steer?.(additionOf("too late"))).toBe(false);
    });

    shows(["steered", "reply"], "its claims steer: text joins a running turn", async () => {
      const { driver, open } = await bench("steered");
      expect(driver.capabilities.steer).toBe(true);
      const { conversation } = await open();
      const turn = watchTurn(conversation, promptFor("steered"));
      await turn.seen("text_delta");
      expect(await conversation.steer?.(additionOf("and the cat"))).toBe(true);
      expect(textOf(await turn.done)).toContain("also: and the cat");
      expect(textOf(await runTurn(conversation, promptFor("reply")))).toContain("pong");
    });

    shows(["slow", "steered"], "its claims steer: what a turn did not take is given back when it ends", async () => {
      const { open } = await bench("slow");
      const { conversation } = await open();
      const turn = watchTurn(conversation, promptFor("slow"));
      await turn.seen("text_delta");
      const joining = conversation.steer?.(additionOf("and also this"));
      turn.abort();
      await turn.done;
      expect(await joining).toBe(false);
    });

    shows(
      ["recall"],
      "its claims fork: a fork has the other's memory, and neither has what the other hears",
      async () => {
        const seat = await bench("recall");
        if (!seat.driver.capabilities.fork) return;
        const first = await seat.open();
        await seat.run(first.conversation, promptFor("recall"));
        const origin = seat.host.resume;
        const fork = await seat.fork();
        expect(textOf(await runTurn(fork.conversation, promptFor("recall")))).toContain("prompts: 2");
        expect(textOf(await runTurn(fork.conversation, promptFor("recall")))).toContain("prompts: 3");
        if (origin !== null) expect(seat.host.resume).not.toBe(origin);
        expect(textOf(await seat.run(first.conversation, promptFor("recall")))).toContain("prompts: 2");
        if (origin === null) return;
        for (const opened of [first, fork]) await opened.scope.disposeAsync();
        const forkAgain = await seat.reopen();
        expect(textOf(await runTurn(forkAgain.conversation, promptFor("recall")))).toContain("prompts: 4");
        const firstAgain = await seat.reopen(origin);
        expect(textOf(await runTurn(firstAgain.conversation, promptFor("recall")))).toContain("prompts: 3");
      },
    );

    shows(["picture"], "its claims images: the agent sees what comes with the text", async () => {
      const seat = await bench("picture");
      expect(seat.driver.capabilities.images).toBe(true);
      const { conversation } = await seat.open();
      const images = [{ path: seat.image, media_type: "image/png" as const }];
      const events = await runTurn(conversation, { ...promptOf(promptFor("picture")), images });
      expect(textOf(events)).toContain("images: 1");
      expect(textOf(await runTurn(conversation, promptFor("picture")))).toContain("images: 0");
    });

    shows(["echo"], "history that plugins add goes ahead of the prompt", async () => {
      const { conversation } = await (await bench("echo")).open();
      const history = [
        { role: "user" as const, text: "my cat is Tom" },
        { role: "assistant" as const, text: "noted" },
      ];
      const said = textOf(await runTurn(conversation, { ...promptOf(promptFor("echo")), history }));
      expect(said).toMatch(/my cat is Tom[\s\S]*noted[\s\S]*do:echo/);
    });

    shows(["asks"], "a plugin denies a call before anybody is asked", async () => {
      const seat = await bench("asks", { beforeTool: () => ({ decision: "deny", reason: "never" }) });
      const { conversation } = await seat.open();
      expect(textOf(await runTurn(conversation, promptFor("asks")))).toContain("denied");
      expect(seat.host.asked).toEqual([]);
    });

    shows(["asks"], "a plugin that has no objection leaves the question to a person", async () => {
      const judged: string[] = [];
      const seat = await bench("asks", {
        beforeTool: (use) => {
          judged.push(use.tool);
          return { decision: "allow" };
        },
        permission: () => ({ decision: "allow", scope: "once" }),
      });
      const { conversation } = await seat.open();
      expect(textOf(await runTurn(conversation, promptFor("asks")))).toContain("allowed");
      expect(judged).toHaveLength(1);
      expect(seat.host.asked).toHaveLength(1);
    });

    shows(["tool"], "plugins see what a tool gave, once", async () => {
      const seen: { tool: string; output: string }[] = [];
      const seat = await bench("tool", {
        afterTool: ({ tool }, { output }) => {
          seen.push({ tool, output });
          return null;
        },
      });
      const { conversation } = await seat.open();
      const [result] = eventsOf(await runTurn(conversation, promptFor("tool")), "tool_result");
      expect(seen).toHaveLength(1);
      expect(result?.output).toContain(seen[0]?.output.trim().slice(0, 2));
    });
  });
}
