/** What every implementation of the engine port must do. */

import { newId } from "@aegis/contract/ids.ts";
import type { Run } from "@aegis/contract/run.ts";
import type { Definition, Engine, RunContext } from "@aegis/engine/engine.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FakeClock } from "../helpers/fake-clock.ts";
import { scaled } from "../helpers/slowness.ts";

export type EngineUnderTest = {
  engine: Engine;
  clock: FakeClock;
  /** Ends the executor as a power cut would, and gives its successor, not launched yet. */
  crash(): Promise<Engine>;
  /** Another executor of the same runs, beside the first. */
  another(): Promise<Engine>;
  /** Lets the first executor's leases run out without its noticing. */
  leaseMs: number;
  /** Lines that runs logged. */
  lines(): Promise<string[]>;
  dispose(): Promise<void>;
};

export type Body = (context: RunContext, args: Record<string, unknown>) => Promise<unknown>;

/** A definition from a body, whose code is its name and version. */
export function define(name: string, body: Body, version = "1"): Definition {
  return { name, code: version, body };
}

/** A step that does nothing but what the function does. */
export function act<T>(context: RunContext, label: string, work: () => T | Promise<T>): Promise<T> {
  return context.step({ method: "act", args: { label }, label }, { perform: async () => work() });
}

export function engineSuite(name: string, make: () => Promise<EngineUnderTest>): void {
  describe(`${name} as an engine`, () => {
    let under: EngineUnderTest;
    let engine: Engine;

    beforeEach(async () => {
      under = await make();
      engine = under.engine;
      await engine.launch();
    });
    afterEach(() => under.dispose());

    const run = async (body: Body, args: Record<string, unknown> = {}): Promise<Run> => {
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args });
      return engine.settled(id);
    };
    const until = async (condition: () => boolean) => {
      while (!condition()) await new Promise((resolve) => setImmediate(resolve));
    };

    it("runs a body to its end and gives its result", async () => {
      const ended = await run(
        async (context, args) => {
          const doubled = await act(context, "double", () => Number(args.n) * 2);
          context.log(`got ${doubled}`);
          return { doubled };
        },
        { n: 21 },
      );
      expect(ended).toMatchObject({ status: "ok", result: { doubled: 42 }, error: null });
      expect(await under.lines()).toEqual(["got 42"]);
      expect(await engine.steps(ended.id)).toMatchObject([{ label: "double", status: "ok", ended: 1 }]);
    });

    it("starts a repeated request once", async () => {
      let calls = 0;
      engine.define(define("work", async () => ++calls));
      const id = newId("run", 1);
      await Promise.all([1, 2, 3].map(() => engine.start({ id, workflow: "work", args: {} })));
      await engine.settled(id);
      expect(calls).toBe(1);
    });

    it("names the nearest workflow, and refuses a name twice", async () => {
      engine.define(define("review_branch", async () => null));
      await expect(engine.start({ workflow: "review_brunch", args: {} })).rejects.toThrow(
        'did you mean "review_branch"',
      );
      expect(() => engine.define(define("review_branch", async () => null))).toThrow("already registered");
    });

    it("tells a failure of the workflow from a fault in it", async () => {
      const crashed = await run(async () => {
        throw new RangeError("index 7");
      });
      expect(crashed).toMatchObject({
        status: "error",
        error: { kind: "crash", name: "RangeError", message: "index 7" },
      });
      expect((await under.lines()).join()).toContain("engine-suite.ts");
    });

    it("gives a body the same error now and after a restart", async () => {
      const seen: string[] = [];
      const gate = Promise.withResolvers<void>();
      const body: Body = async (context) => {
        const caught = await act(context, "fail", () => {
          throw new RangeError("too far");
        }).catch((error: Error) => `${error.name}: ${error.message} ${error instanceof RangeError}`);
        seen.push(caught);
        await context.step({ method: "hold", args: null, label: "hold" }, { perform: () => gate.promise });
        return caught;
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => seen.length === 1);
      const next = await under.crash();
      gate.resolve();
      next.define(define("work", body));
      await next.launch();
      expect((await next.settled(id)).result).toBe("RangeError: too far false");
      expect(new Set(seen).size).toBe(1);
    });

    it("takes up what a crash cut, without repeating what is recorded", async () => {
      const done: string[] = [];
      const gate = Promise.withResolvers<void>();
      const body: Body = async (context) => {
        context.log("begins");
        const a = await act(context, "a", () => done.push("a"));
        context.log("a is done");
        const b = await act(context, "b", async () => {
          done.push("b");
          if (done.filter((item) => item === "b").length === 1) await gate.promise;
          return 2;
        });
        return [a, b];
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => done.includes("b"));
      const next = await under.crash();
      next.define(define("work", body));
      expect((await next.launch()).map((taken) => taken.id)).toEqual([id]);
      const ended = await next.settled(id);
      expect(ended).toMatchObject({ status: "ok", result: [1, 2], resumes: 1 });
      expect(done).toEqual(["a", "b", "b"]);
      expect(await under.lines()).toEqual(["begins", "a is done"]);
    });

    it("counts equal steps, and gives each its own result", async () => {
      const numbers: number[] = [];
      const ended = await run(async (context) => {
        for (let i = 0; i < 3; i++) numbers.push(await act(context, "same", () => i));
        return numbers;
      });
      expect(ended.result).toEqual([0, 1, 2]);
    });

    it("refuses a checkpoint that is not JSON at the call, and one within a branch", async () => {
      const ended = await run(async (context) => {
        const errors: string[] = [];
        for (const payload of [{ at: new Date() }, { f: () => 1 }, [Number.NaN], 1n, new Map()]) {
          await context
            .checkpoint("bad", payload)
            .catch((error: Error) => errors.push(`${error.name}: ${error.message}`));
        }
        await context
          .parallel([() => context.checkpoint("inside", {})])
          .catch((error: Error) => errors.push(`${error.name}: ${error.message}`));
        return errors;
      });
      const errors = ended.result as string[];
      expect(errors).toHaveLength(6);
      expect(errors.every((error) => error.startsWith("TypeError"))).toBe(true);
      expect(errors[0]).toContain('the payload of checkpoint "bad".at is a Date');
      expect(ended.epoch).toBe(0);
    });

    it("goes back to the last checkpoint, for bodies that skip and for those that do not", async () => {
      for (const skips of [true, false]) {
        const gate = Promise.withResolvers<void>();
        const done: string[] = [];
        const body: Body = async (context) => {
          const state = skips ? ((await context.resumeState()) as { next: number } | null) : null;
          for (let i = state?.next ?? 0; i < 4; i++) {
            await act(context, "prepare", () => done.push(`prepare ${i}`));
            await act(context, "slice", async () => {
              done.push(`slice ${i}`);
              if (i === 2 && done.filter((item) => item === "slice 2").length === 1) await gate.promise;
            });
            await context.checkpoint(`slice ${i}`, { next: i + 1 });
          }
          return "all";
        };
        engine.define(define(`work_${skips}`, body));
        const { id } = await engine.start({ workflow: `work_${skips}`, args: {} });
        await until(() => done.includes("slice 2"));
        engine = await under.crash();
        engine.define(define(`work_${skips}`, body));
        await engine.launch();
        expect(await engine.settled(id)).toMatchObject({ status: "ok", epoch: 4, phase: "slice 3" });
        expect(done).toEqual([
          ...[
            "prepare 0",
            "slice 0",
            "prepare 1",
            "slice 1",
            "prepare 2",
            "slice 2",
            "slice 2",
            "prepare 3",
            "slice 3",
          ],
        ]);
      }
    });

    it("parks a run whose code no longer fits the record, and says both", async () => {
      const gate = Promise.withResolvers<void>();
      let reached = false;
      engine.define(
        define("work", async (context) => {
          await act(context, "old first", () => 1);
          await act(context, "old second", () => 2);
          await act(context, "hold", () => {
            reached = true;
            return gate.promise;
          });
        }),
      );
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => reached);
      const next = await under.crash();
      const done: string[] = [];
      next.define(
        define(
          "work",
          async (context) => {
            await act(context, "old first", () => done.push("first"));
            await act(context, "new second", () => done.push("second"));
            return "changed";
          },
          "2",
        ),
      );
      await next.launch();
      const parked = await next.settled(id);
      expect(parked).toMatchObject({
        status: "parked",
        parked: { reason: "diverged", recorded: '"old second"', asked: '"new second"' },
      });
      expect(done).toEqual([]);
      const fork = await next.settled((await next.fork(id)).id);
      expect(fork).toMatchObject({ status: "ok", forked_from: id });
      expect(done).toEqual(["first", "second"]);
      await next.resume(id, { force: true });
      expect(await next.settled(id)).toMatchObject({ status: "ok", result: "changed", code: "2" });
      expect(done).toEqual(["first", "second", "second"]);
    });

    it("parks a run whose changed code asks for something else than a step that has started", async () => {
      const never = new Promise<never>(() => {});
      const wait = (context: RunContext, label: string, work: () => Promise<unknown>) =>
        context.step(
          { method: "wait", args: { label }, label },
          { begin: async () => ({ value: label }), perform: work },
        );
      const definition = engine.define(define("work", async (context) => wait(context, "old", () => never)));
      const { id } = await engine.start({ workflow: "work", args: {} });
      const started = async () => (await engine.steps(id)).map(({ label, status }) => `${label} ${status}`);
      while ((await started()).length === 0) await new Promise((resolve) => setImmediate(resolve));
      definition();
      const next = await under.crash();
      const done: string[] = [];
      const undo = next.define(
        define("work", async (context) => wait(context, "new", async () => done.push("new")), "2"),
      );
      await next.launch();
      const parked = { reason: "diverged", recorded: '"old"', asked: '"new"' };
      expect(await next.settled(id)).toMatchObject({ status: "parked", code: "1", parked });
      // Without force it is compared again.
      await next.resume(id);
      expect(await next.settled(id)).toMatchObject({ status: "parked", code: "1", parked });
      undo();
      next.define(define("work", async () => "nothing", "3"));
      await next.resume(id);
      const ended = { reason: "diverged", recorded: '"old"', asked: null };
      expect(await next.settled(id)).toMatchObject({ status: "parked", parked: ended });
      expect(done).toEqual([]);
      await next.resume(id, { force: true });
      expect(await next.settled(id)).toMatchObject({ status: "ok", result: "nothing", code: "3" });
      expect(await next.steps(id)).toEqual([]);
    });

    it("forks a run from the last checkpoint that its changed code still fits", async () => {
      const hold = Promise.withResolvers<void>();
      let reached = false;
      const done: string[] = [];
      const body =
        (second: string, last: (context: RunContext) => Promise<unknown>): Body =>
        async (context) => {
          for (const [index, name] of ["first", second, "third"].entries()) {
            await act(context, name, () => done.push(name));
            await context.checkpoint(name, { passed: index });
          }
          await last(context);
        };
      const waits = (context: RunContext) =>
        act(context, "hold", () => {
          reached = true;
          return hold.promise;
        });
      engine.define(define("work", body("second", waits)));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => reached);
      const next = await under.crash();
      next.define(
        define(
          "work",
          body("other", async () => {}),
          "2",
        ),
      );
      await next.launch();
      expect(await next.settled(id)).toMatchObject({ status: "parked", parked: { checkpoints: 1 } });
      const fork = await next.fork(id);
      expect(await next.settled(fork.id)).toMatchObject({ status: "ok", epoch: 3 });
      expect(done).toEqual(["first", "second", "third", "other", "third"]);
      expect(await next.settled(id)).toMatchObject({ status: "parked" });
    });

    it("goes on with changed code when the record still fits", async () => {
      const gate = Promise.withResolvers<void>();
      let reached = false;
      const body =
        (last: string): Body =>
        async (context) => {
          await act(context, "first", () => 1);
          await act(context, last, () => {
            reached = true;
            return last === "hold" ? gate.promise : undefined;
          });
          return last;
        };
      engine.define(define("work", body("hold")));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => reached);
      const next = await under.crash();
      next.define(define("work", body("another"), "2"));
      await next.launch();
      expect(await next.settled(id)).toMatchObject({ status: "ok", result: "another", code: "2" });
    });

    it("gives races the same winner again", async () => {
      const slow = Promise.withResolvers<string>();
      let fast = "fast";
      const gate = Promise.withResolvers<void>();
      let reached = false;
      const body: Body = async (context) => {
        const a = act(context, "slow", () => slow.promise);
        const b = act(context, "fast", () => fast);
        const winner = await Promise.race([a, b]);
        slow.resolve("slow");
        await a;
        await act(context, `after ${winner}`, () => {
          reached = true;
          return gate.promise;
        });
        return winner;
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => reached);
      fast = "changed";
      const next = await under.crash();
      gate.resolve();
      next.define(define("work", body));
      await next.launch();
      expect((await next.settled(id)).result).toBe("fast");
    });

    it("joins branches in order, each with steps of its own, and cuts them when one fails", async () => {
      const cut: boolean[] = [];
      const ended = await run(async (context) => {
        const joined = await context.parallel(
          ["x", "y", "z"].map((letter) => async () => {
            const first = await act(context, "same", () => letter);
            const inner = await context.parallel([1, 2].map((n) => () => act(context, "same", () => `${first}${n}`)));
            return inner.join();
          }),
        );
        const failed = await context
          .parallel([
            () => act(context, "bad", () => Promise.reject(new Error("no"))),
            async () => {
              const { signal } = context;
              await context.step(
                { method: "wait", args: null, label: "wait" },
                {
                  perform: (step) =>
                    new Promise((resolve) => step.signal.addEventListener("abort", () => resolve(null))),
                },
              );
              cut.push(signal.aborted);
            },
          ])
          .catch((error: Error) => error.message);
        await act(context, "later", () => 1);
        return [joined, failed, context.signal.aborted];
      });
      expect(ended.result).toEqual([["x1,x2", "y1,y2", "z1,z2"], "no", false]);
      expect(cut).toEqual([]);
    });

    it("sleeps for days, over a restart", async () => {
      const day = 86_400_000;
      const woke: number[] = [];
      const body: Body = async (context) => {
        await context.sleep(30 * day);
        woke.push(under.clock.now());
        return "awake";
      };
      engine.define(define("work", body));
      const begun = under.clock.now();
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => true);
      while ((await engine.steps(id)).length === 0) await new Promise((resolve) => setImmediate(resolve));
      await under.clock.advance(10 * day);
      const next = await under.crash();
      next.define(define("work", body));
      await next.launch();
      await under.clock.sleepers(2);
      await under.clock.advance(19 * day);
      expect(woke).toEqual([]);
      await under.clock.advance(day);
      expect((await next.settled(id)).result).toBe("awake");
      expect(woke).toEqual([begun + 30 * day]);
    });

    it.each([
      { how: "while it sleeps", restarts: false },
      { how: "and the run continues elsewhere", restarts: true },
    ])("sleeps no longer than it was told when the clock is set back $how", async ({ restarts }) => {
      const body: Body = async (context) => {
        await context.sleep(1_000);
        return [await context.receive("never", { timeoutMs: 1_000 }), "awake"];
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      while ((await engine.steps(id)).length === 0) await new Promise((resolve) => setImmediate(resolve));
      under.clock.set(-3_600_000);
      const next = restarts ? await under.crash() : engine;
      if (restarts) {
        next.define(define("work", body));
        await next.launch();
      }
      // Other timers of the engine sleep too, so the body may not sleep yet when time passes.
      let passed = 0;
      const passTime = async (isDone: () => Promise<boolean>) => {
        for (; !(await isDone()); passed += 20) await under.clock.advance(20);
      };
      await passTime(async () => (await next.steps(id)).length === 2);
      under.clock.set(-3_600_000);
      await passTime(async () => (await next.get(id))?.status !== "running");
      expect(passed).toBeLessThan(3_600_000);
      expect((await next.get(id))?.result).toEqual([null, "awake"]);
    });

    it("keeps a signal that came early, gives each to one receiver, and gives up in time", async () => {
      const body: Body = async (context) => {
        const both = await Promise.all([context.receive("go"), context.receive("go")]);
        return [...both, await context.receive("never", { timeoutMs: 1_000 })];
      };
      engine.define(define("work", body));
      const id = newId("run", 1);
      await engine.start({ id, workflow: "work", args: {} });
      await engine.signal(id, "go", { n: 1 }, "k1");
      await engine.signal(id, "go", { n: 1 }, "k1");
      await engine.signal(id, "go", { n: 2 }, "k2");
      await until(() => true);
      while ((await engine.steps(id)).length < 3) await new Promise((resolve) => setImmediate(resolve));
      await under.clock.advance(1_000);
      expect((await engine.settled(id)).result).toEqual([{ n: 1 }, { n: 2 }, null]);
    });

    it("cancels without an exception that the body could swallow", async () => {
      const seen: string[] = [];
      engine.define(
        define("work", async (context) => {
          context.signal.addEventListener("abort", () => seen.push("aborted"));
          try {
            await context.sleep(1_000_000);
          } catch {
            seen.push("caught");
          } finally {
            seen.push("finally");
          }
          return "swallowed";
        }),
      );
      const { id } = await engine.start({ workflow: "work", args: {} });
      while ((await engine.steps(id)).length === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(await engine.cancel(id, "not needed")).toMatchObject({
        status: "cancelled",
        error: { message: "not needed" },
      });
      expect(await engine.cancel(id, "again")).toMatchObject({ error: { message: "not needed" } });
      await until(() => true);
      expect(seen).toEqual(["aborted"]);
    });

    it("sends a failed run back to its last checkpoint", async () => {
      let broken = true;
      const done: string[] = [];
      engine.define(
        define("work", async (context) => {
          const state = (await context.resumeState()) as { passed: boolean } | null;
          if (!state) {
            await act(context, "one", () => done.push("one"));
            await context.checkpoint("one", { passed: true });
          }
          await act(context, "two", () => {
            done.push("two");
            if (broken) throw new Error("not yet");
          });
          return "good";
        }),
      );
      const { id } = await engine.start({ workflow: "work", args: {} });
      expect(await engine.settled(id)).toMatchObject({ status: "error" });
      broken = false;
      await engine.resume(id);
      expect(await engine.settled(id)).toMatchObject({ status: "ok", result: "good", retries: 1 });
      expect(done).toEqual(["one", "two", "two"]);
      await expect(engine.resume(id)).rejects.toThrow("has finished");
    });

    it("never executes a run twice at once, and takes it over when its lease is over", async () => {
      let calls = 0;
      const gate = Promise.withResolvers<void>();
      const body: Body = async (context) => {
        await act(context, "count", () => ++calls);
        await context.step({ method: "hold", args: null, label: "hold" }, { perform: () => gate.promise });
        return calls;
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => calls === 1);
      const other = await under.another();
      other.define(define("work", body));
      expect(await other.launch()).toEqual([]);
      await expect(other.resume(id)).rejects.toThrow("executed by another process");
      await under.crash();
      expect(await other.launch()).toEqual([]);
      await under.clock.advance(under.leaseMs * 2);
      gate.resolve();
      expect(await other.settled(id)).toMatchObject({ status: "ok", result: 1, resumes: 1 });
    });

    it("takes a run up once, however many ask for it at once", async () => {
      let calls = 0;
      const gate = Promise.withResolvers<void>();
      const body: Body = async (context) => {
        calls += 1;
        await act(context, "hold", () => gate.promise);
        return "once";
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => calls === 1);
      const next = await under.crash();
      await next.launch();
      expect(await next.settled(id)).toMatchObject({ status: "parked", parked: { reason: "missing" } });
      // A plugin brings many workflows at once, and each may be the one that a run waits for.
      for (const name of ["work", "other 1", "other 2"]) next.define(define(name, body));
      await Promise.all([next.resume(id), next.resume(id)]);
      await until(() => calls === 2);
      gate.resolve();
      expect(await next.settled(id)).toMatchObject({ status: "ok", result: "once", resumes: 1 });
      expect(calls).toBe(2);
    });

    it("takes a run up by force while it is still being compared with its record", async () => {
      let reached = false;
      engine.define(
        define("work", async (context) => {
          await act(context, "old", () => 1);
          await act(context, "hold", () => {
            reached = true;
            return new Promise(() => {});
          });
        }),
      );
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => reached);
      const next = await under.crash();
      next.define({ ...define("work", (context) => act(context, "new", () => "forced"), "2"), graceMs: 60_000 });
      await next.launch();
      await next.resume(id, { force: true });
      expect(await next.settled(id)).toMatchObject({ status: "ok", result: "forced" });
    });

    it("resumes a released run once while others look for runs without an owner", async () => {
      const gate = Promise.withResolvers<string>();
      let calls = 0;
      let begun = 0;
      engine.define(
        define("work", async (context) => {
          calls += 1;
          const isFirst = calls === 1;
          return act(context, "slow", () => {
            begun += 1;
            return isFirst ? gate.promise : "anew";
          });
        }),
      );
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => begun === 1);
      // What is in progress keeps the run for a while. A new workflow, a person and a second request ask for it meanwhile.
      const restarted = engine.restart(id, "its body moved");
      engine.define(define("other", async () => null));
      const resumed = engine.resume(id);
      const again = engine.restart(id, "its body moved");
      await resumed;
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(calls).toBe(1);
      gate.resolve("too late");
      await Promise.all([restarted, again]);
      expect(await engine.settled(id)).toMatchObject({ status: "ok", result: "anew", resumes: 1 });
    });

    it("lets a run wait for a workflow that is not there", async () => {
      const gate = Promise.withResolvers<void>();
      let reached = false;
      const body: Body = async (context) => {
        reached = true;
        await act(context, "hold", () => gate.promise);
        return "found";
      };
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await until(() => reached);
      const next = await under.crash();
      await next.launch();
      expect(await next.settled(id)).toMatchObject({ status: "parked", parked: { reason: "missing" } });
      gate.resolve();
      next.define(define("work", body));
      await until(() => true);
      while ((await next.get(id))?.status !== "ok") await new Promise((resolve) => setImmediate(resolve));
    });

    it("carries ten thousand steps and a result of five megabytes", {
      tags: "slow",
      timeout: scaled(120_000),
    }, async () => {
      const large = "x".repeat(5 * 1024 * 1024);
      const body: Body = async (context) => {
        const sums = await context.parallel(
          Array.from({ length: 20 }, () => async () => {
            let sum = 0;
            for (let i = 0; i < 500; i++) sum += await act(context, "add", () => 1);
            return sum;
          }),
        );
        const sum = sums.reduce((total, one) => total + one, 0);
        const got = await act(context, "large", () => large);
        await act(context, "hold", () => {
          reached.resolve();
          return gate.promise;
        });
        return { sum, length: got.length };
      };
      const gate = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      engine.define(define("work", body));
      const { id } = await engine.start({ workflow: "work", args: {} });
      await reached.promise;
      const next = await under.crash();
      gate.resolve();
      next.define(define("work", body));
      await next.launch();
      expect(await next.settled(id)).toMatchObject({ result: { sum: 10_000, length: large.length } });
      const tooLarge = await run2(next, async (context) => act(context, "huge", () => "x".repeat(40 * 1024 * 1024)));
      expect(tooLarge.error?.message).toContain("characters long");
      engine = next;
    });

    async function run2(on: Engine, body: Body): Promise<Run> {
      on.define(define("other", body));
      return on.settled((await on.start({ workflow: "other", args: {} })).id);
    }
  });
}
