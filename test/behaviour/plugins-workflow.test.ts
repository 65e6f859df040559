/** Workflows whose body runs in a plugin's worker: the author notices nothing when the worker is replaced. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { connect } from "@aegis/client/project/connect.ts";
import { waitForRun } from "@aegis/client/wait-work.ts";
import type { RunView } from "@aegis/contract/run.ts";
import { expect, it } from "vitest";
import { sharedDaemon, testProject } from "../helpers/project.ts";
import { pluginNamed, toolUser, untilPlugin } from "../helpers/projects/tool-user.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const flows = `
import { appendFileSync, existsSync } from "node:fs";
import { PredicateFailed, WorkflowError, workflow, z } from "aegis";

const note = (engine, text) => appendFileSync(engine.projectRoot + "/notes", text + "\\n");
const until = async (engine, file) => { while (!existsSync(engine.projectRoot + "/" + file)) await new Promise((r) => setTimeout(r, 20)); };

export const everything = workflow("everything", { description: "uses it all", input: z.object({ name: z.string().min(3).transform((t) => t.toUpperCase()), times: z.number().default(2) }), config: { suffix: "!" } },
  async (engine, { name, times }) => {
    engine.log({ name, times });
    const shell = await engine.bash("echo from the shell; exit 3");
    const steps = await engine.parallel([
      () => engine.step("a", () => ({ branch: "a" })),
      async () => { await engine.step("b1", async () => "b1"); return engine.step("b2", () => "b2"); },
      Promise.resolve("given"),
    ]);
    await engine.checkpoint("half", { at: 1 });
    const handle = await engine.spawn("dev");
    const reply = await engine.send(handle, "hello " + name);
    let refused = "";
    try { await engine.checkpoint("bad", () => 1); } catch (error) { refused = error.name + ": " + error.message.slice(0, 40); }
    const classes = [];
    for (const payload of [new Date(0), new Map(), { n: Number.NaN }, new (class Point {})()])
      try { await engine.checkpoint("bad", payload); } catch (error) { classes.push(error instanceof TypeError); }
    try { await engine.broadcast("nobody", { objective: "x", output_fromat: "y" }); } catch (error) { classes.push(error instanceof TypeError && error.message); }
    let predicate = "";
    try { await engine.bashPredicate("exit 1", { maxRetries: 1, retryWith: (result) => "exit was " + result.exit }); }
    catch (error) { predicate = String(error instanceof PredicateFailed && error instanceof WorkflowError) + " " + error.details.attempts; }
    return { classes, name, times, exit: shell.exit, out: shell.stdout.trim(), steps, reply, refused, predicate, suffix: engine.config.suffix, root: typeof engine.projectRoot };
  });
export const coerced = workflow("coerced", { description: "takes texts", input: z.object({ n: z.coerce.number().int(), s: z.coerce.string().optional() }) }, async (_engine, args) => args);
export const expected = workflow("expected_failure", async (_engine) => { throw new WorkflowError("as planned", { details: { n: 1 } }); });
export const crash = workflow("crash", async (_engine) => { null.boom; });
export const first_fails = workflow("first_fails", async (engine) => engine.parallel([
  async () => { await engine.step("ok", () => 1); await engine.sleep(60); },
  async () => { throw new TypeError("branch two"); },
]));
export const dies_once = workflow("dies_once", async (engine) => {
  const n = await engine.step("count", () => { note(engine, "counted"); return 1; });
  if (!existsSync(engine.projectRoot + "/died")) { appendFileSync(engine.projectRoot + "/died", ""); process.exit(1); }
  await engine.step("after", () => { note(engine, "after"); });
  return n;
});
export const endless = workflow("endless", async (engine) => { await engine.step("one", () => 1); for (;;) {} });
export const waits = workflow("waits", async (engine) => {
  await engine.step("before", () => { note(engine, "before"); });
  const aborted = new Promise((resolve) => engine.signal.addEventListener("abort", () => { note(engine, "aborted"); resolve(null); }));
  await Promise.race([aborted, engine.step("long", () => until(engine, "go"))]);
  return "VERSION";
});
`;

const plugin = ".aegis/plugins/flows.js";
const config = `${toolUser[".aegis.yaml"]}plugins:\n  limits: { unresponsive_timeout: 2 }\n`;
const shared = sharedDaemon({ ...toolUser, ".aegis.yaml": config, [plugin]: flows });

async function run(client: Client, workflow: string, args: Record<string, unknown> = {}): Promise<RunView> {
  const { run: begun } = await client.call("startRun", { path: { workflow }, body: { args } });
  return waitForRun(client, begun.id);
}

it("converts arguments for z.coerce", async () => {
  const { client } = shared.daemon;
  expect(await run(client, "coerced", { n: "41", s: 7 })).toMatchObject({ status: "ok", result: { n: 41, s: "7" } });
  expect(await run(client, "coerced", { n: 41 })).toMatchObject({ status: "ok", result: { n: 41 } });
  await expect(run(client, "coerced", { n: [] })).rejects.toThrow(/wrong arguments for coerced: n/);
});

it("every part of the engine works as if the body was beside it", async () => {
  const { client } = shared.daemon;
  const view = await run(client, "everything", { name: "someone" });
  expect(view.error).toBeNull();
  expect(view.result).toEqual({
    name: "SOMEONE",
    times: 2,
    exit: 3,
    out: "from the shell",
    classes: [true, true, true, true, 'broadcast: unknown key "output_fromat" (did you mean "output_format"?)'],
    steps: [{ branch: "a" }, "b2", "given"],
    reply: "you said: hello SOMEONE",
    refused: expect.stringMatching(/^TypeError: /),
    predicate: "true 2",
    suffix: "!",
    root: "string",
  });
  const { steps } = await client.call("listSteps", { path: { run: view.id }, query: { limit: 50 } });
  expect(steps.filter((step) => step.method === "step").map((step) => [step.scope, step.label])).toEqual([
    ["0.0.0", "a"],
    ["0.0.1", "b1"],
    ["0.0.1", "b2"],
  ]);
  await expect(run(client, "everything", { name: "x" })).rejects.toThrow(/name/);
  await expect(run(client, "everything", { name: "someone", tmes: 1 })).rejects.toThrow(/unknown argument "tmes"/);
});

it("failures keep their kind, name and stack", async () => {
  const { client } = shared.daemon;
  expect((await run(client, "expected_failure")).error).toEqual({
    kind: "expected",
    name: "WorkflowError",
    message: "as planned",
  });
  const crashed = await run(client, "crash");
  expect(crashed.error).toMatchObject({ kind: "crash", name: "TypeError" });
  const { events } = await client.call("runEvents", { path: { run: crashed.id }, query: { limit: 100 } });
  expect(events.some((event) => event.type === "run.log" && event.data.text.includes("flows.js:"))).toBe(true);
  expect((await run(client, "first_fails")).error).toMatchObject({ name: "TypeError", message: "branch two" });
});

it("a run whose worker dies is resumed by the next one, and performs nothing twice", async () => {
  const { client } = shared.daemon;
  const view = await run(client, "dies_once");
  expect(view).toMatchObject({ status: "ok", result: 1, resumes: 1 });
  const notes = await readFile(join(shared.project.dir, "notes"), "utf8");
  expect(notes.split("\n").filter((line) => line !== "")).toEqual(["counted", "after"]);
});

it("a body in an endless loop fails, and the others go on", { tags: "slow" }, async () => {
  const { client } = shared.daemon;
  const view = await run(client, "endless");
  expect(view.status).toBe("error");
  expect(view.error?.message).toMatch(/took its plugin's worker down: it did not answer for \d+ s/);
  expect((await run(client, "expected_failure")).error?.message).toBe("as planned");
});

it("a reloaded plugin takes its runs over, and a cancelled run tells its body", { tags: "slow" }, async () => {
  const project = await testProject({ ...toolUser, ".aegis.yaml": config, [plugin]: flows });
  const { client } = await project.start();
  const notes = () => readFile(join(project.dir, "notes"), "utf8").catch(() => "");
  const start = async () => (await client.call("startRun", { path: { workflow: "waits" }, body: {} })).run;
  const first = await start();
  await waitUntil("the body waits", async () => (await notes()).includes("before"));
  await project.write(plugin, flows.replace("VERSION", "second"));
  await untilPlugin(client, "flows", (view) => view.generation === 2);
  await waitUntil(
    "the run is taken over",
    async () => (await client.call("getRun", { path: { run: first.id } })).run.resumes === 1,
  );
  await project.write("go", "");
  expect(await waitForRun(client, first.id)).toMatchObject({ status: "ok", result: "second" });
  expect((await notes()).match(/before/g)).toHaveLength(1);

  await project.write("go-not", "");
  const { rm } = await import("node:fs/promises");
  await rm(join(project.dir, "go"));
  const second = await start();
  await waitUntil("the body waits", async () => (await notes()).match(/before/g)?.length === 2);
  await client.call("cancelRun", { path: { run: second.id }, body: { reason: "enough" } });
  await waitUntil("the body knows", async () => (await notes()).split("aborted").length >= 2);
  expect((await pluginNamed(client, "flows")).status).toBe("loaded");
});

it("a program that waits for a run is told of its end, over kill -9", { tags: "slow" }, async () => {
  const project = await testProject({ ...toolUser, ".aegis.yaml": config, [plugin]: flows });
  await expect(connect(project.dir)).rejects.toMatchObject({ code: "unavailable" });
  const daemon = await project.start();
  const following = Promise.withResolvers<void>();
  const client = await connect(project.dir, { env: { HOME: join(project.dir, "..", "home") } });
  const watched: Client = {
    ...client,
    async open(...call) {
      const response = await client.open(...call);
      following.resolve();
      return response;
    },
  };
  const { run: begun } = await client.call("startRun", { path: { workflow: "waits" }, body: {} });
  const dropped = Promise.withResolvers<void>();
  const waiting = waitForRun(watched, begun.id, { onReconnect: () => dropped.resolve() });
  await following.promise;
  await waitUntil("the body waits", async () => {
    const notes = await readFile(join(project.dir, "notes"), "utf8").catch(() => "");
    return notes.includes("before");
  });
  await daemon.kill();
  await dropped.promise;
  await project.write("go", "");
  await project.start();
  expect(await waiting).toMatchObject({ status: "ok", resumes: 1 });
});
