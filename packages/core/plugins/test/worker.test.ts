import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAegisError } from "@aegis/contract/errors.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { agreed } from "@aegis/test/helpers/consent.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { apiEntries } from "../src/host/entries.ts";
import { PluginGone } from "../src/host/errors.ts";
import { defaultWorkerLimits, PluginWorker, type WorkerLimits } from "../src/host/worker.ts";

const caller = { session: { id: "ses_1", handle: "lucid-hertz" }, agent: "dev" };

async function open(text: string, limits: Partial<WorkerLimits> = {}, extra: Record<string, string> = {}) {
  const root = join(await tempDir(), "plugin");
  await mkdir(root);
  for (const [name, content] of Object.entries({ "main.ts": text, ...extra }))
    await writeFile(join(root, name), content);
  const lines: string[] = [];
  const place = { root, projectRoot: root, dataDir: root, cacheDir: join(root, "..", "cache") };
  const owner = join(root, "..");
  const ledgerFile = join(owner, "processes.jsonl");
  const processes = createProcesses({ ledgerFile, owner, clock: systemClock, log: silentLogger });
  const started = await PluginWorker.start({
    start: { plugin: "test", modules: [join(root, "main.ts")], config: { knob: 1 }, api: apiEntries(), ...place },
    env: { ONLY: "this" },
    limits: { ...defaultWorkerLimits, ...limits },
    log: (level, line) => lines.push(`${level}: ${line}`),
    consent: async () => agreed(),
    mark: () => processes.mark(),
  });
  onTestFinished(() => started.worker.terminate("the test is over"));
  const call = (index: number, input: unknown = {}, more: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
    started.worker.call(
      { kind: "tool", index, input, key: "k", caller },
      { timeoutMs: 5_000, what: "the tool", ...more },
    );
  return { ...started, call, lines };
}

const tools = (...bodies: string[]) =>
  `import { tool } from "aegis";\n${bodies.map((body, index) => `export const t${index} = tool({ description: "d" }, ${body});\n`).join("")}`;

describe("a plugin's worker", () => {
  it("says what its modules define, with types stripped and zod only where it is used", async () => {
    const { contributions } = await open(
      'import { hook, tool, z } from "aegis";\nimport { shared } from "./_shared.js";\n' +
        'export const b = tool({ description: "d", input: z.object({ n: z.number().min(2) }), timeout: 2, permission: "write" }, ({ n }: { n: number }) => n + shared);\n' +
        'export const a = hook("pre_turn", { priority: -1, strict: true }, () => null);\n' +
        'export default hook("pre_turn", () => null);\n',
      {},
      { "_shared.ts": "export const shared: number = 1;\n" },
    );
    expect(contributions.tools).toEqual([
      {
        name: "b",
        description: "d",
        checksInput: true,
        permission: "write",
        timeoutMs: 2000,
        requiredAgent: null,
        visibleTo: [],
        readOnly: false,
        schema: expect.objectContaining({ type: "object", required: ["n"] }),
      },
    ]);
    expect(contributions.hooks).toMatchObject([
      { event: "pre_turn", name: "a", priority: -1, strict: true },
      { event: "pre_turn", name: "pre_turn", priority: 0, strict: false },
    ]);
  });

  it("rewrites what types alone do not explain, and keeps the lines of errors", async () => {
    const { call } = await open(
      'import { tool } from "aegis";\nimport path = require("node:path");\n\n' +
        'enum Color {\n  Red = 4,\n}\nnamespace Space {\n  export const at = /[@"]a/;\n}\n' +
        "class Point {\n  constructor(readonly x: number) {}\n}\n" +
        'export const all = tool({ description: "d" }, () => [path.basename("/a/b"), Space.at.source, new Point(Color.Red).x]);\n' +
        'export const fails = tool({ description: "d" }, () => {\n  throw new Error("here");\n});\n',
    );
    expect(await call(0)).toEqual(["b", '[@"]a', 4]);
    const error = await call(1).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: "here", stack: expect.stringMatching(/main\.ts:15:/) });
  });

  it("gives each call its answer, its input checked and its environment small", async () => {
    const { call, lines } = await open(
      'import { tool, z } from "aegis";\n' +
        'export const first = tool({ description: "d", input: z.object({ n: z.coerce.number() }) }, ({ n }, ctx) => { console.log("n is", n); ctx.log("warn", "told"); return { n, env: process.env, knob: ctx.config.knob, frozen: Object.isFrozen(ctx.config) }; });\n',
    );
    expect(await call(0, { n: "4" })).toEqual({
      n: 4,
      // With marks that identify its descendants.
      env: { ONLY: "this", AEGIS_OWNER: expect.any(String), AEGIS_CHILD: expect.any(String) },
      knob: 1,
      frozen: true,
    });
    await expect(call(0, { n: "four" })).rejects.toSatisfy(
      (error) => isAegisError(error) && /^n: /.test(error.message),
    );
    expect(lines).toEqual(["info: n is 4", "warn: told"]);
  });

  it("keeps deadlines and reports a worker that is late or gone", async () => {
    const { call, worker } = await open(
      tools(
        "() => new Promise(() => {})",
        '() => "ok"',
        "(_i, ctx) => new Promise((r) => ctx.signal.addEventListener('abort', () => r(1)))",
      ),
    );
    await expect(call(0, {}, { timeoutMs: 50 })).rejects.toThrow("the tool gave no answer within 0.05 s");
    expect(await call(1)).toBe("ok");
    const stop = new AbortController();
    const waiting = call(2, {}, { signal: stop.signal });
    stop.abort(new Error("not needed"));
    await expect(waiting).rejects.toThrow("not needed");
    expect(worker.calls.count).toBe(0);
    const pending = expect(call(0)).rejects.toBeInstanceOf(PluginGone);
    await worker.terminate("enough");
    await pending;
    await expect(call(1)).rejects.toThrow(/enough/);
  });

  it("is ended when it loops while somebody waits, within its limit", async () => {
    const { call, worker } = await open(tools("() => { for (;;) {} }"), { unresponsiveMs: 500 });
    await expect(call(0)).rejects.toThrow(/did not answer for \d+ s and was killed/);
    expect((await worker.ended).why).toBe("stuck");
  });

  it("ignores what a plugin sends by itself", async () => {
    const { call, lines } = await open(
      `import { parentPort } from "node:worker_threads";\n${tools('() => { parentPort.postMessage({ type: "done", id: "x" }); parentPort.postMessage(12); return "ok"; }')}`,
    );
    expect(await call(0)).toBe("ok");
    expect(lines.filter((line) => line.includes("its own messages"))).toHaveLength(2);
  });

  it("tells two tools of one name and a tool without a name apart", async () => {
    const twice =
      'import { tool } from "aegis";\nexport const a = tool({ name: "x", description: "d" }, () => 1);\nexport const b = tool({ name: "x", description: "d" }, () => 1);\n';
    const faults = async (source: string) => (await open(source)).contributions.faults.map(({ message }) => message);
    expect(await faults(twice)).toEqual(['the tool "x" is left out: there are two tools "x"']);
    expect(
      await faults('import { tool } from "aegis";\nexport default tool({ description: "d" }, () => 1);\n'),
    ).toEqual([expect.stringContaining("a tool has no name")]);
    expect(
      await faults(
        'import { tool } from "aegis";\nexport const a = tool({ description: "d", input: { type: "string" } }, () => 1);\n',
      ),
    ).toEqual([expect.stringContaining("should be an object")]);
  });
});
