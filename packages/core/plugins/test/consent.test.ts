/** Code and programs of a plugin are asked about at each start, because both are read from disk then. */
import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { ExecutableTool } from "@aegis/contract/plugin.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { agreed } from "@aegis/test/helpers/consent.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { CodeHost } from "../src/host/code-host.ts";
import { apiEntries } from "../src/host/entries.ts";
import { runExecutable } from "../src/host/executable.ts";
import { defaultWorkerLimits } from "../src/host/worker.ts";

const refused = (): Promise<Consent> => Promise.reject(new AegisError("forbidden", "its files were changed"));

it("starts no program without consent to this program", async () => {
  const root = await tempDir();
  await writeFile(join(root, "tool"), '#!/bin/sh\ntouch ran\necho "{}"\n');
  await chmod(join(root, "tool"), 0o755);
  const tool = { name: "t", command: "./tool", args: [], timeout_ms: 10_000 } as unknown as ExecutableTool;
  const processes = createProcesses({
    ledgerFile: join(root, "l"),
    owner: root,
    clock: systemClock,
    log: silentLogger,
  });
  const env = { PATH: process.env.PATH };
  const options = { plugin: "p", root, config: {}, dataDir: root, cacheDir: root, env, confine: async () => processes };
  const signal = new AbortController().signal;
  await expect(runExecutable(tool, {}, { ...options, consent: refused }, signal)).rejects.toMatchObject({
    code: "forbidden",
  });
  expect(existsSync(join(root, "ran"))).toBe(false);
  expect(await runExecutable(tool, {}, { ...options, consent: async () => agreed() }, signal)).toEqual({});
});

it("does not start a worker again with code that changed since", async () => {
  const root = await tempDir();
  const main = join(root, "main.mjs");
  await writeFile(
    main,
    'import { tool } from "aegis";\nexport const die = tool({ description: "d" }, async () => process.exit(1));\n',
  );
  const deaths: string[] = [];
  const gone = Promise.withResolvers<void>();
  let asked = 0;
  const host = await CodeHost.open({
    start: {
      plugin: "p",
      root,
      modules: [main],
      projectRoot: root,
      dataDir: root,
      config: {},
      api: apiEntries(),
      cacheDir: join(root, "cache"),
    },
    env: {},
    limits: defaultWorkerLimits,
    log: () => {},
    consent: async () => (asked++ === 0 ? agreed() : refused()),
    onDeath: ({ message }) => {
      deaths.push(message);
      if (deaths.length === 2) gone.resolve();
    },
    onRestored: () => gone.reject(new Error("it was started again")),
    mark: () => ({ env: {}, end: async () => {} }),
    restartRun: () => {},
  });
  const caller = { session: { id: "ses_1", handle: "lucid-hertz" }, agent: "dev" };
  const call = host.call(
    { kind: "tool", index: 0, input: {}, key: "k", caller },
    { timeoutMs: 5_000, what: "the tool" },
  );
  await expect(call).rejects.toThrow();
  await gone.promise;
  expect(deaths[1]).toBe("its files were changed");
  await host.close();
});
